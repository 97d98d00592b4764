// SPDX-License-Identifier: Apache-2.0
// NCCL's coops: gind's, with sizes of type int.  On the host each is one thread.
#pragma once

#include "gin/device/coop.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__CUDACC__)
#define GIN_NCCL_NOINLINE __noinline__
#else
#define GIN_NCCL_NOINLINE
#endif

namespace gin::nccl {

template <typename Base>
struct Sized : Base {
  GIN_HOST_DEVICE int size() const { return static_cast<int>(Base::size()); }
  GIN_HOST_DEVICE int num_threads() const { return size(); }
  GIN_HOST_DEVICE int thread_rank() const { return static_cast<int>(Base::thread_rank()); }
};

template <int N>
using TileBase =
    std::conditional_t<N == 1, device::Single, device::Tile<static_cast<std::uint32_t>(N)>>;

}  // namespace gin::nccl

// N = 1, 2, 4 .. 32 neighbouring lanes of a warp, aligned.
template <int N>
struct ncclCoopTile : gin::nccl::Sized<gin::nccl::TileBase<N>> {
  static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 lanes");
  GIN_HOST_DEVICE std::uint32_t laneMask() const {
#if defined(__CUDA_ARCH__)
    return (0xffffffffu >> (32 - N)) << (gin::device::lane_id() / N * N);
#else
    return 1;
#endif
  }
};
typedef ncclCoopTile<1> ncclCoopThread;
typedef ncclCoopTile<32> ncclCoopWarp;

struct ncclCoopCta : gin::nccl::Sized<gin::device::Block> {};

// Some lanes of the caller's warp.
struct ncclCoopLanes {
  std::uint32_t lmask;
  GIN_HOST_DEVICE constexpr ncclCoopLanes(std::uint32_t mask = 0xffffffffu) : lmask(mask) {}
#if defined(__CUDA_ARCH__)
  GIN_HOST_DEVICE int size() const { return __popc(lmask); }
  GIN_HOST_DEVICE int thread_rank() const {
    return __popc(lmask & ((1u << gin::device::lane_id()) - 1));
  }
  GIN_HOST_DEVICE void sync() const { __syncwarp(lmask); }
  GIN_HOST_DEVICE std::uint64_t broadcast(std::uint64_t value) const {
    __syncwarp(lmask);  // the shuffle orders no memory
    return __shfl_sync(lmask, value, __ffs(static_cast<int>(lmask)) - 1);
  }
  GIN_HOST_DEVICE std::uint32_t largest(std::uint32_t value) const {
    __syncwarp(lmask);
    std::uint32_t most = 0;
    for (std::uint32_t left = lmask; left != 0; left &= left - 1) {
      const std::uint32_t one = __shfl_sync(lmask, value, __ffs(static_cast<int>(left)) - 1);
      most = one > most ? one : most;
    }
    return most;
  }
#else
  int size() const { return 1; }
  int thread_rank() const { return 0; }
  void sync() const {}
  std::uint64_t broadcast(std::uint64_t value) const { return value; }
  std::uint32_t largest(std::uint32_t value) const { return value; }
#endif
  GIN_HOST_DEVICE int num_threads() const { return size(); }
};

// nWarps consecutive warps of a block, with an id of 0 .. 14 that no other span has at the time.
// Uses the block's hardware barrier 1 + id.
struct ncclCoopWarpSpan {
  std::uint32_t warp0 : 8, nWarps : 8, id : 8;
  GIN_HOST_DEVICE constexpr ncclCoopWarpSpan(int first, int warps, int unique)
      : warp0(static_cast<std::uint32_t>(first) & 0xff),
        nWarps(static_cast<std::uint32_t>(warps) & 0xff),
        id(static_cast<std::uint32_t>(unique) & 0xff) {}
#if defined(__CUDA_ARCH__)
  GIN_HOST_DEVICE int size() const { return static_cast<int>(32 * nWarps); }
  GIN_HOST_DEVICE int thread_rank() const { return static_cast<int>(threadIdx.x - 32 * warp0); }
  GIN_HOST_DEVICE void sync() const { __barrier_sync_count(1 + id, 32 * nWarps); }
  GIN_HOST_DEVICE std::uint64_t broadcast(std::uint64_t value) const {
    sync();  // whoever read the slot last has done so
    if (thread_rank() == 0) *slot() = value;
    sync();
    return *slot();
  }
  GIN_HOST_DEVICE std::uint32_t largest(std::uint32_t value) const {
    sync();
    if (thread_rank() == 0) *slot() = 0;
    sync();
    if (value != 0) atomicMax(slot(), static_cast<unsigned long long>(value));
    sync();
    return static_cast<std::uint32_t>(*slot());
  }

 private:
  GIN_HOST_DEVICE unsigned long long* slot() const {
    __shared__ unsigned long long slots[16];
    return &slots[id & 15];
  }
#else
  int size() const { return 1; }
  int thread_rank() const { return 0; }
  void sync() const {}
  std::uint64_t broadcast(std::uint64_t value) const { return value; }
  std::uint32_t largest(std::uint32_t value) const { return value; }
#endif
 public:
  GIN_HOST_DEVICE int num_threads() const { return size(); }
};

// Any one of the above, chosen when the kernel runs.  Its functions are not inlined: each holds all
// kinds, and a device function calls several.
class ncclCoopAny {
  enum Kind : std::uint32_t { kLanes, kSpan, kCta };
  template <typename F>
  GIN_HOST_DEVICE auto visit(F f) const {
    if (kind == kLanes) return f(lanes);
    if (kind == kSpan) return f(span);
    return f(ncclCoopCta{});
  }
  Kind kind;
  ncclCoopLanes lanes;
  ncclCoopWarpSpan span{0, 0, 0};

 public:
  template <int N>
  GIN_HOST_DEVICE ncclCoopAny(ncclCoopTile<N> coop) : kind(kLanes), lanes(coop.laneMask()) {}
  GIN_HOST_DEVICE ncclCoopAny(ncclCoopLanes coop) : kind(kLanes), lanes(coop) {}
  GIN_HOST_DEVICE ncclCoopAny(ncclCoopWarpSpan coop) : kind(kSpan), span(coop) {}
  GIN_HOST_DEVICE ncclCoopAny(ncclCoopCta) : kind(kCta) {}

  GIN_NCCL_NOINLINE GIN_HOST_DEVICE int size() const {
    return visit([](auto c) { return c.size(); });
  }
  GIN_HOST_DEVICE int num_threads() const { return size(); }
  GIN_NCCL_NOINLINE GIN_HOST_DEVICE int thread_rank() const {
    return visit([](auto c) { return c.thread_rank(); });
  }
  GIN_NCCL_NOINLINE GIN_HOST_DEVICE void sync() const {
    visit([](auto c) { c.sync(); });
  }
  GIN_NCCL_NOINLINE GIN_HOST_DEVICE std::uint64_t broadcast(std::uint64_t value) const {
    return visit([=](auto c) { return c.broadcast(value); });
  }
  GIN_NCCL_NOINLINE GIN_HOST_DEVICE std::uint32_t largest(std::uint32_t value) const {
    return visit([=](auto c) { return c.largest(value); });
  }
};

template <int N>
GIN_HOST_DEVICE constexpr bool ncclCoopIsThread(ncclCoopTile<N>) {
  return N == 1;
}
GIN_HOST_DEVICE constexpr bool ncclCoopIsThread(ncclCoopLanes) { return false; }
GIN_HOST_DEVICE constexpr bool ncclCoopIsThread(ncclCoopWarpSpan) { return false; }
GIN_HOST_DEVICE constexpr bool ncclCoopIsThread(ncclCoopCta) { return false; }

template <int N>
GIN_HOST_DEVICE constexpr bool ncclCoopWithinWarp(ncclCoopTile<N>) {
  return true;
}
GIN_HOST_DEVICE constexpr bool ncclCoopWithinWarp(ncclCoopLanes) { return true; }
GIN_HOST_DEVICE constexpr bool ncclCoopWithinWarp(ncclCoopWarpSpan) { return false; }
GIN_HOST_DEVICE constexpr bool ncclCoopWithinWarp(ncclCoopCta) { return false; }

template <int N>
GIN_HOST_DEVICE std::uint32_t ncclCoopGetLaneMask(ncclCoopTile<N> coop) {
  return coop.laneMask();
}
GIN_HOST_DEVICE inline std::uint32_t ncclCoopGetLaneMask(ncclCoopLanes coop) { return coop.lmask; }
GIN_HOST_DEVICE inline std::uint32_t ncclCoopGetLaneMask(ncclCoopWarpSpan) { return 0xffffffffu; }
GIN_HOST_DEVICE inline std::uint32_t ncclCoopGetLaneMask(ncclCoopCta) { return 0xffffffffu; }

// Lanes of the caller's warp that may act together.
GIN_HOST_DEVICE inline ncclCoopLanes ncclCoopCoalesced() {
#if defined(__CUDA_ARCH__)
  return ncclCoopLanes{__activemask()};
#else
  return ncclCoopLanes{1};
#endif
}
template <typename Coop>
GIN_HOST_DEVICE ncclCoopTile<32> ncclCoopCoalesced(Coop) {
  return {};
}
GIN_HOST_DEVICE inline ncclCoopLanes ncclCoopCoalesced(ncclCoopLanes coop) { return coop; }
template <int N>
GIN_HOST_DEVICE ncclCoopTile<N> ncclCoopCoalesced(ncclCoopTile<N> coop) {
  return coop;
}
