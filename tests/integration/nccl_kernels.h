// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels in NCCL's spelling, for GPUs (tests/gpu/nccl_compat_test.cu) and for CPU
// threads that play them (nccl_compat_test.cc; each coop is one thread then).
#pragma once

#include "gin/nccl_compat.cuh"

#include <cstdint>

// Kept apart on the GPU, which takes the compiler minutes otherwise.
#if defined(__CUDACC__)
#define GIND_KERNEL_PART __noinline__ __host__ __device__
#else
#define GIND_KERNEL_PART
#endif

namespace gind::test {

// The first place at which what was seen is not what should be.
struct Verdict {
  unsigned place;
  unsigned long long seen;
};
GIN_HOST_DEVICE inline void expect_at(Verdict* v, unsigned place, bool holds,
                                      unsigned long long seen = 0) {
  if (holds || v->place != 0) return;
  v->seen = seen;
  v->place = place;
}

// Contents of a message: nobody else's have the same words.
GIN_HOST_DEVICE inline std::uint32_t word_of(int rank, int to, unsigned round, std::size_t i) {
  return (static_cast<std::uint32_t>(rank) << 24 | static_cast<std::uint32_t>(to) << 16 | round) ^
         static_cast<std::uint32_t>(i) * 0x9e3779b1u;
}
template <typename Coop>
GIN_HOST_DEVICE void fill(Coop coop, void* at, std::size_t words, int rank, int to,
                          unsigned round) {
  for (std::size_t i = coop.thread_rank(); i < words; i += coop.size()) {
    static_cast<std::uint32_t*>(at)[i] = word_of(rank, to, round, i);
  }
}
template <typename Coop>
GIN_HOST_DEVICE void check_filled(Coop coop, const void* at, std::size_t words, int rank, int to,
                                  unsigned round, Verdict* v, unsigned place) {
  for (std::size_t i = coop.thread_rank(); i < words; i += coop.size()) {
    const std::uint32_t seen = static_cast<const volatile std::uint32_t*>(at)[i];
    expect_at(v, place, seen == word_of(rank, to, round, i), seen);
  }
}

// Round r: all threads of the coop write a message, one put brings it to the right neighbour.
template <typename Coop>
GIN_HOST_DEVICE void ring(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
                          std::size_t words, unsigned rounds, Verdict* v) {
  const ncclGin gin{devComm, 0};
  const ncclTeam world = ncclTeamWorld(devComm);
  const int right = (devComm.rank + 1) % devComm.nRanks;
  const int left = (devComm.rank + devComm.nRanks - 1) % devComm.nRanks;
  const std::size_t half = words * 4;
  for (unsigned r = 1; r <= rounds; ++r) {
    fill(coop, ncclGetLocalPointer(window, 0), words, devComm.rank, right, r);
    gin.put(world, right, window, half, window, 0, half, ncclGin_StrongSignalInc{0},
            ncclGin_WeakCounterInc{0}, coop);
    gin.waitSignal(coop, 0, r);
    check_filled(coop, ncclGetLocalPointer(window, half), words, left, devComm.rank, r, v, 1);
    gin.waitCounter(coop, 0, r);
    // Back to the left: what it sent has been looked at.
    coop.sync();
    gin.signal(world, left, ncclGin_SignalInc{1}, coop);
    gin.waitSignal(coop, 1, r);
  }
  expect_at(v, 2, gin.readSignal(0) == rounds, gin.readSignal(0));
  expect_at(v, 3, gin.readCounter(0) == rounds, gin.readCounter(0));
}

// Everyone to everyone, a peer a thread; barrier and signal `index` belong to the coop.
template <typename Coop>
GIN_HOST_DEVICE void all_to_all(Coop coop, ncclDevComm const& devComm, ncclWindow_t send,
                                ncclWindow_t recv, std::size_t words, unsigned index,
                                unsigned round, Verdict* v) {
  const ncclGin gin{devComm, static_cast<int>(index % devComm.ginContextCount)};
  const std::size_t bytes = words * 4;
  const std::size_t part = std::size_t{index} * static_cast<std::size_t>(devComm.nRanks) * bytes;
  const auto slot = [&](int rank) { return part + static_cast<std::size_t>(rank) * bytes; };
  for (int peer = 0; peer < devComm.nRanks; ++peer) {
    fill(coop, ncclGetLocalPointer(send, slot(peer)), words, devComm.rank, peer, round);
  }
  const std::uint64_t before = gin.readSignal(index);
  ncclGinBarrierSession<Coop> bar{coop, gin, ncclTeamTagWorld(), index};
  bar.sync(coop, cuda::memory_order_acquire, ncclGinFenceLevel::None);
  for (int peer = coop.thread_rank(); peer < devComm.nRanks; peer += coop.size()) {
    gin.put(ncclTeamWorld(devComm), peer, recv, slot(devComm.rank), send, slot(peer), bytes,
            ncclGin_WeakSignalInc{index});
  }
  gin.waitSignal(coop, index, before + static_cast<unsigned>(devComm.nRanks));
  for (int peer = 0; peer < devComm.nRanks; ++peer) {
    check_filled(coop, ncclGetLocalPointer(recv, slot(peer)), words, peer, devComm.rank, round, v,
                 4);
  }
  gin.flush(coop);
  bar.sync(coop, cuda::memory_order_release, ncclGinFenceLevel::None);
}

// Values that travel in the descriptor, by window and by symmetric pointer.
template <typename Coop>
GIND_KERNEL_PART void values(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
                             Verdict* v) {
  const ncclGin gin{devComm, 0, NCCL_GIN_RESOURCE_SHARING_CTA};
  const ncclTeam world = ncclTeamWorld(devComm);
  const int n = devComm.nRanks;
  const ncclSymPtr<std::uint32_t> theirs = ncclSymPtr<std::uint32_t>(window, 4096) + devComm.rank;
  const ncclSymPtr<std::uint64_t> mine(window, 8192);
  if (coop.thread_rank() == 0) mine.localPtr()[0] = 7000u + static_cast<unsigned>(devComm.rank);
  coop.sync();
  for (int peer = 0; peer < n; ++peer) {
    gin.putValue(world, peer, window, static_cast<std::size_t>(devComm.rank) * 8,
                 std::uint64_t{0x1122334455667788u} + static_cast<unsigned>(devComm.rank),
                 ncclGin_StrongSignalAdd{2, 10}, coop);
    gin.putValue(world, peer, theirs, 40u + static_cast<unsigned>(devComm.rank),
                 ncclGin_SignalAdd{2, 5}, coop, ncclGin_None{}, cuda::thread_scope_system);
    gin.put(world, peer, mine + 1 + devComm.rank, mine, 1, ncclGin_WeakSignalAdd{2, 1},
            ncclGin_CounterInc{1}, coop, ncclGin_None{}, cuda::thread_scope_thread,
            cuda::thread_scope_device, ncclGinOptFlagsAggregateRequests);
  }
  gin.waitSignal(coop, 2, 16u * static_cast<unsigned>(n));
  gin.waitCounter(coop, 1, static_cast<unsigned>(n));
  for (int peer = 0; peer < n; ++peer) {
    const auto* a = static_cast<volatile std::uint64_t*>(ncclGetLocalPointer(window, 0));
    const auto* b = static_cast<volatile std::uint32_t*>(ncclGetLocalPointer(window, 4096));
    const volatile std::uint64_t* c = mine.localPtr();
    const auto p = static_cast<unsigned>(peer);
    expect_at(v, 5, a[peer] == 0x1122334455667788u + p, a[peer]);
    expect_at(v, 6, b[peer] == 40u + p, b[peer]);
    expect_at(v, 7, c[1 + peer] == 7000u + p, c[1 + peer]);
  }
  coop.sync();
  if (coop.thread_rank() == 0) {
    gin.resetCounter(1);
    expect_at(v, 8, gin.readCounter(1) == 0, gin.readCounter(1));
    gin.resetSignal(2);
    expect_at(v, 9, gin.readSignal(2) == 0, gin.readSignal(2));
  }
  coop.sync();
}

// Signals that a message is there; the peers get it, flush that peer alone and say so.
template <typename Coop>
GIND_KERNEL_PART void gets(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
                           std::size_t words, Verdict* v) {
  const ncclGin gin{devComm, 0};
  const ncclTeam world = ncclTeamWorld(devComm);
  const int n = devComm.nRanks;
  const std::size_t bytes = words * 4;
  fill(coop, ncclGetLocalPointer(window, 0), words, devComm.rank, 0, 9);
  for (int peer = 0; peer < n; ++peer) gin.signal(world, peer, ncclGin_StrongSignalInc{3}, coop);
  gin.waitSignal(coop, 3, static_cast<unsigned>(n));
  for (int peer = 0; peer < n; ++peer) {
    const std::size_t to = bytes * static_cast<std::size_t>(1 + peer);
    gin.get(world, peer, window, 0, window, to, bytes, coop);
    ncclGinRequest_t request;
    gin.flushAsync(world, static_cast<std::uint32_t>(peer), &request, coop);
    gin.wait(request, coop);
    check_filled(coop, ncclGetLocalPointer(window, to), words, peer, 0, 9, v, 10);
  }
  coop.sync();
  for (int peer = 0; peer < n; ++peer) gin.signal(world, peer, ncclGin_StrongSignalInc{4}, coop);
  gin.waitSignal(coop, 4, static_cast<unsigned>(n));  // nobody reads from here any more
}

}  // namespace gind::test
