// SPDX-License-Identifier: Apache-2.0
// ncclCoopBcast: one thread's value to all of its coop.
#pragma once

#include "gin/nccl_compat/coop.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gin::nccl {

// Eight bytes of thread `root`.
template <int N>
GIN_HOST_DEVICE std::uint64_t word_from([[maybe_unused]] ncclCoopTile<N> coop, std::uint64_t word,
                                        [[maybe_unused]] int root) {
#if defined(__CUDA_ARCH__)
  return __shfl_sync(coop.laneMask(), word, root, N);
#else
  return word;
#endif
}
GIN_HOST_DEVICE inline std::uint64_t word_from([[maybe_unused]] ncclCoopLanes coop,
                                               std::uint64_t word, [[maybe_unused]] int root) {
#if defined(__CUDA_ARCH__)
  return __shfl_sync(coop.lmask, word, static_cast<int>(__fns(coop.lmask, 0, root + 1)));
#else
  return word;
#endif
}
// Of a coop of several warps: through memory of the block, a barrier before and one behind.
template <typename Coop>
GIN_HOST_DEVICE std::uint64_t word_from(Coop coop, std::uint64_t word, [[maybe_unused]] int root) {
  static_assert(std::is_same_v<Coop, ncclCoopCta> || std::is_same_v<Coop, ncclCoopWarpSpan>,
                "ncclCoopBcast takes a tile, lanes, a span of warps or a block");
#if defined(__CUDA_ARCH__)
  __shared__ std::uint64_t slots[16];
  std::uint64_t* slot = &slots[15];
  if constexpr (std::is_same_v<Coop, ncclCoopWarpSpan>) slot = &slots[coop.id % 15];
  coop.sync();
  if (coop.thread_rank() == root) *slot = word;
  coop.sync();
  return *slot;
#else
  coop.sync();
  return word;
#endif
}

}  // namespace gin::nccl

// entrySync false (nobody can still be reading the last value) is accepted; it is synchronised.
template <typename Coop, typename T>
GIN_HOST_DEVICE T ncclCoopBcast(Coop coop, T value, int root, bool /*entrySync*/ = true) {
  static_assert(std::is_trivially_copyable_v<T>, "the bytes of the value are passed on");
  constexpr int kWords = (sizeof(T) + 7) / 8;
  std::uint64_t words[kWords] = {};
  memcpy(words, &value, sizeof(T));
  for (std::uint64_t& word : words) word = gin::nccl::word_from(coop, word, root);
  memcpy(&value, words, sizeof(T));
  return value;
}
