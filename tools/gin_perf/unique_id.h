// SPDX-License-Identifier: Apache-2.0
// The unique id, spread over a file.
#pragma once

#include "gin/gin.h"
#include "gind/common/result.h"

#include <chrono>
#include <string>

namespace gind::perf {

// Writes the file so that it appears whole.
Result<void> write_unique_id(const std::string& path, const ginUniqueId& id);

// Waits for the file until the deadline.
Result<ginUniqueId> read_unique_id(const std::string& path,
                                   std::chrono::steady_clock::time_point deadline);

}  // namespace gind::perf
