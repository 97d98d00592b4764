// SPDX-License-Identifier: Apache-2.0
// put_bw and put_rate.
#include "kernels/put_stream.cuh"

#include "tools/gin_perf/pattern.h"
#include "tools/gin_perf/tests.h"

#include <algorithm>
#include <vector>

namespace gind::perf {
namespace {

constexpr std::uint64_t kGuard = 64;
constexpr std::uint64_t kMaxSlotBytes = std::uint64_t{64} << 20;  // of each context

// Per context: `slots` sources, and as many places where they are received, each behind a guard.
struct Places {
  std::uint64_t bytes, depth;
  std::uint64_t contexts;
  std::uint64_t stride() const { return (bytes + 63) / 64 * 64 + kGuard; }
  std::uint64_t slots() const {
    return std::clamp<std::uint64_t>(kMaxSlotBytes / stride(), 1, depth);
  }
  std::uint64_t region() const { return slots() * stride(); }
  std::uint64_t received(std::uint64_t context) const { return kGuard + context * region(); }
  std::uint64_t source(std::uint64_t context) const {
    return kGuard + (contexts + context) * region();
  }
  std::uint64_t total() const { return kGuard + 2 * contexts * region(); }
};

Places places_of(const Options& options, std::uint64_t bytes) {
  return {bytes, options.depth, static_cast<std::uint64_t>(options.contexts)};
}

std::uint64_t seed_of(std::uint64_t bytes, std::uint64_t context, std::uint64_t slot) {
  return bytes ^ (context << 40) ^ (slot << 50) ^ 1;
}

gin::kernels::PutStreamPlan plan_for(const Session& session, const Options& options,
                                     const Places& places, int context) {
  gin::kernels::PutStreamPlan plan;
  plan.context = context;
  plan.peer = session.partner();
  plan.window = session.window();
  plan.receive_at = places.received(static_cast<std::uint64_t>(context));
  plan.send_at = places.source(static_cast<std::uint64_t>(context));
  plan.stride = places.stride();
  plan.slots = places.slots();
  plan.bytes = places.bytes;
  plan.depth = places.depth;
  plan.iterations = options.duration_s == 0 ? options.iterations : ~std::uint64_t{0};
  plan.duration_ns = static_cast<std::uint64_t>(options.duration_s * 1e9);
  plan.counter = kDataCounter;
  plan.own = session.own_contexts();
  plan.finish = kFinishSignal;
  plan.acknowledge = kAcknowledgeSignal;
  plan.options = session.wait_options();
  return plan;
}

struct Sent {
  std::uint64_t puts = 0;
  Bandwidth figures;
};

// One stream in each context, at the sending rank.
Result<Sent> send_streams(Session& session, const Options& options, const Places& places,
                          std::uint64_t iterations) {
  const auto n = static_cast<std::size_t>(options.contexts);
  std::vector<gin::kernels::PutStreamPlan> plans;
  for (int c = 0; c < options.contexts; ++c) {
    plans.push_back(plan_for(session, options, places, c));
    plans.back().iterations = iterations;
  }
  auto played = session.player().put_streams(session.dev(), plans, Player::Side::kSend);
  if (!played) return played.error();
  const auto& outcomes = played.value();
  std::uint64_t puts = 0, began = ~std::uint64_t{0}, ended = 0;
  double peak = 0;
  for (std::size_t c = 0; c < n; ++c) {
    const auto& o = outcomes[c];
    if (o.result != ginSuccess) {
      return session.operation_error(o.result, "context " + std::to_string(c));
    }
    puts += o.puts;
    began = std::min(began, o.began_ns);
    ended = std::max(ended, o.ended_ns);
    const std::uint64_t window =
        o.fastest_window_ns != 0 ? o.fastest_window_ns : o.ended_ns - o.began_ns;
    const std::uint64_t window_puts = o.fastest_window_ns != 0 ? places.depth : o.puts;
    peak += static_cast<double>(window_puts * places.bytes) /
            static_cast<double>(std::max<std::uint64_t>(window, 1));
  }
  const double seconds = static_cast<double>(std::max<std::uint64_t>(ended - began, 1)) / 1e9;
  Bandwidth b;
  b.average_mb_s = static_cast<double>(puts * places.bytes) / seconds / (1 << 20);
  b.peak_mb_s = std::max(peak * 1e9 / (1 << 20), b.average_mb_s);
  b.rate_mpps = static_cast<double>(puts) / seconds / 1e6;
  return Sent{puts, b};
}

// The same at the receiving rank: how many puts each context got.  *finished: all of its streams so
// far.
Result<std::vector<std::uint64_t>> receive_streams(Session& session, const Options& options,
                                                   const Places& places,
                                                   std::vector<std::uint64_t>* finished) {
  std::vector<gin::kernels::PutStreamPlan> plans;
  for (int c = 0; c < options.contexts; ++c) {
    plans.push_back(plan_for(session, options, places, c));
    plans.back().finish_before = (*finished)[static_cast<std::size_t>(c)];
    plans.back().options.timeoutNs += static_cast<std::int64_t>(plans.back().duration_ns);
  }
  auto played = session.player().put_streams(session.dev(), plans, Player::Side::kReceive);
  if (!played) return played.error();
  std::vector<std::uint64_t> puts;
  for (std::size_t c = 0; c < plans.size(); ++c) {
    const auto& outcome = played.value()[c];
    if (outcome.result != ginSuccess) {
      return session.operation_error(outcome.result, "context " + std::to_string(c));
    }
    (*finished)[c] += outcome.puts;
    puts.push_back(outcome.puts);
  }
  return puts;
}

Result<void> send(Session& session, const Options& options, const Places& places, Report& report) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(options.contexts); ++c) {
    for (std::uint64_t s = 0; s < places.slots(); ++s) {
      fill_pattern(session.memory() + places.source(c) + s * places.stride(), places.bytes,
                   seed_of(places.bytes, c, s));
    }
  }
  if (auto met = session.handshake(); !met) return met.error();
  auto sent = send_streams(session, options, places,
                           options.duration_s != 0 ? ~std::uint64_t{0} : options.iterations);
  if (!sent) return sent.error();
  report.add_bandwidth(places.bytes, sent.value().puts, sent.value().figures);
  return {};
}

Error wrong(const Places& places, std::uint64_t context, std::uint64_t slot, std::size_t at) {
  return {ginInternalError, "wrong data: " + std::to_string(places.bytes) + " bytes in context " +
                                std::to_string(context) + ", slot " + std::to_string(slot) +
                                " differ at byte " + std::to_string(at)};
}

Result<void> verify(const Session& session, const Places& places, std::uint64_t context,
                    std::uint64_t puts, Verified* verified) {
  const std::uint64_t used = std::min(puts, places.slots());
  for (std::uint64_t s = 0; s < places.slots(); ++s) {
    const char* at = session.memory() + places.received(context) + s * places.stride();
    const std::uint64_t written = s < used ? places.bytes : 0;
    if (const auto bad = find_mismatch(at, written, seed_of(places.bytes, context, s))) {
      return wrong(places, context, s, *bad);
    }
    if (const auto bad = find_guard_damage(at + written, places.stride() - written)) {
      return wrong(places, context, s, written + *bad);
    }
  }
  verified->messages += used;
  verified->bytes += used * places.bytes;
  return {};
}

Result<void> receive(Session& session, const Options& options, const Places& places,
                     std::vector<std::uint64_t>* finished, Verified* verified) {
  if (options.verify) fill_guard(session.memory(), places.source(0));
  if (auto met = session.handshake(); !met) return met.error();
  auto puts = receive_streams(session, options, places, finished);
  if (!puts) return puts.error();
  for (std::size_t c = 0; options.verify && c < puts.value().size(); ++c) {
    if (auto right = verify(session, places, c, puts.value()[c], verified); !right) {
      return right.error();
    }
  }
  return {};
}

}  // namespace

std::uint64_t put_stream_window_bytes(const Options& options) {
  std::uint64_t most = 0;
  for (const std::uint64_t bytes : options.sizes()) {
    most = std::max(most, places_of(options, bytes).total());
  }
  return most;
}

Result<void> run_put_stream(Session& session, const Options& options, Baseline* baseline,
                            Report& report, Verified* verified) {
  std::vector<std::uint64_t> finished(static_cast<std::size_t>(options.contexts));
  for (const std::uint64_t bytes : options.sizes()) {
    const Places places = places_of(options, bytes);
    auto ran = session.leads() ? send(session, options, places, report)
                               : receive(session, options, places, &finished, verified);
    if (!ran) return ran.error();
    if (baseline == nullptr) continue;
    auto compared = baseline->stream(bytes, [&](std::uint64_t n) -> Result<double> {
      if (!session.leads()) {
        auto received = receive_streams(session, options, places, &finished);
        if (!received) return received.error();
        return 0.0;
      }
      auto sent = send_streams(session, options, places, n);
      if (!sent) return sent.error();
      return sent.value().figures.rate_mpps;
    });
    if (!compared) return compared.error();
    report.add_comparison(bytes, baseline->provider(), compared.value());
  }
  return {};
}

}  // namespace gind::perf
