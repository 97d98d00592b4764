// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/queue/run.h"

#include "tools/gin_perf/queue/cases.h"
#include "tools/gin_perf/queue/consume.h"
#include "tools/gin_perf/queue/quiet_cpu.h"
#include "tools/gin_perf/statistics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>

namespace gind::perf {
namespace {

constexpr int kDefaultDepth = 16384;
constexpr int kRounds = 5;  // through all cases, so that a slow moment of the machine meets all
constexpr std::uint64_t kTrips = 20'000;

struct Rates {
  std::vector<double> runs;
  std::vector<double> drained;  // the consumer alone, right after each run
  static double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  }
};

// Million records a second.
Result<double> one_run(QueueDevice& device, const QueueCase& c, std::uint32_t log2_depth,
                       const Options& options) {
  const auto timeout = static_cast<std::uint64_t>(options.timeout_s * 1e9);
  if (auto ready = device.set_up(c.rings(), log2_depth, 0); !ready) return ready.error();
  // Posters of the CPU need the other cores, and inherit where this thread may run.
  std::optional<QuietCpu> quiet;
  if (device.is_gpu()) quiet.emplace();
  if (auto started = device.start(c, timeout); !started) return started.error();
  auto consumed = consume(device, c, log2_depth, options.verify, timeout);
  auto joined = device.join();  // in any case: the posters use the rings
  if (!consumed) return consumed.error();
  if (!joined) return joined.error();
  const double seconds = static_cast<double>(std::max<std::uint64_t>(consumed.value().took_ns, 1));
  return static_cast<double>(consumed.value().records) / seconds * 1e3;
}

// What one core takes from a ring that a warp has filled before.
Result<double> drain_once(QueueDevice& device, std::uint32_t units, std::uint32_t log2_depth,
                          std::uint64_t timeout) {
  const std::uint32_t threads = device.is_gpu() ? 32 : 1;
  const std::uint64_t each = (std::uint64_t{1} << log2_depth) / units / threads;
  if (auto ready = device.set_up(1, log2_depth, 0); !ready) return ready.error();
  const QueueCase fill{1, threads, units, gin::kernels::PostMode::kTogether, each};
  if (auto started = device.start(fill, timeout); !started) return started.error();
  if (auto joined = device.join(); !joined) return joined.error();
  const QuietCpu quiet;
  return drain_rate(device, log2_depth, fill.total());
}

Result<Statistics> round_trips(QueueDevice& device, std::uint32_t log2_depth,
                               const Options& options) {
  const auto timeout = static_cast<std::uint64_t>(options.timeout_s * 1e9);
  if (auto ready = device.set_up(1, log2_depth, 0); !ready) return ready.error();
  std::uint64_t* took = device.times(kTrips);
  if (took == nullptr) return Error{ginSystemError, "no memory for the times of round trips"};
  std::optional<QuietCpu> quiet;
  if (device.is_gpu()) quiet.emplace();
  if (auto started = device.start_round_trips(kTrips, took, timeout); !started) {
    return started.error();
  }
  auto answered = answer_all(device, kTrips, log2_depth, timeout);
  auto joined = device.join();
  if (!answered) return answered.error();
  if (!joined) return joined.error();
  std::vector<double> microseconds;
  for (std::uint64_t i = 0; i < kTrips; ++i) {
    microseconds.push_back(static_cast<double>(took[i]) / 1e3);
  }
  return statistics_of(std::move(microseconds));
}

}  // namespace

Result<void> run_queue(const Options& options) {
  auto cases = queue_cases(options);
  if (!cases) return cases.error();
  std::unique_ptr<QueueDevice> device = make_cpu_queue_device();
  if (options.gpu) {
    auto gpu = make_gpu_queue_device(options.gpu_ordinal);
    if (!gpu) return gpu.error();
    device = std::move(gpu).value();
  }
  const int depth = options.queue_units != 0 ? options.queue_units : kDefaultDepth;
  const auto log2_depth = static_cast<std::uint32_t>(std::countr_zero(unsigned(depth)));
  const auto timeout = static_cast<std::uint64_t>(options.timeout_s * 1e9);
  std::vector<Rates> rates(cases.value().size());
  std::uint64_t checked = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const QueueCase& c = cases.value()[i];
      auto rate = one_run(*device, c, log2_depth, options);
      auto drained = rate ? drain_once(*device, c.units, log2_depth, timeout) : rate.error();
      if (!drained) {
        return drained.error().with_context(
            fmt::format("{} {}x{}, {} units", name_of(c.mode), c.blocks, c.threads, c.units));
      }
      rates[i].runs.push_back(rate.value());
      rates[i].drained.push_back(drained.value());
      if (options.verify) checked += c.total();
    }
  }
  nlohmann::json json = {{"schema", 1},
                         {"test", "queue"},
                         {"device", device->name()},
                         {"depth", depth},
                         {"verified", options.verify},
                         {"results", nlohmann::json::array()}};
  fmt::print("gin-perf queue: {}, one consumer, depth {} units, median of {}, {}\n", device->name(),
             depth, kRounds,
             options.verify ? "every record and each thread's order checked" : "not checked");
  fmt::print(
      " sharing    blocks x threads  units   M records/s   (min - max)        drain alone   "
      "target\n");
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const QueueCase& c = cases.value()[i];
    const double median = Rates::median(rates[i].runs);
    const double drained = Rates::median(rates[i].drained);
    const auto [low, high] = std::minmax_element(rates[i].runs.begin(), rates[i].runs.end());
    const double target = options.gpu ? target_of(c) : 0;
    fmt::print(
        " {:<10} {:>6} x {:<8} {:>5}   {:>11.2f}   {:<18} {:>11.2f}   {}\n", name_of(c.mode),
        c.blocks, c.threads, c.units, median, fmt::format("({:.2f} - {:.2f})", *low, *high),
        drained,
        target != 0 ? fmt::format(">= {:g}{}", target, median >= target ? "" : "  missed") : "-");
    json["results"].push_back({{"sharing", name_of(c.mode)},
                               {"blocks", c.blocks},
                               {"threads", c.threads},
                               {"units", c.units},
                               {"records", c.total()},
                               {"mrecords_per_sec", median},
                               {"min", *low},
                               {"max", *high},
                               {"drain_alone", drained},
                               {"target", target}});
  }
  auto trips = round_trips(*device, log2_depth, options);
  if (!trips) return trips.error().with_context("round trip");
  const Statistics& t = trips.value();
  fmt::print(" round trip: median {:.2f} us, min {:.2f}, 99 % {:.2f}{}\n", t.median, t.min, t.p99,
             options.gpu ? "   target <= 2.5" : "");
  json["round_trip"] = {{"t_typical_usec", t.median}, {"t_min_usec", t.min}, {"t_99_usec", t.p99}};
  if (options.verify) fmt::print(" verified: {} records\n", checked);
  std::fflush(stdout);
  if (options.json_path.empty()) return {};
  std::ofstream file(options.json_path, std::ios::trunc);
  file << json.dump(2) << '\n';
  if (!file.flush()) return system_error("writing " + options.json_path, errno);
  return {};
}

}  // namespace gind::perf
