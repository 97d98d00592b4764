// SPDX-License-Identifier: Apache-2.0
// Host calls in NCCL's spelling, as the ranks of the tests make them.
#pragma once

#include "gin/nccl_compat.cuh"
#include "nccl_kernels.h"
#include "ranks.h"

#include <cstring>
#include <string>

namespace gind::test {

inline void nccl_check(ncclResult_t result, const std::string& what) {
  if (result == ncclSuccess) return;
  throw RankFailure(what + ": " + ncclGetErrorString(result) + ": " + ncclGetLastError(nullptr));
}

inline ncclComm_t nccl_init(Rank& rank) {
  const ginUniqueId made = rank.unique_id();
  ncclUniqueId id;
  std::memcpy(id.internal, made.internal, sizeof id.internal);
  ncclComm_t comm = nullptr;
  nccl_check(ncclCommInitRank(&comm, rank.nranks(), id, rank.rank()), "ncclCommInitRank");
  return comm;
}

struct NcclWorld {
  ncclComm_t comm = nullptr;
  void* memory[2] = {};
  ncclWindow_t window[2] = {nullptr, nullptr};  // the second one takes VA signals
  ncclGinBarrierHandle_t extra{};
  ncclDevComm dev{};

  // With as many contexts, and signals, counters and barriers for all kernels of nccl_kernels.h.
  NcclWorld(Rank& rank, std::size_t bytes, int contexts = 4, std::int64_t timeout_ns = kWaitNs) {
    comm = nccl_init(rank);
    for (int w = 0; w < 2; ++w) {
      nccl_check(ncclMemAlloc(&memory[w], bytes), "ncclMemAlloc");
      nccl_check(
          ncclCommWindowRegister(comm, memory[w], bytes, &window[w],
                                 w == 0 ? NCCL_WIN_COLL_SYMMETRIC
                                        : NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING),
          "ncclCommWindowRegister");
    }
    ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevResourceRequirements_t list;
    nccl_check(ncclGinBarrierCreateRequirement(comm, ncclTeamWorld(comm), 2, &extra, &list),
               "requirement");
    reqs.resourceRequirementsList = &list;
    reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
    reqs.ginContextCount = contexts;
    reqs.ginSignalCount = 16;
    reqs.ginCounterCount = 4;
    reqs.worldGinBarrierCount = 8;
    reqs.railGinBarrierCount = 1;
    reqs.barrierCount = 1;
    reqs.gindTimeoutNs = timeout_ns;
    nccl_check(ncclDevCommCreate(comm, &reqs, &dev), "ncclDevCommCreate");
  }
  void no_async_error() const {
    ncclResult_t error = ncclSuccess;
    nccl_check(ncclCommGetAsyncError(comm, &error), "ncclCommGetAsyncError");
    nccl_check(error, "asynchronous error");
  }
  void end() {
    nccl_check(ncclDevCommDestroy(comm, &dev), "ncclDevCommDestroy");
    for (int w = 0; w < 2; ++w) {
      nccl_check(ncclCommWindowDeregister(comm, window[w]), "ncclCommWindowDeregister");
      nccl_check(ncclMemFree(memory[w]), "ncclMemFree");
    }
    nccl_check(ncclCommFinalize(comm), "ncclCommFinalize");
    nccl_check(ncclCommDestroy(comm), "ncclCommDestroy");
  }
};

inline void expect_verdict(const Verdict& v, const NcclWorld& w, const std::string& what) {
  w.no_async_error();
  expect(v.place == 0,
         what + ": place " + std::to_string(v.place) + ", saw " + std::to_string(v.seen));
}

}  // namespace gind::test
