// SPDX-License-Identifier: Apache-2.0
// The collectives: all ranks call, rank 0 measures, each checks its own result.
#include "tools/gin_perf/collective_data.h"
#include "tools/gin_perf/pattern.h"
#include "tools/gin_perf/statistics.h"
#include "tools/gin_perf/tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace gind::perf {
namespace {

namespace k = gin::kernels;

constexpr std::uint64_t kGuard = 64;
constexpr std::uint64_t kWarmUp = 5;
constexpr std::uint64_t kMostLines = 8;  // of wrong results; then they are only counted

// guard | send | guard | receive | guard | scratch
struct Places {
  CollectiveShape shape;
  static std::uint64_t room(std::uint64_t bytes) { return (bytes + 63) / 64 * 64 + kGuard; }
  std::uint64_t receive_bytes() const { return shape.received() * shape.element_bytes(); }
  std::uint64_t send() const { return kGuard; }
  std::uint64_t receive() const { return send() + room(shape.sent() * shape.element_bytes()); }
  std::uint64_t scratch() const { return receive() + room(receive_bytes()); }
  std::uint64_t total() const { return scratch() + room(shape.scratch() * shape.element_bytes()); }
};

CollectiveShape largest_shape(const Options& o, std::uint64_t bytes) {
  CollectiveShape shape;
  shape.kind = kind_of(o.test);
  shape.type = o.element;
  shape.reduction = o.reduction;
  shape.ranks = o.nranks;
  return shape_of(shape, bytes);
}

class Runner {
 public:
  Runner(Session& session, const Options& options, Verified* verified)
      : session_(session), options_(options), verified_(verified) {}

  // `calls` calls with inputs of their own; rank 0 gets their times.
  Result<std::vector<k::CollectiveOutcome>> play(const Places& places, std::uint64_t warm_up,
                                                 std::uint64_t calls, std::uint64_t* call_ns) {
    ++seed_;
    char* const memory = session_.memory();
    // No peer writes here before this rank has entered the next call.
    fill_inputs(memory + places.send(), places.shape, session_.rank(), seed_);
    fill_guard(memory + places.receive() - kGuard, places.receive_bytes() + 2 * kGuard);
    k::CollectivePlan plan;
    plan.kind = places.shape.kind;
    plan.type = places.shape.type;
    plan.reduction = places.shape.reduction;
    plan.call.window = session_.window();
    plan.call.send_at = places.send();
    plan.call.receive_at = places.receive();
    plan.call.scratch_at = places.scratch();
    plan.call.count = places.shape.count;
    plan.call.blocks = static_cast<std::uint32_t>(options_.contexts);
    plan.call.options = session_.wait_options();
    plan.warm_up = warm_up;
    plan.iterations = calls;
    plan.call_ns = call_ns;
    auto played = session_.player().collective(session_.dev(), plan, options_.threads);
    if (!played) return played.error();
    for (const k::CollectiveOutcome& o : played.value()) {
      if (o.result != ginSuccess) return session_.operation_error(o.result, name_of(options_.test));
    }
    return played;
  }

  // Of the last call played.  What is wrong is told, and the others go on: each may have more to
  // tell.
  void verify(const Places& places, const char* which) {
    const char* const result = session_.memory() + places.receive();
    const auto wrong = find_wrong(result, places.shape, session_.rank(), seed_);
    const bool beside = find_guard_damage(result - kGuard, kGuard) ||
                        find_guard_damage(result + places.receive_bytes(), kGuard);
    ++verified_->messages;
    verified_->bytes += places.receive_bytes();
    if (!wrong && !beside) return;
    if (++wrong_ > kMostLines) return;
    const std::string where =
        fmt::format("gin-perf: rank {}: wrong data: {} call of {} of {} bytes", session_.rank(),
                    which, name_of(options_.test), places.shape.bytes());
    if (wrong) {
      fmt::print(stderr, "{}: element {} is {}, expected {}\n", where, wrong->index, wrong->got,
                 wrong->expected);
    } else {
      fmt::print(stderr, "{}: bytes beside the result were written\n", where);
    }
  }

  std::uint64_t wrong() const { return wrong_; }

 private:
  Session& session_;
  const Options& options_;
  Verified* verified_;
  std::uint64_t seed_ = 0;
  std::uint64_t wrong_ = 0;
};

CollectiveFigures figures_of(const std::vector<k::CollectiveOutcome>& blocks,
                             const std::vector<std::uint64_t>& call_ns,
                             const CollectiveShape& shape) {
  std::vector<double> microseconds;
  for (const std::uint64_t ns : call_ns) microseconds.push_back(static_cast<double>(ns) / 1e3);
  CollectiveFigures f;
  f.bytes = shape.bytes();
  f.count = shape.count;
  f.iterations = call_ns.size();
  f.microseconds = statistics_of(std::move(microseconds));
  // Blocks run beside each other: the calls took from the first one's beginning to the last's end.
  std::uint64_t began = ~std::uint64_t{0};
  std::uint64_t ended = 0;
  for (const k::CollectiveOutcome& o : blocks) {
    began = std::min(began, o.began_ns);
    ended = std::max(ended, o.ended_ns);
  }
  const double ns = static_cast<double>(ended - began) / static_cast<double>(call_ns.size());
  f.average_usec = ns / 1e3;
  f.algorithm_gb_s = static_cast<double>(f.bytes) / std::max(ns, 1.0);
  f.bus_gb_s = f.algorithm_gb_s * shape.bus_factor();
  return f;
}

}  // namespace

std::uint64_t collective_window_bytes(const Options& options) {
  return Places{largest_shape(options, options.sizes().back())}.total();
}

Result<void> run_collective(Session& session, const Options& options, Report& report,
                            Verified* verified) {
  Runner runner(session, options, verified);
  std::uint64_t last_count = 0;
  for (const std::uint64_t bytes : options.sizes()) {
    const Places places{largest_shape(options, bytes)};
    // Below an element a rank, sizes are the same.
    if (std::exchange(last_count, places.shape.count) == places.shape.count) continue;
    std::vector<std::uint64_t> call_ns(options.iterations);
    for (const char* which : {"first", "timed", "last"}) {
      const bool timed = *which == 't';
      if (!timed && !options.verify) continue;
      auto played = timed ? runner.play(places, kWarmUp, options.iterations, call_ns.data())
                          : runner.play(places, 0, 1, nullptr);
      if (!played) return played.error();
      if (options.verify) runner.verify(places, which);
      if (timed) report.add_collective(figures_of(played.value(), call_ns, places.shape));
    }
  }
  auto all_wrong = session.total(runner.wrong());
  if (!all_wrong) return all_wrong.error();
  verified->wrong = all_wrong.value();
  for (std::uint64_t* count : {&verified->messages, &verified->bytes}) {
    auto all = session.total(*count);
    if (!all) return all.error();
    *count = all.value();
  }
  return {};
}

}  // namespace gind::perf
