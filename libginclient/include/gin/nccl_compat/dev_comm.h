// SPDX-License-Identifier: Apache-2.0
// ncclDevCommCreate and its kin: requirements become gind's.
#pragma once

#include "gin/nccl_compat/host.h"
#include "gin/nccl_compat/pointer.h"
#include "gin/nccl_compat/requirements.h"
#include "gin/nccl_compat/team.h"

#include <algorithm>
#include <bit>
#include <new>
#include <string>

namespace gin::nccl {

// The name of a requirement that gind cannot meet, or null.
inline const char* unmet(const ncclDevCommRequirements_t& r) {
  if (r.lsaMultimem) return "lsaMultimem: there is no multimem";
  if (r.lsaLLA2ABlockCount != 0 || r.lsaLLA2ASlotCount != 0) {
    return "lsaLLA2ABlockCount and lsaLLA2ASlotCount: there is no load/store all-to-all";
  }
  for (const auto* t = r.teamRequirementsList; t != nullptr; t = t->next) {
    if (t->multimem) return "teamRequirementsList: there is no multimem";
  }
  for (const auto* e = r.resourceRequirementsList; e != nullptr; e = e->next) {
    if (e->bufferSize != 0) {
      return "resourceRequirementsList: bufferSize; register a window instead";
    }
    if (e->ginSignalCount < 0 || e->ginCounterCount < 0 || e->gindBarrierCount < 0) {
      return "resourceRequirementsList: a negative count";
    }
  }
  const int counts[] = {r.barrierCount,    r.lsaBarrierCount,     r.railGinBarrierCount,
                        r.ginContextCount, r.ginSignalCount,      r.ginCounterCount,
                        r.ginQueueDepth,   r.worldGinBarrierCount};
  if (std::any_of(std::begin(counts), std::end(counts), [](int n) { return n < 0; })) {
    return "a negative count";
  }
  return nullptr;
}

// A zeroed struct is how one began before NCCL 2.29; it knew strong signals only.
inline bool complete(ncclDevCommRequirements_t* r) {
  if (r->size == 0 && r->magic == 0) {
    r->ginStrongSignalsRequired = r->ginVaSignalsRequired = true;
    return true;
  }
  return r->size == sizeof *r && r->magic == NCCL_API_MAGIC;
}

// NCCL counts operations; a put with actions takes up to four of gind's units.
inline int units_of(int depth) {
  if (depth == 0) return 0;
  const unsigned units = std::bit_ceil(static_cast<unsigned>(std::min(depth, 1 << 18)) * 4u);
  return static_cast<int>(std::clamp(units, 64u, 1u << 20));
}

// Hands out consecutive ranges.
struct Ranges {
  int next = 0;
  ncclGinBarrierHandle take(int count) {
    const ncclGinBarrierHandle h{static_cast<std::uint32_t>(next),
                                 static_cast<std::uint32_t>(count)};
    next += count;
    return h;
  }
};

inline ginResult_t make_dev_comm(ncclComm_t comm, const ncclDevCommRequirements_t& r,
                                 ncclDevComm* out) {
  Ranges barriers;
  out->worldGinBarrier = barriers.take(r.worldGinBarrierCount);
  out->railGinBarrier = barriers.take(r.railGinBarrierCount);
  out->hybridWorldGinBarrier = barriers.take(r.barrierCount);
  out->lsaBarrier = {static_cast<std::uint32_t>(r.lsaBarrierCount)};
  int signals = r.ginSignalCount;
  int counters = r.ginCounterCount;
  for (const auto* e = r.resourceRequirementsList; e != nullptr; e = e->next) {
    if (e->outGinSignalStart != nullptr) *e->outGinSignalStart = static_cast<unsigned>(signals);
    if (e->outGinCounterStart != nullptr) *e->outGinCounterStart = static_cast<unsigned>(counters);
    const auto handle = barriers.take(e->gindBarrierCount);
    if (e->outGindBarriers != nullptr) *e->outGindBarriers = handle;
    signals += e->ginSignalCount;
    counters += e->ginCounterCount;
  }
  ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  need.contexts = std::min(r.ginContextCount, 256);
  need.signals = signals;
  need.counters = counters;
  need.barriers = barriers.next;
  need.queueDepth = units_of(r.ginQueueDepth);
  need.sharing = r.gindSharing;
  need.timeoutNs = r.gindTimeoutNs == 0 ? -1 : r.gindTimeoutNs;
  need.poster = r.gindPoster;
  return ginDevCommCreate(comm->gin, &need, &out->gin);
}

}  // namespace gin::nccl

// Collective.
inline ncclResult_t ncclDevCommCreate(ncclComm_t comm, ncclDevCommRequirements_t const* reqs,
                                      ncclDevComm_t* outDevComm) {
  using namespace gin::nccl;
  if (const auto bad = check_comm(comm); bad != ncclSuccess) return bad;
  if (reqs == nullptr || outDevComm == nullptr) {
    return fail(ncclInvalidArgument, "reqs or outDevComm is a null pointer");
  }
  *outDevComm = ncclDevComm{};
  ncclDevCommRequirements_t r = *reqs;
  if (!complete(&r)) {
    return fail(ncclInvalidArgument, "reqs must be set to NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER");
  }
  if (const char* what = unmet(r)) {
    return fail(ncclInvalidUsage, std::string("a requirement that gind does not meet: ") + what);
  }
  void* page = nullptr;
  if (const ginResult_t got = ginMemAlloc(comm->gin, &page, sizeof(Fault), ginMemHost);
      got != ginSuccess) {
    return pass(got);
  }
  ncclDevComm made{};
  if (const ginResult_t created = make_dev_comm(comm, r, &made); created != ginSuccess) {
    const std::string text = ginGetLastError();  // ginMemFree has one of its own
    ginMemFree(comm->gin, page);
    return fail(result_of(created), text);
  }
  made.rank = made.gin.rank;
  made.nRanks = made.gin.nRanks;
  made.lsaRank = 0;
  made.lsaSize = 1;
  made.ginContextCount = made.gin.contexts;
  made.ginSignalCount = static_cast<int>(made.gin.signals);
  made.ginCounterCount = static_cast<int>(made.gin.counters);
  made.ginStrongLegacySignals = r.ginStrongSignalsRequired;
  made.fault = new (page) Fault{};
  *outDevComm = made;
  const std::lock_guard lock(comm->mutex);
  comm->devComms.push_back({made.gin, made.fault});
  return pass(ginSuccess);
}

// Collective.  No kernel may be using it.
inline ncclResult_t ncclDevCommDestroy(ncclComm_t comm, ncclDevComm_t const* devComm) {
  using namespace gin::nccl;
  if (const auto bad = check_comm(comm); bad != ncclSuccess) return bad;
  if (devComm == nullptr) return fail(ncclInvalidArgument, "devComm is a null pointer");
  {
    const std::lock_guard lock(comm->mutex);
    const auto gone = std::erase_if(
        comm->devComms, [&](const MadeDevComm& made) { return made.fault == devComm->fault; });
    if (gone == 0) return fail(ncclInvalidArgument, "devComm is not one of comm's");
  }
  ginDevComm_t gin = devComm->gin;
  const ginResult_t destroyed = ginDevCommDestroy(comm->gin, &gin);
  if (destroyed != ginSuccess) return pass(destroyed);  // the page goes with the communicator
  return pass(ginMemFree(comm->gin, devComm->fault));
}

// For resourceRequirementsList; *outHandle is set by ncclDevCommCreate.
inline ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam_t, int nBarriers,
                                                    ncclGinBarrierHandle_t* outHandle,
                                                    ncclDevResourceRequirements_t* outReq) {
  *outReq = ncclDevResourceRequirements_t{};
  outReq->gindBarrierCount = nBarriers;
  outReq->outGindBarriers = outHandle;
  return ncclSuccess;
}
inline ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t, int nBarriers,
                                                    ncclLsaBarrierHandle_t* outHandle,
                                                    ncclDevResourceRequirements_t* outReq) {
  *outReq = ncclDevResourceRequirements_t{};
  *outHandle = {static_cast<std::uint32_t>(nBarriers)};
  return ncclSuccess;
}

inline ncclTeam_t ncclTeamWorld(ncclComm_t comm) { return {comm->nRanks, comm->rank, 1}; }
inline ncclTeam_t ncclTeamLsa(ncclComm_t) { return {1, 0, 1}; }
inline ncclTeam_t ncclTeamRail(ncclComm_t comm) { return ncclTeamWorld(comm); }
inline int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank) {
  return comm->rank + gin::nccl::away(team, rank);
}
inline int ncclTeamRankToLsa(ncclComm_t, ncclTeam_t team, int rank) {
  return gin::nccl::away(team, rank);
}

// Null for ranks other than the caller, and for multimem, as NCCL has it where there is none.
inline ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, std::size_t offset, int lsaRank,
                                            void** outPtr) {
  *outPtr = ncclGetLsaPointer(window, offset, lsaRank);
  return ncclSuccess;
}
inline ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, std::size_t offset, int peer,
                                             void** outPtr) {
  *outPtr = ncclGetPeerPointer(window, offset, peer);
  return ncclSuccess;
}
inline ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t, std::size_t, void** outPtr) {
  *outPtr = nullptr;
  return ncclSuccess;
}
