// SPDX-License-Identifier: Apache-2.0
// More bodies of kernels in NCCL's spelling: many contexts, shadows, barriers.
#pragma once

#include "nccl_kernels.h"

namespace gind::test {

// As an expert dispatch does it: each context tells each peer by a word at an address how much it
// has put there.  First post of all contexts, then await of all, where one thread plays them.
template <typename Coop>
GIND_KERNEL_PART void dispatch_post(Coop coop, ncclDevComm const& devComm, int context,
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
GIND_KERNEL_PART void dispatch_await(Coop coop, ncclDevComm const& devComm, int context,
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
GIND_KERNEL_PART void shadows(Coop coop, ncclDevComm const& devComm, Verdict* v) {
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

// A meeting of each kind; `extra` is of ncclGinBarrierCreateRequirement.
enum class Meeting { kWorld, kRail, kHandle, kAllContexts, kHybrid, kTimed };
template <typename Coop>
GIND_KERNEL_PART void meet(Coop coop, ncclDevComm const& devComm, ncclGinBarrierHandle extra,
                           Meeting kind, Verdict* v) {
  const ncclGin gin{devComm, 0};
  if (kind == Meeting::kWorld) {
    ncclGinBarrierSession<Coop> b{coop, gin, ncclTeamTagWorld(), 1};
    b.sync(coop, cuda::memory_order_acq_rel, ncclGinFenceLevel::Put);
  } else if (kind == Meeting::kRail) {
    ncclGinBarrier(coop, gin, ncclTeamTagRail(), 0);
  } else if (kind == Meeting::kHandle) {
    ncclGinBarrierSession<Coop> b{coop, gin, ncclTeamWorld(devComm), extra, 1};
    b.sync(coop, cuda::memory_order_acq_rel);
  } else if (kind == Meeting::kAllContexts) {
    ncclGinBarrier(coop, ncclGinAllContexts(devComm), ncclTeamTagWorld(), 2,
                   cuda::memory_order_seq_cst, ncclGinFenceLevel::Put | ncclGinFenceLevel::Get);
  } else if (kind == Meeting::kHybrid) {
    ncclBarrier(coop, ncclTeamTagWorld(), gin, 0);
  } else {
    ncclGinBarrierSession<Coop> b{coop, gin, ncclTeamTagWorld(), 3};
    const ncclResult_t met = b.sync(coop, cuda::memory_order_acq_rel, ncclGinFenceLevel::Put,
                                    std::uint64_t{60'000'000'000});
    expect_at(v, 25, met == ncclSuccess, met);
  }
}

// Puts without a signal, a meeting, a look, and a meeting before the next puts.
template <typename Coop>
GIND_KERNEL_PART void put_meet_look(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
                                    ncclGinBarrierHandle extra, Meeting kind, unsigned round,
                                    Verdict* v) {
  constexpr std::size_t kWords = 2048;
  const int contexts = kind == Meeting::kAllContexts ? 4 : 1;
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
  meet(coop, devComm, extra, kind, v);
  for (int c = 0; c < contexts; ++c) {
    for (int peer = 0; peer < devComm.nRanks; ++peer) {
      check_filled(coop, ncclGetLocalPointer(window, slot(c, peer)), kWords, peer, 0, round, v,
                   30 + static_cast<unsigned>(kind));
    }
  }
  coop.sync();
  for (int c = 0; c < contexts; ++c) ncclGin{devComm, c}.flush(coop);
  meet(coop, devComm, extra, kind, v);
}

template <typename Coop>
GIN_HOST_DEVICE void barriers(Coop coop, ncclDevComm const& devComm, ncclWindow_t window,
                              ncclGinBarrierHandle extra, unsigned rounds, Verdict* v) {
  for (unsigned r = 1; r <= rounds; ++r) {
    for (const Meeting kind : {Meeting::kWorld, Meeting::kRail, Meeting::kHandle,
                               Meeting::kAllContexts, Meeting::kHybrid, Meeting::kTimed}) {
      put_meet_look(coop, devComm, window, extra, kind, r * 8 + static_cast<unsigned>(kind), v);
    }
  }
  // Alone at a barrier.  Nobody else comes, and the time is over.
  const ncclGin gin{devComm, 0};
  ncclGinBarrierSession<Coop> alone{coop, gin, ncclTeamWorld(devComm), extra, 0};
  if (devComm.nRanks > 1 && devComm.rank == 0) {
    const ncclResult_t met =
        alone.sync(coop, cuda::memory_order_relaxed, ncclGinFenceLevel::None, 1000);
    expect_at(v, 26, met == ncclTimeout, met);
  }
}

}  // namespace gind::test
