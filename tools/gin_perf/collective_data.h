// SPDX-License-Identifier: Apache-2.0
// What the ranks of a collective send, and what must come of it: both follow from a seed, so every
// rank checks its whole result alone.
#pragma once

#include "kernels/collectives/run.cuh"

#include <cstdint>
#include <optional>
#include <string>

namespace gind::perf {

struct CollectiveShape {
  gin::kernels::CollectiveKind kind = gin::kernels::CollectiveKind::kAllReduce;
  gin::kernels::ElementType type = gin::kernels::ElementType::kFloat;
  gin::kernels::Reduction reduction = gin::kernels::Reduction::kSum;
  std::uint64_t count = 0;  // elements, as the collective counts them
  int ranks = 1;

  std::uint64_t element_bytes() const;
  // Elements of each rank.
  std::uint64_t sent() const;
  std::uint64_t received() const;
  std::uint64_t scratch() const;
  // As nccl-tests counts: of what is sent or received, the larger.
  std::uint64_t bytes() const;
  // Bus bandwidth by algorithm bandwidth.
  // @source nccl-tests, doc/PERFORMANCE.md
  double bus_factor() const;
};

// The largest shape of at most `bytes` bytes, of one element a rank at least.
CollectiveShape shape_of(CollectiveShape shape, std::uint64_t bytes);

void fill_inputs(void* memory, const CollectiveShape& shape, int rank, std::uint64_t seed);

struct WrongElement {
  std::uint64_t index;
  std::string got, expected;
};
// The first element of `rank`'s result that is not, bit for bit, what the inputs of that seed give.
std::optional<WrongElement> find_wrong(const void* memory, const CollectiveShape& shape, int rank,
                                       std::uint64_t seed);

}  // namespace gind::perf
