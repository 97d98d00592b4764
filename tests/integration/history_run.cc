// SPDX-License-Identifier: Apache-2.0
#include "history_run.h"

#include "history/checker.h"
#include "history/receiver.h"

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace gind::test {

using order::Progress;

namespace {

// One end of a stream on this rank.
struct End {
  order::Place place;
  order::Checker checker;
  bool sends;
  bool done = false;
  order::SenderState sender{};
  order::ReceiverState receiver{};
  order::Observation seen{};
  order::SenderEvent event{};
  order::Log<order::Observation> seen_log{&seen, 1, 0};
  order::Log<order::SenderEvent> event_log{&event, 1, 0};

  End(const order::Place& where, bool is_sender)
      : place(where), checker(where.stream, where.operations), sends(is_sender) {}

  std::string name() const {
    const order::Stream& s = place.stream;
    return "stream " + std::to_string(s.source) + " to " + std::to_string(s.target) + " context " +
           std::to_string(s.context) + (sends ? ", sender" : "");
  }

  Progress step(bool patient, order::Flaw flaw, const ginWaitOptions& options) {
    Progress p = Progress::kIdle;
    if (sends) {
      p = order::Sender(place, sender, event_log, patient, flaw).step(ginCoopThread{}, options);
      if (event_log.count != 0) checker.event(event);
      event_log.count = 0;
    } else {
      std::uint64_t scratch[2];
      p = order::Receiver(place, receiver, seen_log).look(ginCoopThread{}, scratch, options);
      if (seen_log.count != 0) checker.observe(seen);
      seen_log.count = 0;
    }
    if (p == Progress::kFailed || checker.found()) {
      const ginResult_t error = sends ? sender.error : receiver.error;
      throw RankFailure(name() + ": " + ginGetErrorString(error) + ": " + checker.finish().text());
    }
    return p;
  }
};

class Run {
 public:
  Run(World& world, const HistoryOptions& options, std::vector<std::unique_ptr<End>>& ends)
      : world_(world), options_(options), ends_(ends) {
    const auto seconds = static_cast<std::uint64_t>(options.seconds);
    give_up_ = gin::queues::now_ns() + seconds * 1'000'000'000;
    bounds_.timeoutNs = static_cast<std::int64_t>(seconds) * 1'000'000'000;
    bounds_.abortFlag = reinterpret_cast<std::uint32_t*>(&stop_);
  }

  void alone() {
    for (std::size_t left = ends_.size(); left != 0;) {
      bool moved = false;
      for (auto& end : ends_) {
        if (end->done) continue;
        const Progress p = end->step(false, options_.flaw, bounds_);
        moved |= p == Progress::kMoved;
        if (p != Progress::kDone) continue;
        end->done = true;
        --left;
      }
      if (!moved) idle();
    }
  }

  void in_threads() {
    std::vector<std::thread> threads;
    for (auto& end : ends_) {
      threads.emplace_back([this, &end] {
        try {
          for (Progress p = Progress::kIdle; p != Progress::kDone;) {
            p = end->step(true, options_.flaw, bounds_);
            if (p == Progress::kIdle) idle();
          }
        } catch (const std::exception& e) {
          fail(e.what());
        }
      });
    }
    for (auto& thread : threads) thread.join();
    if (!failure_.empty()) throw RankFailure(failure_);
  }

 private:
  // Nothing to do for the moment: lets others run, and ends what cannot end well.
  void idle() {
    ::sched_yield();
    if (stop_.load(std::memory_order_relaxed) != 0) throw RankFailure("stopped");
    ginResult_t error = ginSuccess;
    if (++idles_ % 4096 == 0) {
      check(ginCommGetAsyncError(world_.comm, &error), "async error");
      check(error, "the communicator");
      if (gin::queues::now_ns() < give_up_) return;
      std::string text = "not everything has arrived in time:";
      for (const auto& end : ends_) {
        if (end->done) continue;
        text += " " + end->name() + " at " +
                std::to_string(end->sends ? end->sender.next : end->receiver.confirmed) + ",";
      }
      throw RankFailure(text);
    }
  }
  void fail(const char* text) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = text;
    stop_.store(1, std::memory_order_relaxed);
  }

  World& world_;
  const HistoryOptions& options_;
  std::vector<std::unique_ptr<End>>& ends_;
  std::uint64_t give_up_ = 0;
  std::atomic<std::uint64_t> idles_{0};
  std::atomic<std::uint32_t> stop_{0};
  ginWaitOptions bounds_;
  std::mutex mutex_;
  std::string failure_;
};

}  // namespace

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

void run_history(Rank& rank, const HistoryOptions& options) {
  const auto ranks = static_cast<std::uint32_t>(rank.nranks());
  const auto me = static_cast<std::uint32_t>(rank.rank());
  const order::Layout layout{ranks, static_cast<std::uint32_t>(options.contexts)};
  ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  need.contexts = options.contexts;
  need.signals = static_cast<int>(layout.signals());
  need.counters = static_cast<int>(layout.counters());
  need.queueDepth = options.ring_units;
  World w = make_world(rank, layout.bytes(), &need, GIN_WIN_STRICT_ORDERING);
  auto* kept = reinterpret_cast<std::uint64_t*>(w.memory + layout.kept());
  for (std::uint64_t i = 0; i < order::kSlotBytes / 8; ++i) {
    kept[i] = order::Stream::kept(options.seed, me, i);
  }
  rank.barrier();
  std::vector<std::unique_ptr<End>> ends;
  for (std::uint32_t peer = 0; peer < ranks; ++peer) {
    for (std::uint32_t c = 0; c < layout.contexts; ++c) {
      for (const bool sends : {true, false}) {
        const order::Stream stream{options.seed, sends ? me : peer, sends ? peer : me, c};
        const order::Place place{w.dev, w.window, layout, stream, options.operations};
        ends.push_back(std::make_unique<End>(place, sends));
      }
    }
  }
  Run run(w, options, ends);
  options.threads ? run.in_threads() : run.alone();
  std::uint64_t operations = 0;
  std::uint64_t observations = 0;
  for (auto& end : ends) {
    if (end->sends) continue;
    const order::Verdict verdict = end->checker.finish();
    if (!verdict.good()) throw RankFailure(end->name() + ": " + verdict.text());
    operations += verdict.operations;
    observations += verdict.observations;
  }
  check(ginFlush(&w.dev, 0, kWaitNs), "flush");
  std::printf("rank %u: %llu operations, %llu observations checked\n", me,
              static_cast<unsigned long long>(operations),
              static_cast<unsigned long long>(observations));
  std::fflush(stdout);
  rank.barrier();
  end_world(w);
}

}  // namespace gind::test
