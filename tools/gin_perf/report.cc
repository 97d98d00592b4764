// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

namespace gind::perf {
namespace {

constexpr const char* kRule =
    "------------------------------------------------------------------------------------------"
    "---------------";

}  // namespace

Report::Report(const Options& options, const std::string& device,
               const ginCommProperties_t& properties, bool quiet)
    : quiet_(quiet), latency_(options.test == Test::kPutLat) {
  json_["schema"] = 1;
  json_["test"] = name_of(options.test);
  json_["device"] = device;
  json_["transport"] = properties.transport;
  json_["provider"] = properties.provider;
  json_["signal_mode"] = properties.signalMode;
  json_["ranks"] = properties.nRanks;
  json_["nodes"] = properties.nNodes;
  json_["contexts"] = options.contexts;
  const bool collective = is_collective(options.test);
  if (collective) {
    json_["type"] = name_of(options.element);
    json_["op"] = name_of(options.reduction);
  } else {
    json_["tx_depth"] = options.depth;
  }
  json_["results"] = nlohmann::json::array();
  if (quiet_) return;
  fmt::print("{}\n                    gin-perf {}\n", kRule, name_of(options.test));
  fmt::print(" Device         : {:<15}Ranks          : {} on {} node{}\n", device,
             properties.nRanks, properties.nNodes, properties.nNodes == 1 ? "" : "s");
  fmt::print(" Transport      : {:<15}Provider       : {}\n", properties.transport,
             properties.provider[0] == '\0' ? "-" : properties.provider);
  fmt::print(" Contexts       : {:<15}Signal mode    : {}\n", options.contexts,
             properties.signalMode);
  if (collective) {
    fmt::print(" Elements       : {:<15}Reduction      : {}\n", name_of(options.element),
               name_of(options.reduction));
  } else if (options.test != Test::kPutLat) {
    fmt::print(" TX depth       : {}\n", options.depth);
  }
  fmt::print("{}\n", kRule);
  if (collective) {
    fmt::print(
        " #bytes     #elements  #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
        "t_avg[usec]    algbw[GB/s]   busbw[GB/s]\n");
  } else if (options.test == Test::kPutLat) {
    fmt::print(
        " #bytes     #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
        "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n");
  } else {
    fmt::print(
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n");
  }
  std::fflush(stdout);
}

void Report::add_latency(std::uint64_t bytes, std::uint64_t iterations, const Statistics& us) {
  json_["results"].push_back({{"bytes", bytes},
                              {"iterations", iterations},
                              {"t_min_usec", us.min},
                              {"t_max_usec", us.max},
                              {"t_typical_usec", us.median},
                              {"t_avg_usec", us.mean},
                              {"t_stdev_usec", us.deviation},
                              {"t_99_usec", us.p99},
                              {"t_99_9_usec", us.p999}});
  if (quiet_) return;
  fmt::print(" {:<10} {:<14} {:<14.2f} {:<12.2f} {:<18.2f} {:<14.2f} {:<15.2f} {:<22.2f} {:.2f}\n",
             bytes, iterations, us.min, us.max, us.median, us.mean, us.deviation, us.p99, us.p999);
  std::fflush(stdout);
}

void Report::add_bandwidth(std::uint64_t bytes, std::uint64_t iterations, const Bandwidth& b) {
  json_["results"].push_back({{"bytes", bytes},
                              {"iterations", iterations},
                              {"bw_peak_mb_per_sec", b.peak_mb_s},
                              {"bw_average_mb_per_sec", b.average_mb_s},
                              {"msg_rate_mpps", b.rate_mpps}});
  if (quiet_) return;
  fmt::print(" {:<10} {:<14} {:<18.2f} {:<20.2f} {:.6f}\n", bytes, iterations, b.peak_mb_s,
             b.average_mb_s, b.rate_mpps);
  std::fflush(stdout);
}

void Report::add_collective(const CollectiveFigures& f) {
  const Statistics& us = f.microseconds;
  json_["results"].push_back({{"bytes", f.bytes},
                              {"elements", f.count},
                              {"iterations", f.iterations},
                              {"t_min_usec", us.min},
                              {"t_max_usec", us.max},
                              {"t_typical_usec", us.median},
                              {"t_avg_usec", f.average_usec},
                              {"algbw_gb_per_sec", f.algorithm_gb_s},
                              {"busbw_gb_per_sec", f.bus_gb_s}});
  if (quiet_) return;
  fmt::print(" {:<10} {:<10} {:<14} {:<14.2f} {:<12.2f} {:<18.2f} {:<14.2f} {:<13.3f} {:.3f}\n",
             f.bytes, f.count, f.iterations, us.min, us.max, us.median, f.average_usec,
             f.algorithm_gb_s, f.bus_gb_s);
  std::fflush(stdout);
}

void Report::add_comparison(std::uint64_t bytes, const std::string& provider, const Comparison& c) {
  const char* unit = latency_ ? "usec" : "mpps";
  json_["baseline"].push_back({{"bytes", bytes},
                               {"provider", provider},
                               {"rounds", c.rounds},
                               {fmt::format("bare_{}", unit), c.bare},
                               {fmt::format("gind_{}", unit), c.gind},
                               {latency_ ? "added_usec" : "ratio", c.paired}});
  if (quiet_) return;
  if (latency_) {
    fmt::print("   baseline ({}): bare {:.2f} us, gind {:.2f} us, added {:.2f} us", provider,
               c.bare, c.gind, c.paired);
  } else {
    fmt::print("   baseline ({}): bare {:.6f} Mpps, gind {:.6f} Mpps, ratio {:.3f}", provider,
               c.bare, c.gind, c.paired);
  }
  fmt::print(" (medians of {} paired rounds)\n", c.rounds);
  std::fflush(stdout);
}

Result<void> Report::finish(const Options& options, const Verified& verified) {
  json_["verified"] = {{"enabled", options.verify},
                       {"messages", verified.messages},
                       {"bytes", verified.bytes},
                       {"stamps", verified.stamps},
                       {"baseline", verified.bare}};
  if (json_.contains("op")) json_["verified"]["wrong"] = verified.wrong;
  if (!quiet_) {
    fmt::print("{}\n", kRule);
    if (verified.wrong != 0) {
      fmt::print(" WRONG: {} of {} results\n", verified.wrong, verified.messages);
    } else if (options.verify) {
      fmt::print(" verified: {} {} ({} bytes) bit-exact", verified.messages,
                 json_.contains("op") ? "results" : "messages", verified.bytes);
      if (verified.stamps != 0) fmt::print(", {} by number on arrival", verified.stamps);
      if (verified.bare != 0) fmt::print(", {} of the baseline", verified.bare);
      fmt::print("\n");
    } else {
      fmt::print(" data was not checked (--no-verify)\n");
    }
    std::fflush(stdout);
  }
  if (options.json_path.empty() || quiet_) return {};
  std::ofstream file(options.json_path, std::ios::trunc);
  file << json_.dump(2) << '\n';
  if (!file.flush()) return system_error("writing " + options.json_path, errno);
  return {};
}

}  // namespace gind::perf
