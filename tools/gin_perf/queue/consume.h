// SPDX-License-Identifier: Apache-2.0
// The other side of the queue test: one core drains the rings as a proxy thread does.
#pragma once

#include "gind/common/result.h"
#include "tools/gin_perf/queue/device.h"

#include <cstdint>

namespace gind::perf {

struct Consumed {
  std::uint64_t records = 0;
  std::uint64_t took_ns = 0;  // from the first record to the last
};

// Takes all records of the case from rings that begin at `start`.  Errors: ginInternalError (a
// record is not what its thread posted next: says where), ginTimeout (how many are missing).
Result<Consumed> consume(const QueueDevice& device, const QueueCase& what, std::uint32_t log2_depth,
                         bool verify, std::uint64_t timeout_ns, std::uint64_t start = 0);

// Takes the records of a ring that is full already: what the consumer does at best, in million
// records a second.
double drain_rate(const QueueDevice& device, std::uint32_t log2_depth, std::uint64_t records);

// Answers `trips` records, one after the other.
Result<void> answer_all(const QueueDevice& device, std::uint64_t trips, std::uint32_t log2_depth,
                        std::uint64_t timeout_ns);

}  // namespace gind::perf
