// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include "history/receiver.h"
#include "history/sender.h"

#include <memory>
#include <random>

namespace gind::sim {

namespace order = gind::test::order;
using order::Progress;

namespace {

// Both ends of a stream; their logs go to the checker at once.
struct Stream {
  order::Place from;
  order::Place to;
  order::SenderState sender_state;
  order::ReceiverState receiver_state;
  order::Observation seen;
  order::SenderEvent event;
  order::Log<order::Observation> seen_log{&seen, 1, 0};
  order::Log<order::SenderEvent> event_log{&event, 1, 0};
  order::Checker checker;
  bool sent = false;
  bool received = false;

  Stream(const order::Place& source, const order::Place& target)
      : from(source), to(target), checker(source.stream, source.operations) {}
};

constexpr std::uint64_t kStuckAfter = 400'000;  // steps in which nobody got on

std::string name(const Stream& s) {
  return "stream " + std::to_string(s.from.stream.source) + " to " +
         std::to_string(s.from.stream.target) + " context " + std::to_string(s.from.stream.context);
}

std::uint64_t hash_of(const order::Observation& seen) {
  std::uint64_t h = seen.confirmed * 3 + seen.quiet * 5 + seen.visible * 7 + seen.foreign * 11;
  for (const std::uint64_t word : seen.word) h = order::mix(h ^ word);
  return h;
}

}  // namespace

std::string RunResult::text() const {
  std::string t = std::to_string(operations) + " operations, " + std::to_string(observations) +
                  " observations, " + std::to_string(steps) + " steps";
  if (!faults.empty()) t += "; gind: " + faults;
  for (const std::string& v : violations) t += "; " + v;
  return t;
}

RunResult run(RunOptions options) {
  std::uint32_t ranks = 0;
  for (const int n : options.world.ranks) ranks += static_cast<std::uint32_t>(n);
  const order::Layout layout{ranks, options.world.contexts};
  options.world.signals = layout.signals();
  options.world.counters = layout.counters();
  options.world.window_bytes = layout.bytes();
  World world(options.world);
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    auto* kept =
        reinterpret_cast<std::uint64_t*>(world.window(static_cast<int>(r)).base + layout.kept());
    for (std::uint64_t w = 0; w < order::kSlotBytes / 8; ++w) {
      kept[w] = order::Stream::kept(options.seed, r, w);
    }
    for (std::uint32_t to = 0; to < ranks; ++to) {
      for (std::uint32_t c = 0; c < options.world.contexts; ++c) {
        const order::Stream stream{options.seed, r, to, c};
        const auto place = [&](std::uint32_t rank) {
          return order::Place{world.comm(static_cast<int>(rank)),
                              world.window(static_cast<int>(rank)), layout, stream,
                              options.operations};
        };
        streams.push_back(std::make_unique<Stream>(place(r), place(to)));
      }
    }
  }
  RunResult result;
  std::mt19937_64 random(options.seed);
  std::uint64_t idle = 0;
  std::size_t left = 2 * streams.size();
  bool broken = false;
  while (left != 0 && idle < kStuckAfter && !broken && world.faults().empty()) {
    ++result.steps;
    ++idle;
    const std::uint64_t who = random();
    if (who % 3 != 0) {
      world.turn(static_cast<int>((who >> 8) % static_cast<std::uint64_t>(world.nodes())));
      continue;
    }
    Stream& s = *streams[(who >> 16) % streams.size()];
    if ((who >> 8 & 1) != 0) {
      if (s.sent) continue;
      order::Sender sender(s.from, s.sender_state, s.event_log, false, options.flaw);
      const Progress p = sender.step(ginCoopThread{});
      if (s.event_log.count != 0) s.checker.event(s.event);
      s.event_log.count = 0;
      if (p == Progress::kMoved) idle = 0;
      if (p == Progress::kDone) s.sent = true, --left;
      if (p == Progress::kFailed) broken = true;
    } else {
      if (s.received) continue;
      std::uint64_t scratch[2];
      order::Receiver receiver(s.to, s.receiver_state, s.seen_log);
      const Progress p = receiver.look(ginCoopThread{}, scratch);
      if (s.seen_log.count != 0) {
        s.checker.observe(s.seen);
        result.fingerprint = order::mix(result.fingerprint ^ hash_of(s.seen));
      }
      s.seen_log.count = 0;
      if (p == Progress::kMoved) idle = 0;
      if (p == Progress::kDone) s.received = true, --left;
      if (p == Progress::kFailed) broken = true;
      broken |= s.checker.found();
    }
  }
  result.faults = world.faults();
  for (const auto& s : streams) {
    const bool found = s->checker.found();
    const order::Verdict verdict = s->checker.finish();
    result.operations += s->receiver_state.confirmed;
    result.observations += verdict.observations;
    if (broken && !found) continue;  // cut short
    for (const std::string& v : verdict.violations)
      result.violations.push_back(name(*s) + ": " + v);
  }
  if (left != 0 && !broken && result.faults.empty()) {
    result.violations.push_back("nothing moves any more; " + world.metrics());
  }
  return result;
}

}  // namespace gind::sim
