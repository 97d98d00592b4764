// SPDX-License-Identifier: Apache-2.0
// perftest's table and the JSON file.
#pragma once

#include "gin/gin.h"
#include "gind/common/result.h"
#include "tools/gin_perf/baseline.h"
#include "tools/gin_perf/options.h"
#include "tools/gin_perf/statistics.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace gind::perf {

struct Verified {
  std::uint64_t messages = 0;  // received and compared byte by byte
  std::uint64_t bytes = 0;
  std::uint64_t stamps = 0;  // messages whose number was checked when their signal came
  std::uint64_t bare = 0;    // messages of the baseline whose number was checked
  std::uint64_t wrong = 0;   // results of collectives that were not right
  void add(const Verified& other) {
    messages += other.messages;
    bytes += other.bytes;
    stamps += other.stamps;
    bare += other.bare;
    wrong += other.wrong;
  }
};

struct Bandwidth {
  double peak_mb_s = 0;  // 2^20 bytes a second, as perftest counts
  double average_mb_s = 0;
  double rate_mpps = 0;
};

struct CollectiveFigures {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t iterations = 0;
  Statistics microseconds;    // of block 0's calls
  double average_usec = 0;    // of the calls of all blocks
  double algorithm_gb_s = 0;  // 10^9 bytes a second, as nccl-tests counts
  double bus_gb_s = 0;
};

class Report {
 public:
  // A quiet report (of the ranks that do not measure) prints nothing.
  Report(const Options& options, const std::string& device, const ginCommProperties_t& properties,
         bool quiet);

  void add_latency(std::uint64_t bytes, std::uint64_t iterations, const Statistics& microseconds);
  void add_bandwidth(std::uint64_t bytes, std::uint64_t iterations, const Bandwidth& bandwidth);
  void add_collective(const CollectiveFigures& figures);
  // Below the line of that size.
  void add_comparison(std::uint64_t bytes, const std::string& provider, const Comparison& c);
  // The last line of the table; then writes the JSON file, where one was asked for.
  Result<void> finish(const Options& options, const Verified& verified);

 private:
  bool quiet_;
  bool latency_;
  nlohmann::json json_;
};

}  // namespace gind::perf
