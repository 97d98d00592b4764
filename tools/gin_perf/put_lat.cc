// SPDX-License-Identifier: Apache-2.0
#include "kernels/put_latency.cuh"
#include "tools/gin_perf/pattern.h"
#include "tools/gin_perf/statistics.h"
#include "tools/gin_perf/tests.h"

#include <algorithm>
#include <vector>

namespace gind::perf {
namespace {

constexpr std::uint64_t kGuard = 64;
constexpr std::uint64_t kWarmUp = 10;
constexpr std::uint64_t kBatchNs = 10'000'000;  // with a duration: about so long between two looks

// guard | received 0 | guard | received 1 | guard | source 0 | guard | source 1 | guard
struct Places {
  std::uint64_t bytes;
  std::uint64_t* exchanged;  // ping-pongs so far: the data signal's value
  std::uint64_t slot() const { return (bytes + 63) / 64 * 64 + kGuard; }
  std::uint64_t received(std::uint64_t i) const { return kGuard + slot() * i; }
  std::uint64_t source(std::uint64_t i) const { return kGuard + slot() * (2 + i); }
  std::uint64_t total() const { return kGuard + 4 * slot(); }
};

std::uint64_t seed_of(int from, std::uint64_t bytes, std::uint64_t round) {
  return (static_cast<std::uint64_t>(from) << 48) ^ (round << 36) ^ bytes;
}

gin::kernels::PutLatencyPlan plan_for(const Session& session, const Places& places) {
  gin::kernels::PutLatencyPlan plan;
  plan.peer = session.partner();
  plan.starts = session.leads();
  plan.window = session.window();
  plan.memory = session.memory();
  for (std::uint64_t i = 0; i < 2; ++i) {
    plan.receive_at[i] = places.received(i);
    plan.send_at[i] = places.source(i);
  }
  plan.bytes = places.bytes;
  plan.signal = kDataSignal;
  plan.signal_before = *places.exchanged;
  plan.counter = kDataCounter;
  plan.own = session.own_contexts();
  plan.options = session.wait_options();
  return plan;
}

// Whole messages with patterns of their own, every byte compared, and the memory around them.
Result<void> verify_whole(Session& session, const Places& places, Verified* verified) {
  const std::uint64_t rounds = places.bytes > (1u << 20) ? 2 : 8;
  char* const memory = session.memory();
  fill_guard(memory, places.source(0));
  if (auto met = session.handshake(); !met) return met.error();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    fill_pattern(memory + places.source(0), places.bytes,
                 seed_of(session.rank(), places.bytes, round));
    auto plan = plan_for(session, places);
    plan.stamped = false;
    plan.iterations = 1;
    auto played = session.player().put_latency(session.dev(), plan);
    if (!played) return played.error();
    const ginResult_t result = played.value().result;
    if (result != ginSuccess) return session.operation_error(result, "put_lat");
    ++*places.exchanged;
    if (const auto at = find_mismatch(memory + places.received(0), places.bytes,
                                      seed_of(session.partner(), places.bytes, round))) {
      return Error{ginInternalError, "wrong data: message " + std::to_string(round) + " of " +
                                         std::to_string(places.bytes) + " bytes from rank " +
                                         std::to_string(session.partner()) + " differs at byte " +
                                         std::to_string(*at)};
    }
    ++verified->messages;
    verified->bytes += places.bytes;
    // The partner may write here again only when it has been compared.
    if (auto met = session.handshake(); !met) return met.error();
  }
  const std::uint64_t end = places.received(0) + places.bytes;
  if (find_guard_damage(memory, places.received(0)) ||
      find_guard_damage(memory + end, places.source(0) - end)) {
    return Error{ginInternalError, "wrong data: bytes beside a message of " +
                                       std::to_string(places.bytes) + " bytes were written"};
  }
  return {};
}

Result<void> ping_pong(Session& session, const Options& options, const Places& places,
                       std::uint64_t iterations, std::vector<std::uint64_t>* round_trips,
                       Verified* verified) {
  auto plan = plan_for(session, places);
  plan.stamped = options.verify;
  plan.iterations = iterations;
  const std::size_t before = round_trips->size();
  round_trips->resize(before + iterations);
  plan.round_trip_ns = round_trips->data() + before;
  auto played = session.player().put_latency(session.dev(), plan);
  if (!played) return played.error();
  const gin::kernels::PutLatencyOutcome& outcome = played.value();
  if (outcome.result != ginSuccess) return session.operation_error(outcome.result, "put_lat");
  *places.exchanged += iterations;
  if (outcome.wrong != 0) {
    return Error{ginInternalError, "wrong data: " + std::to_string(outcome.wrong) + " of " +
                                       std::to_string(iterations) +
                                       " signals came before their data"};
  }
  if (options.verify) verified->stamps += iterations;
  return {};
}

Result<std::vector<std::uint64_t>> measure(Session& session, const Options& options,
                                           const Places& places, Verified* verified) {
  std::vector<std::uint64_t> round_trips;
  std::uint64_t batch = std::min(kWarmUp, options.iterations);
  if (auto ran = ping_pong(session, options, places, batch, &round_trips, verified); !ran) {
    return ran.error();
  }
  const std::vector<std::uint64_t> warm = std::exchange(round_trips, {});
  if (options.duration_s == 0) {
    if (auto ran = ping_pong(session, options, places, options.iterations, &round_trips, verified);
        !ran) {
      return ran.error();
    }
    return round_trips;
  }
  // The leading rank's clock decides how long; it tells the size of the next batch, 0 at the end.
  const std::uint64_t typical = std::max<std::uint64_t>(1, warm.back());
  const std::uint64_t until =
      gin::queues::now_ns() + static_cast<std::uint64_t>(options.duration_s * 1e9);
  while (true) {
    batch = std::clamp<std::uint64_t>(kBatchNs / typical, 1, 10'000);
    if (gin::queues::now_ns() >= until) batch = 0;
    auto theirs = session.exchange(session.leads() ? batch : 0);
    if (!theirs) return theirs.error();
    if (!session.leads()) batch = theirs.value();
    if (batch == 0) return round_trips;
    if (auto ran = ping_pong(session, options, places, batch, &round_trips, verified); !ran) {
      return ran.error();
    }
  }
}

// Of round trips in nanoseconds: microseconds one way.
Statistics one_way_of(const std::vector<std::uint64_t>& round_trips) {
  std::vector<double> one_way;
  for (const std::uint64_t ns : round_trips) one_way.push_back(static_cast<double>(ns) / 2e3);
  return statistics_of(std::move(one_way));
}

}  // namespace

std::uint64_t put_lat_window_bytes(const Options& options) {
  return Places{options.sizes().back(), nullptr}.total();
}

Result<void> run_put_lat(Session& session, const Options& options, Baseline* baseline,
                         Report& report, Verified* verified) {
  std::uint64_t exchanged = 0;
  for (const std::uint64_t bytes : options.sizes()) {
    const Places places{bytes, &exchanged};
    if (options.verify) {
      if (auto right = verify_whole(session, places, verified); !right) return right.error();
    }
    if (auto met = session.handshake(); !met) return met.error();
    auto round_trips = measure(session, options, places, verified);
    if (!round_trips) return round_trips.error();
    if (session.leads()) {
      report.add_latency(bytes, round_trips.value().size(), one_way_of(round_trips.value()));
    }
    if (baseline == nullptr) continue;
    auto compared = baseline->latency(bytes, [&](std::uint64_t n) -> Result<double> {
      std::vector<std::uint64_t> trips;
      auto ran = ping_pong(session, options, places, n, &trips, verified);
      if (!ran) return ran.error();
      return one_way_of(trips).median;
    });
    if (!compared) return compared.error();
    report.add_comparison(bytes, baseline->provider(), compared.value());
    verified->bare = baseline->checked();
  }
  return {};
}

}  // namespace gind::perf
