// SPDX-License-Identifier: Apache-2.0
// The barriers of kernels that use load/store inside a node and GIN between nodes.  With an LSA
// team of one the first is the coop's own, and the second is the network's.
#pragma once

#include "gin/nccl_compat/barrier.h"

#include <cstdint>

template <typename Coop>
struct ncclLsaBarrierSession {
  // A team of more than the caller is refused: it could not meet.
  GIN_HOST_DEVICE ncclLsaBarrierSession(Coop, ncclDevComm const& comm, ncclTeam team,
                                        ncclLsaBarrierHandle, std::uint32_t index, bool = false,
                                        ncclMultimemHandle = {}) {
    gin::nccl::note(comm.fault, team.nRanks > 1 ? ginNotSupported : ginSuccess,
                    gin::nccl::Call::kLsaBarrier, 0, index, 0);
  }
  GIN_HOST_DEVICE ncclLsaBarrierSession(Coop, ncclDevComm const&, ncclTeamTagLsa, std::uint32_t,
                                        bool = false) {}
  ncclLsaBarrierSession(ncclLsaBarrierSession const&) = delete;

  GIN_HOST_DEVICE void arrive(Coop coop, cuda::memory_order) { coop.sync(); }
  GIN_HOST_DEVICE void wait(Coop coop, cuda::memory_order) { coop.sync(); }
  GIN_HOST_DEVICE void sync(Coop coop, cuda::memory_order) { coop.sync(); }
  GIN_HOST_DEVICE ncclResult_t wait(Coop coop, cuda::memory_order, std::uint64_t) {
    coop.sync();
    return ncclSuccess;
  }
  GIN_HOST_DEVICE ncclResult_t sync(Coop coop, cuda::memory_order, std::uint64_t) {
    coop.sync();
    return ncclSuccess;
  }
};

template <typename Coop>
struct ncclBarrierSession {
  GIN_HOST_DEVICE ncclBarrierSession(Coop coop, ncclTeam innerTeam, ncclTeam outerTeam, ncclGin net,
                                     ncclLsaBarrierHandle inner, ncclGinBarrierHandle outer,
                                     std::uint32_t index, bool multimem = false,
                                     ncclMultimemHandle handle = {})
      : lsa_(coop, net.comm, innerTeam, inner, index, multimem, handle),
        gin_(coop, net, outerTeam, outer, index) {}
  GIN_HOST_DEVICE ncclBarrierSession(Coop coop, ncclTeamTagWorld, ncclGin net, std::uint32_t index,
                                     bool multimem = false)
      : lsa_(coop, net.comm, ncclTeamTagLsa{}, index, multimem),
        gin_(coop, net, ncclTeamWorld(net.comm), net.comm.hybridWorldGinBarrier, index) {}
  GIN_HOST_DEVICE ncclBarrierSession(Coop coop, ncclTeamTagRail, ncclGin net, std::uint32_t index)
      : lsa_(coop, net.comm, ncclTeamTagLsa{}, index),
        gin_(coop, net, ncclTeamRail(net.comm), net.comm.hybridWorldGinBarrier, index) {}
  GIN_HOST_DEVICE ncclBarrierSession(Coop coop, ncclTeamTagLsa tag, ncclDevComm const& comm,
                                     std::uint32_t index, bool multimem = false)
      : lsa_(coop, comm, tag, index, multimem),
        gin_(coop, ncclGinAllContexts(comm), ncclTeamLsa(comm), comm.hybridWorldGinBarrier, index),
        lsa_only_(true) {}
  ncclBarrierSession(ncclBarrierSession const&) = delete;

  GIN_HOST_DEVICE ncclLsaBarrierSession<Coop>& lsaBarrier() { return lsa_; }
  GIN_HOST_DEVICE ncclGinBarrierSession<Coop>& ginBarrier() { return gin_; }

  GIN_HOST_DEVICE void sync(Coop coop, cuda::memory_order order,
                            ncclGinFenceLevel fence = ncclGinFenceLevel::Put |
                                                      ncclGinFenceLevel::Get) {
    if (lsa_only_) return lsa_.sync(coop, order);
    gin_.sync(coop, order, fence);
  }
  GIN_HOST_DEVICE ncclResult_t sync(Coop coop, cuda::memory_order order, ncclGinFenceLevel fence,
                                    std::uint64_t timeoutCycles) {
    if (lsa_only_) return lsa_.sync(coop, order, timeoutCycles);
    return gin_.sync(coop, order, fence, timeoutCycles);
  }

 private:
  ncclLsaBarrierSession<Coop> lsa_;
  ncclGinBarrierSession<Coop> gin_;
  bool lsa_only_ = false;
};

template <typename Coop>
GIN_HOST_DEVICE void ncclBarrier(Coop coop, ncclTeamTagWorld tag, ncclGin net, std::uint32_t index,
                                 cuda::memory_order order = cuda::memory_order_acq_rel,
                                 ncclGinFenceLevel fence = ncclGinFenceLevel::Put |
                                                           ncclGinFenceLevel::Get,
                                 bool multimem = false) {
  ncclBarrierSession<Coop>(coop, tag, net, index, multimem).sync(coop, order, fence);
}
template <typename Coop>
GIN_HOST_DEVICE void ncclBarrier(Coop coop, ncclTeamTagRail tag, ncclGin net, std::uint32_t index,
                                 cuda::memory_order order = cuda::memory_order_acq_rel,
                                 ncclGinFenceLevel fence = ncclGinFenceLevel::Put |
                                                           ncclGinFenceLevel::Get) {
  ncclBarrierSession<Coop>(coop, tag, net, index).sync(coop, order, fence);
}
