// SPDX-License-Identifier: Apache-2.0
// The figures of Prometheus's standard process_* metrics, for this process.
#pragma once

#include <cstdint>
#include <optional>

namespace gind {

struct ProcessStats {
  double cpu_seconds = 0;  // user and system
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;
  double start_time_seconds = 0;  // since the epoch
};

// Nothing when /proc cannot be read.
std::optional<ProcessStats> read_process_stats();

}  // namespace gind
