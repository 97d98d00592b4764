// SPDX-License-Identifier: Apache-2.0
// Who calls a device function together.  All threads of the coop make the call with the same
// arguments; one of them acts, and the result goes to all.  On the host a coop is one thread.
#pragma once

#include "gin/queues/platform.h"
#include "gin/result.h"

#include <cstdint>

namespace gin::device {

// One thread; what every coop is on the host.
struct Single {
  GIN_HOST_DEVICE std::uint32_t size() const { return 1; }
  GIN_HOST_DEVICE std::uint32_t thread_rank() const { return 0; }
  GIN_HOST_DEVICE void sync() const {}
  // The value of thread 0, to all.  A barrier of the coop, too.
  GIN_HOST_DEVICE std::uint64_t broadcast(std::uint64_t value) const { return value; }
  // The largest value of all threads, to all.  A barrier of the coop, too.
  GIN_HOST_DEVICE std::uint32_t largest(std::uint32_t value) const { return value; }
};

#if defined(__CUDA_ARCH__)
GIN_HOST_DEVICE inline std::uint32_t lane_id() {
  std::uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// `Lanes` neighbouring lanes of a warp, aligned.
template <std::uint32_t Lanes>
struct Tile {
  static constexpr std::uint32_t kLanes = Lanes;
  GIN_HOST_DEVICE std::uint32_t size() const { return Lanes; }
  GIN_HOST_DEVICE std::uint32_t thread_rank() const { return lane_id() % Lanes; }
  GIN_HOST_DEVICE void sync() const { __syncwarp(mask()); }
  GIN_HOST_DEVICE std::uint64_t broadcast(std::uint64_t value) const {
    __syncwarp(mask());  // the shuffle orders no memory
    return __shfl_sync(mask(), value, 0, Lanes);
  }
  GIN_HOST_DEVICE std::uint32_t largest(std::uint32_t value) const {
    __syncwarp(mask());
    for (std::uint32_t step = Lanes / 2; step != 0; step /= 2) {
      const std::uint32_t other = __shfl_xor_sync(mask(), value, static_cast<int>(step), Lanes);
      value = other > value ? other : value;
    }
    return value;
  }

 private:
  GIN_HOST_DEVICE static unsigned mask() {
    if constexpr (Lanes == 32) {
      return 0xffffffffu;
    } else {
      return ((1u << Lanes) - 1) << (lane_id() / Lanes * Lanes);
    }
  }
};

struct Block {
  GIN_HOST_DEVICE std::uint32_t size() const { return blockDim.x * blockDim.y * blockDim.z; }
  GIN_HOST_DEVICE std::uint32_t thread_rank() const {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  GIN_HOST_DEVICE void sync() const { __syncthreads(); }
  GIN_HOST_DEVICE std::uint64_t broadcast(std::uint64_t value) const {
    __shared__ std::uint64_t slot;
    __syncthreads();  // whoever read it last has done so
    if (thread_rank() == 0) slot = value;
    __syncthreads();
    return slot;
  }
  GIN_HOST_DEVICE std::uint32_t largest(std::uint32_t value) const {
    __shared__ unsigned slot;
    __syncthreads();
    if (thread_rank() == 0) slot = 0;
    __syncthreads();
    if (value != 0) atomicMax(&slot, value);
    __syncthreads();
    return slot;
  }
};
#else
template <std::uint32_t Lanes>
struct Tile : Single {};
struct Block : Single {};
#endif

}  // namespace gin::device

// One thread.
struct ginCoopThread : gin::device::Single {};

// N = 2, 4, 8, 16 or 32 neighbouring lanes of a warp, the first of them a multiple of N.
template <std::uint32_t N>
struct ginCoopTile : gin::device::Tile<N> {
  static_assert(N >= 2 && N <= 32 && (N & (N - 1)) == 0, "a tile has 2, 4, 8, 16 or 32 lanes");
};

// All 32 lanes of a warp.
struct ginCoopWarp : gin::device::Tile<32> {};

// All threads of a thread block.
struct ginCoopBlock : gin::device::Block {};
