// SPDX-License-Identifier: Apache-2.0
// All ranks on this machine: one child process each, with the socket of its gind.
#pragma once

#include "tools/gin_perf/options.h"

#include <functional>

namespace gind::perf {

// Runs `rank` for each rank with its own options and returns the first failing exit code, or 0.
// Call it while the process has one thread.  When a rank fails the others are ended.
int run_local_ranks(const Options& options, const std::function<int(const Options&)>& rank);

}  // namespace gind::perf
