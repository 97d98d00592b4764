// SPDX-License-Identifier: Apache-2.0
// Who calls a device function together.  All threads of the coop make the call with the same
// arguments; one of them acts, and the result goes to all.  On the host a coop is one thread.
#pragma once

#include "gin/queues/platform.h"
#include "gin/result.h"

#include <cstdint>

// One thread.
struct ginCoopThread {
  GIN_HOST_DEVICE std::uint32_t size() const { return 1; }
  GIN_HOST_DEVICE std::uint32_t thread_rank() const { return 0; }
  GIN_HOST_DEVICE void sync() const {}
  // The value of thread 0, to all.  A barrier of the coop, too.
  GIN_HOST_DEVICE ginResult_t broadcast(ginResult_t value) const { return value; }
};

// All 32 lanes of a warp.
struct ginCoopWarp {
#if defined(__CUDA_ARCH__)
  GIN_HOST_DEVICE std::uint32_t size() const { return 32; }
  GIN_HOST_DEVICE std::uint32_t thread_rank() const {
    std::uint32_t lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
  }
  GIN_HOST_DEVICE void sync() const { __syncwarp(); }
  GIN_HOST_DEVICE ginResult_t broadcast(ginResult_t value) const {
    __syncwarp();  // the shuffle orders no memory
    return static_cast<ginResult_t>(__shfl_sync(0xffffffffu, static_cast<int>(value), 0));
  }
#else
  GIN_HOST_DEVICE std::uint32_t size() const { return 1; }
  GIN_HOST_DEVICE std::uint32_t thread_rank() const { return 0; }
  GIN_HOST_DEVICE void sync() const {}
  GIN_HOST_DEVICE ginResult_t broadcast(ginResult_t value) const { return value; }
#endif
};

// All threads of a thread block.
struct ginCoopBlock {
#if defined(__CUDA_ARCH__)
  GIN_HOST_DEVICE std::uint32_t size() const { return blockDim.x * blockDim.y * blockDim.z; }
  GIN_HOST_DEVICE std::uint32_t thread_rank() const {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  GIN_HOST_DEVICE void sync() const { __syncthreads(); }
  // Call only behind a sync() that follows the broadcast before: the slot is reused.
  GIN_HOST_DEVICE ginResult_t broadcast(ginResult_t value) const {
    __shared__ int slot;
    if (thread_rank() == 0) slot = static_cast<int>(value);
    __syncthreads();
    return static_cast<ginResult_t>(slot);
  }
#else
  GIN_HOST_DEVICE std::uint32_t size() const { return 1; }
  GIN_HOST_DEVICE std::uint32_t thread_rank() const { return 0; }
  GIN_HOST_DEVICE void sync() const {}
  GIN_HOST_DEVICE ginResult_t broadcast(ginResult_t value) const { return value; }
#endif
};
