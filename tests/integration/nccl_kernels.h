// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels in NCCL's spelling, for GPUs (tests/gpu/nccl_compat_test.cu) and for CPU
// threads that play them (nccl_compat_test.cc; each coop is one thread then).
#pragma once

#include "gin/nccl_compat.cuh"

#include <cstdint>

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
GIN_HOST_DEVICE void values(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
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
GIN_HOST_DEVICE void gets(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
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

// As an expert dispatch does it: each context tells each peer by a word at an address how much it
// has put there.  First post of all contexts, then await of all, where one thread plays them.
template <typename Coop>
GIN_HOST_DEVICE void dispatch_post(Coop coop, ncclDevComm const& devComm, int context,
                                   ncclWindow_t data, ncclWindow_t words, unsigned round) {
  const ncclGin gin{devComm, context};
  const auto lane = static_cast<std::size_t>(devComm.rank) * devComm.ginContextCount +
                    static_cast<std::size_t>(context);
  for (int peer = 0; peer < devComm.nRanks; ++peer) {
    const std::size_t from = (std::size_t{1} << 19) + lane * 64;
    fill(coop, ncclGetLocalPointer(data, from), 16, devComm.rank, context, round);
    gin.put(ncclTeamWorld(devComm), peer, data, lane * 64, data, from, 64,
            ncclGin_StrongVASignalAdd{words, lane * 8, 16}, ncclGin_None{}, coop);
    gin.signal(ncclTeamWorld(devComm), peer, ncclGin_VASignalAdd{words, lane * 8, 100}, coop);
    gin.signal(ncclTeamWorld(devComm), peer, ncclGin_WeakVASignalInc{words, lane * 8}, coop);
  }
}
template <typename Coop>
GIN_HOST_DEVICE void dispatch_await(Coop coop, ncclDevComm const& devComm, int context,
                                    ncclWindow_t data, ncclWindow_t words, unsigned round,
                                    Verdict* v) {
  const ncclGin gin{devComm, context};
  for (int peer = 0; peer < devComm.nRanks; ++peer) {
    const auto lane = static_cast<std::size_t>(peer) * devComm.ginContextCount +
                      static_cast<std::size_t>(context);
    gin.waitSignal(coop, words, lane * 8, std::uint64_t{117} * round);
    expect_at(v, 11, gin.readSignal(words, lane * 8) == std::uint64_t{117} * round,
              gin.readSignal(words, lane * 8));
    check_filled(coop, ncclGetLocalPointer(data, lane * 64), 16, peer, context, round, v, 12);
  }
  gin.flush(coop);
  ncclGinBarrier(coop, gin, ncclTeamTagWorld(), 0);
}
// The word of this rank's own context, once nothing is under way to it.
GIN_HOST_DEVICE inline void dispatch_reset(ncclDevComm const& devComm, int context,
                                           ncclWindow_t words, Verdict* v) {
  const ncclGin gin{devComm, context};
  for (int peer = 0; peer < devComm.nRanks; ++peer) {
    const auto lane = static_cast<std::size_t>(peer) * devComm.ginContextCount +
                      static_cast<std::size_t>(context);
    gin.resetSignal(words, lane * 8);
    expect_at(v, 13, gin.readSignal(words, lane * 8) == 0, gin.readSignal(words, lane * 8));
  }
}

// A signal and its shadow; by themselves, so that nothing else arrives.
template <typename Coop>
GIN_HOST_DEVICE void shadows(Coop coop, ncclDevComm const& devComm, Verdict* v) {
  const ncclGin gin{devComm, 0};
  const ncclTeam world = ncclTeamWorld(devComm);
  gin.signal(world, devComm.rank, ncclGin_StrongSignalAdd{5, 3}, coop);
  if (coop.thread_rank() == 0) gin.increaseSignalShadow(5, 3);
  gin.waitSignalMeetShadow(coop, 5);
  gin.signal(world, devComm.rank, ncclGin_StrongSignalAdd{5, 4}, coop);
  std::uint32_t before = 0;
  std::uint32_t delta = 0;
  gin.waitSignalFollowShadow(coop, 5, std::uint32_t{4}, &before, &delta, 32);
  expect_at(v, 14, before == 3, before);
  expect_at(v, 15, delta == 4, delta);
  expect_at(v, 16, *gin.getSignalShadowPtr(5) == 7, *gin.getSignalShadowPtr(5));
  coop.sync();
  if (coop.thread_rank() == 0) gin.resetSignal(5);
  coop.sync();
  expect_at(v, 17, *gin.getSignalShadowPtr(5) == 0, *gin.getSignalShadowPtr(5));
}

// Puts without a signal on `contexts` contexts, then a barrier of the kind given, then a look.
template <typename Coop, typename Meet>
GIN_HOST_DEVICE void put_meet_look(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
                                   int contexts, unsigned round, Verdict* v, unsigned place,
                                   const Meet& meet) {
  constexpr std::size_t kWords = 64;
  const auto slot = [&](int context, int rank) {
    return static_cast<std::size_t>(1 + context * devComm.nRanks + rank) * kWords * 4;
  };
  fill(coop, ncclGetLocalPointer(window, 0), kWords, devComm.rank, 0, round);
  for (int c = 0; c < contexts; ++c) {
    const ncclGin gin{devComm, c};
    for (int peer = 0; peer < devComm.nRanks; ++peer) {
      gin.put(ncclTeamWorld(devComm), peer, window, slot(c, devComm.rank), window, 0, kWords * 4,
              ncclGin_None{}, ncclGin_None{}, coop);
    }
  }
  meet();
  for (int c = 0; c < contexts; ++c) {
    for (int peer = 0; peer < devComm.nRanks; ++peer) {
      check_filled(coop, ncclGetLocalPointer(window, slot(c, peer)), kWords, peer, 0, round, v,
                   place);
    }
  }
  coop.sync();
  for (int c = 0; c < contexts; ++c) ncclGin{devComm, c}.flush(coop);
  meet();
}

// Barriers of every kind; `extra` is of ncclGinBarrierCreateRequirement.
template <typename Coop>
GIN_HOST_DEVICE void barriers(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
                              ncclGinBarrierHandle extra, unsigned rounds, Verdict* v) {
  const ncclGin gin{devComm, 0};
  for (unsigned r = 1; r <= rounds; ++r) {
    put_meet_look(coop, devComm, window, 1, r, v, 20, [&] {
      ncclGinBarrierSession<Coop> b{coop, gin, ncclTeamTagWorld(), 1};
      b.sync(coop, cuda::memory_order_acq_rel, ncclGinFenceLevel::Put);
    });
    put_meet_look(coop, devComm, window, 1, r + 100, v, 21,
                  [&] { ncclGinBarrier(coop, gin, ncclTeamTagRail(), 0); });
    put_meet_look(coop, devComm, window, 1, r + 200, v, 22, [&] {
      ncclGinBarrierSession<Coop> b{coop, gin, ncclTeamWorld(devComm), extra, 1};
      b.sync(coop, cuda::memory_order_acq_rel);
    });
    put_meet_look(coop, devComm, window, 4, r + 300, v, 23, [&] {
      ncclGinBarrier(coop, ncclGinAllContexts(devComm), ncclTeamTagWorld(), 2,
                     cuda::memory_order_seq_cst, ncclGinFenceLevel::Put | ncclGinFenceLevel::Get);
    });
    put_meet_look(coop, devComm, window, 1, r + 400, v, 24,
                  [&] { ncclBarrier(coop, ncclTeamTagWorld(), gin, 0); });
    ncclGinBarrierSession<Coop> timed{coop, gin, ncclTeamTagWorld(), 3};
    const ncclResult_t met = timed.sync(coop, cuda::memory_order_acq_rel, ncclGinFenceLevel::None,
                                        std::uint64_t{60'000'000'000});
    expect_at(v, 25, met == ncclSuccess, met);
  }
  // Alone at a barrier.  Nobody else comes, and the time is over.
  ncclGinBarrierSession<Coop> alone{coop, gin, ncclTeamWorld(devComm), extra, 0};
  if (devComm.nRanks > 1 && devComm.rank == 0) {
    const ncclResult_t met =
        alone.sync(coop, cuda::memory_order_relaxed, ncclGinFenceLevel::None, 1000);
    expect_at(v, 26, met == ncclTimeout, met);
  }
}

}  // namespace gind::test
