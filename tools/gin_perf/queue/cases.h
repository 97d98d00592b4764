// SPDX-License-Identifier: Apache-2.0
// Which cases the queue test runs, and what each is to reach.
#pragma once

#include "gind/common/result.h"
#include "tools/gin_perf/options.h"
#include "tools/gin_perf/queue/device.h"

#include <string>
#include <vector>

namespace gind::perf {

const char* name_of(gin::kernels::PostMode mode);

// The least rate, in million records a second, that is asked of gind on an H200 with PCIe 5.0 x16
// and one consumer core; 0 where none is set.  @source docs/performance.md, "Targets"
double target_of(const QueueCase& what);

// All of the table, or what the options narrow it to.
// Errors: ginInvalidArgument (a grid, size or mode that is none, with what it may be).
Result<std::vector<QueueCase>> queue_cases(const Options& options);

}  // namespace gind::perf
