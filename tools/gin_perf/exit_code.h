// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gin/result.h"

namespace gind::perf {

enum ExitCode { kOk = 0, kFailure = 1, kUsage = 2, kUnreachable = 3, kVersion = 4 };

ExitCode exit_code_of(ginResult_t result);

}  // namespace gind::perf
