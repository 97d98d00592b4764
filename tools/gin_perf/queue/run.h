// SPDX-License-Identifier: Apache-2.0
// gin-perf queue: the ring alone, at every grid, record size and sharing mode.
#pragma once

#include "gind/common/result.h"
#include "tools/gin_perf/options.h"

namespace gind::perf {

// Runs all cases that the options ask for, prints the table (and the JSON file).
Result<void> run_queue(const Options& options);

}  // namespace gind::perf
