// SPDX-License-Identifier: Apache-2.0
// cuda::memory_order and cuda::thread_scope, which NCCL's device API takes.  Where there is no
// libcu++ (a build without CUDA) they are stood in for, so that kernels compile for the host.
#pragma once

#include "gin/device/actions.h"

#if defined(__CUDACC__) || __has_include(<cuda/atomic>)
#include <cuda/atomic>
#else
#include <atomic>

namespace cuda {
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
enum thread_scope {  // values of libcu++
  thread_scope_system = 0,
  thread_scope_device = 1,
  thread_scope_block = 2,
  thread_scope_thread = 10
};
}  // namespace cuda
#endif

namespace gin::nccl {

GIN_HOST_DEVICE constexpr ginOrder_t order_of(cuda::memory_order order) {
  switch (order) {
    case cuda::memory_order_relaxed:
      return ginOrderRelaxed;
    case cuda::memory_order_consume:
    case cuda::memory_order_acquire:
      return ginOrderAcquire;
    case cuda::memory_order_release:
      return ginOrderRelease;
    default:
      return ginOrderAcqRel;
  }
}

// gind reads payloads from the host, so only a release at system scope counts.  It is skipped where
// the caller has made it, or says that nothing needs one.
GIN_HOST_DEVICE constexpr ginFence_t fence_of(cuda::thread_scope given,
                                              cuda::thread_scope required) {
  return given == cuda::thread_scope_system || required == cuda::thread_scope_thread
             ? ginAlreadyReleased
             : ginFenceDefault;
}

}  // namespace gin::nccl
