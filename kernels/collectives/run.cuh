// SPDX-License-Identifier: Apache-2.0
// One block's calls of a collective that is chosen when it runs, timed.
#pragma once

#include "kernels/collectives/all_gather.cuh"
#include "kernels/collectives/all_reduce.cuh"
#include "kernels/collectives/all_to_all.cuh"
#include "kernels/collectives/reduce_scatter.cuh"

namespace gin::kernels {

enum class CollectiveKind { kAllToAll, kAllGather, kReduceScatter, kAllReduce };
enum class ElementType { kFloat, kDouble, kInt32, kUint64 };
enum class Reduction { kSum, kMax };

struct CollectivePlan {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  ElementType type = ElementType::kFloat;
  Reduction reduction = Reduction::kSum;
  Collective call{};  // its block is set for each block
  std::uint64_t warm_up = 0;
  std::uint64_t iterations = 1;
  std::uint64_t* call_ns = nullptr;  // [iterations], of block 0
};

struct CollectiveOutcome {
  ginResult_t result = ginSuccess;
  std::uint64_t began_ns = 0;  // behind the warm-up
  std::uint64_t ended_ns = 0;
};

namespace detail {

template <typename T, typename Op, typename Coop>
GIN_KERNELS_CALL ginResult_t reducing(const ginDevComm_t& comm, Coop coop,
                                      const CollectivePlan& plan) {
  return plan.kind == CollectiveKind::kReduceScatter ? reduce_scatter<T, Op>(comm, coop, plan.call)
                                                     : all_reduce<T, Op>(comm, coop, plan.call);
}

// To those that only move them, elements of one size are alike.
template <typename T, typename Coop>
GIN_KERNELS_CALL ginResult_t moving(const ginDevComm_t& comm, Coop coop,
                                    const CollectivePlan& plan) {
  return plan.kind == CollectiveKind::kAllToAll ? all_to_all<T>(comm, coop, plan.call)
                                                : all_gather<T>(comm, coop, plan.call);
}

template <typename T, typename Coop>
GIN_HOST_DEVICE inline ginResult_t call_of(const ginDevComm_t& comm, Coop coop,
                                           const CollectivePlan& plan) {
  return plan.reduction == Reduction::kSum ? reducing<T, Sum>(comm, coop, plan)
                                           : reducing<T, Max>(comm, coop, plan);
}

template <typename Coop>
GIN_HOST_DEVICE inline ginResult_t call_once(const ginDevComm_t& comm, Coop coop,
                                             const CollectivePlan& plan) {
  const bool wide = plan.type == ElementType::kDouble || plan.type == ElementType::kUint64;
  if (plan.kind == CollectiveKind::kAllToAll || plan.kind == CollectiveKind::kAllGather) {
    return wide ? moving<std::uint64_t>(comm, coop, plan) : moving<std::uint32_t>(comm, coop, plan);
  }
  switch (plan.type) {
    case ElementType::kFloat:
      return call_of<float>(comm, coop, plan);
    case ElementType::kDouble:
      return call_of<double>(comm, coop, plan);
    case ElementType::kInt32:
      return call_of<std::int32_t>(comm, coop, plan);
    case ElementType::kUint64:
      return call_of<std::uint64_t>(comm, coop, plan);
  }
  return ginInvalidArgument;
}

}  // namespace detail

template <typename Coop>
GIN_HOST_DEVICE inline CollectiveOutcome run_collective_block(const ginDevComm_t& comm, Coop coop,
                                                              const CollectivePlan& given,
                                                              std::uint32_t block) {
  CollectivePlan plan = given;
  plan.call.block = block;
  const bool times_calls = plan.call_ns != nullptr && block == 0 && coop.thread_rank() == 0;
  CollectiveOutcome out;
  out.began_ns = gin::queues::now_ns();
  for (std::uint64_t i = 0; i < plan.warm_up + plan.iterations; ++i) {
    const std::uint64_t before = gin::queues::now_ns();
    if (i == plan.warm_up) out.began_ns = before;
    out.result = detail::call_once(comm, coop, plan);
    if (out.result != ginSuccess) break;
    if (times_calls && i >= plan.warm_up) {
      plan.call_ns[i - plan.warm_up] = gin::queues::now_ns() - before;
    }
  }
  out.ended_ns = gin::queues::now_ns();
  return out;
}

}  // namespace gin::kernels
