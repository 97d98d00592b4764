// SPDX-License-Identifier: Apache-2.0
// NCCL's barriers over ginBarrierSession.  A handle is a range of each context's barriers.
#pragma once

#include "gin/device/barrier.h"
#include "gin/nccl_compat/gin.h"

#include <cstdint>

enum ncclGinFenceLevel : std::uint32_t {
  None = 0,
  Put = 1u << 0,
  Get = 1u << 1,
  Relaxed = None,
};
GIN_HOST_DEVICE constexpr ncclGinFenceLevel operator|(ncclGinFenceLevel a, ncclGinFenceLevel b) {
  return static_cast<ncclGinFenceLevel>(static_cast<std::uint32_t>(a) |
                                        static_cast<std::uint32_t>(b));
}
GIN_HOST_DEVICE constexpr ncclGinFenceLevel operator&(ncclGinFenceLevel a, ncclGinFenceLevel b) {
  return static_cast<ncclGinFenceLevel>(static_cast<std::uint32_t>(a) &
                                        static_cast<std::uint32_t>(b));
}
static_assert(ncclGinFenceLevel::Put == std::uint32_t{ginBarrierFencePut} &&
              ncclGinFenceLevel::Get == std::uint32_t{ginBarrierFenceGet});

struct ncclGinAllContexts {
  ncclDevComm const& comm;
  GIN_HOST_DEVICE constexpr ncclGinAllContexts(ncclDevComm const& c) : comm(c) {}
};

template <typename Coop>
struct ncclGinBarrierSession {
  GIN_HOST_DEVICE ncclGinBarrierSession(Coop, ncclGin net, ncclTeam team,
                                        ncclGinBarrierHandle handle, std::uint32_t index)
      : ncclGinBarrierSession(net.comm, static_cast<int>(net.contextId), team, handle, index) {}
  GIN_HOST_DEVICE ncclGinBarrierSession(Coop, ncclGin net, ncclTeamTagRail, std::uint32_t index)
      : ncclGinBarrierSession(net.comm, static_cast<int>(net.contextId), ncclTeamRail(net.comm),
                              net.comm.railGinBarrier, index) {}
  GIN_HOST_DEVICE ncclGinBarrierSession(Coop, ncclGin net, ncclTeamTagWorld, std::uint32_t index)
      : ncclGinBarrierSession(net.comm, static_cast<int>(net.contextId), ncclTeamWorld(net.comm),
                              net.comm.worldGinBarrier, index) {}
  GIN_HOST_DEVICE ncclGinBarrierSession(Coop, ncclGinAllContexts all, ncclTeam team,
                                        ncclGinBarrierHandle handle, std::uint32_t index)
      : ncclGinBarrierSession(all.comm, kAll, team, handle, index) {}
  GIN_HOST_DEVICE ncclGinBarrierSession(Coop, ncclGinAllContexts all, ncclTeamTagRail,
                                        std::uint32_t index)
      : ncclGinBarrierSession(all.comm, kAll, ncclTeamRail(all.comm), all.comm.railGinBarrier,
                              index) {}
  GIN_HOST_DEVICE ncclGinBarrierSession(Coop, ncclGinAllContexts all, ncclTeamTagWorld,
                                        std::uint32_t index)
      : ncclGinBarrierSession(all.comm, kAll, ncclTeamWorld(all.comm), all.comm.worldGinBarrier,
                              index) {}
  ncclGinBarrierSession(ncclGinBarrierSession const&) = delete;

  GIN_HOST_DEVICE void sync(Coop coop, cuda::memory_order order,
                            ncclGinFenceLevel fence = ncclGinFenceLevel::Put |
                                                      ncclGinFenceLevel::Get) {
    const ginResult_t met = meet(coop, order, fence, -1);
    gin::nccl::note(comm_.fault, met, gin::nccl::Call::kBarrier, first(), index_, 0);
  }
  // A cycle counts as a nanosecond.  A barrier that has timed out cannot be used again.
  GIN_HOST_DEVICE ncclResult_t sync(Coop coop, cuda::memory_order order, ncclGinFenceLevel fence,
                                    std::uint64_t timeoutCycles) {
    // 0 is "for ever" to gind.
    const std::int64_t ns = timeoutCycles == 0         ? 1
                            : timeoutCycles > kLongest ? static_cast<std::int64_t>(kLongest)
                                                       : static_cast<std::int64_t>(timeoutCycles);
    return gin::nccl::result_of(meet(coop, order, fence, ns));
  }

 private:
  static constexpr int kAll = -1;
  static constexpr std::uint64_t kLongest = INT64_MAX;

  GIN_HOST_DEVICE ncclGinBarrierSession(ncclDevComm const& comm, int context, const ncclTeam& team,
                                        const ncclGinBarrierHandle& handle, std::uint32_t index)
      : comm_(comm), context_(context), team_(gin::nccl::team_of(comm, team)), index_(index) {
    // Past its handle a barrier would be another's: gind refuses this one by the index.
    const std::uint32_t none = index < comm.gin.barriers ? comm.gin.barriers + index : index;
    barrier_ = index < handle.count ? handle.first + index : none;
  }
  GIN_HOST_DEVICE std::uint32_t first() const {
    return context_ == kAll ? 0 : static_cast<std::uint32_t>(context_);
  }
  GIN_HOST_DEVICE ginResult_t meet(Coop coop, cuda::memory_order order, ncclGinFenceLevel fence,
                                   std::int64_t timeout_ns) const {
    const ginWaitOptions options{timeout_ns,
                                 comm_.fault != nullptr ? &comm_.fault->failed : nullptr, nullptr};
    const ginOrder_t as = gin::nccl::order_of(order);
    if (context_ == kAll) {
      const ginBarrierSession<Coop> all{coop, ginAllContexts{comm_.gin}, team_, barrier_};
      return all.sync(coop, as, fence, options);
    }
    const ginContext context{comm_.gin, context_};
    const ginBarrierSession<Coop> one{coop, context, team_, barrier_};
    return one.sync(coop, as, fence, options);
  }

  ncclDevComm const& comm_;
  int context_;
  ginTeam_t team_;
  std::uint32_t index_;
  std::uint32_t barrier_;
};

template <typename Coop, typename Net>
GIN_HOST_DEVICE void ncclGinBarrier(Coop coop, Net net, ncclTeam team, ncclGinBarrierHandle handle,
                                    std::uint32_t index,
                                    cuda::memory_order order = cuda::memory_order_acq_rel,
                                    ncclGinFenceLevel fence = ncclGinFenceLevel::Put |
                                                              ncclGinFenceLevel::Get) {
  ncclGinBarrierSession<Coop>(coop, net, team, handle, index).sync(coop, order, fence);
}
template <typename Coop, typename Net>
GIN_HOST_DEVICE void ncclGinBarrier(Coop coop, Net net, ncclTeamTagRail tag, std::uint32_t index,
                                    cuda::memory_order order = cuda::memory_order_acq_rel,
                                    ncclGinFenceLevel fence = ncclGinFenceLevel::Put |
                                                              ncclGinFenceLevel::Get) {
  ncclGinBarrierSession<Coop>(coop, net, tag, index).sync(coop, order, fence);
}
template <typename Coop, typename Net>
GIN_HOST_DEVICE void ncclGinBarrier(Coop coop, Net net, ncclTeamTagWorld tag, std::uint32_t index,
                                    cuda::memory_order order = cuda::memory_order_acq_rel,
                                    ncclGinFenceLevel fence = ncclGinFenceLevel::Put |
                                                              ncclGinFenceLevel::Get) {
  ncclGinBarrierSession<Coop>(coop, net, tag, index).sync(coop, order, fence);
}
