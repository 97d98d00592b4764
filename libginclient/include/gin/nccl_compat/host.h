// SPDX-License-Identifier: Apache-2.0
// NCCL's host calls over gin/gin.h: communicators, memory, windows.
#pragma once

#include "gin/gin.h"
#include "gin/nccl_compat/process.h"
#include "gin/nccl_compat/requirements.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

static_assert(sizeof(ncclUniqueId) == sizeof(ginUniqueId));

inline const char* ncclGetErrorString(ncclResult_t result) {
  return ginGetErrorString(static_cast<ginResult_t>(result));
}
// This thread's last failure in detail; comm may be null.
inline const char* ncclGetLastError(ncclComm_t) {
  return gin::nccl::own_failure.empty() ? ginGetLastError() : gin::nccl::own_failure.c_str();
}
inline ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return gin::nccl::fail(ncclInvalidArgument, "version is a null pointer");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

inline ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return gin::nccl::fail(ncclInvalidArgument, "id is a null pointer");
  ginUniqueId made;
  const ginResult_t result = ginGetUniqueId(&made);
  if (result == ginSuccess) std::memcpy(id->internal, made.internal, sizeof made.internal);
  return gin::nccl::pass(result);
}

inline ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  if (comm == nullptr) return gin::nccl::fail(ncclInvalidArgument, "comm is a null pointer");
  *comm = nullptr;
  auto made = std::make_unique<ncclComm>();
  ginUniqueId gin_id;
  std::memcpy(gin_id.internal, id.internal, sizeof gin_id.internal);
  const ginResult_t result = ginCommInitRank(&made->gin, nranks, gin_id, rank);
  if (result != ginSuccess) return gin::nccl::pass(result);
  made->rank = rank;
  made->nRanks = nranks;
  made->device = gin::nccl::current_cuda_device();
  auto& p = gin::nccl::process();
  const std::lock_guard lock(p.mutex);
  *comm = gin::nccl::newest_here = made.get();
  p.comms.push_back(made.release());
  return gin::nccl::pass(ginSuccess);
}

inline ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  return gin::nccl::pass(ginCommFinalize(comm->gin));
}

// Memory of ncclMemAlloc that was not freed is freed with its communicator.
inline ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  auto& p = gin::nccl::process();
  {
    const std::lock_guard lock(p.mutex);
    std::erase(p.comms, comm);
    for (auto& [ptr, owner] : p.memory) {
      if (owner == comm) owner = nullptr;
    }
  }
  const ginResult_t result = ginCommDestroy(comm->gin);
  delete comm;
  return gin::nccl::pass(result);
}

// Ends all waits, on the device too, waits for the kernels of the current CUDA context and destroys
// the communicator.  No other call on it may be running.
inline ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  const ginResult_t aborted = ginCommAbort(comm->gin);
  gin::nccl::wait_for_kernels();
  const ncclResult_t destroyed = ncclCommDestroy(comm);
  return aborted != ginSuccess ? gin::nccl::pass(aborted) : destroyed;
}

// Device calls have no result: what they failed with is found here, too.
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  if (asyncError == nullptr) {
    return gin::nccl::fail(ncclInvalidArgument, "asyncError is a null pointer");
  }
  ginResult_t error = ginSuccess;
  const ginResult_t asked = ginCommGetAsyncError(comm->gin, &error);
  *asyncError = gin::nccl::result_of(error);
  if (asked != ginSuccess || error != ginSuccess) return gin::nccl::pass(asked);
  const std::lock_guard lock(comm->mutex);
  for (const auto& made : comm->devComms) {
    std::string text = gin::nccl::fault_text(*made.fault, asyncError);
    if (*asyncError == ncclSuccess) continue;
    gin::nccl::fail(*asyncError, std::move(text));
    return ncclSuccess;
  }
  return gin::nccl::pass(ginSuccess);
}

inline ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  return gin::nccl::pass(ginCommCount(comm->gin, count));
}
inline ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  return gin::nccl::pass(ginCommUserRank(comm->gin, rank));
}
// -1: there was no CUDA context when the communicator was made.
inline ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  if (device == nullptr) return gin::nccl::fail(ncclInvalidArgument, "device is a null pointer");
  *device = comm->device;
  return gin::nccl::pass(ginSuccess);
}

inline ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* props) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  if (props == nullptr || props->size != sizeof *props || props->magic != NCCL_API_MAGIC) {
    return gin::nccl::fail(ncclInvalidArgument,
                           "props must be set to NCCL_COMM_PROPERTIES_INITIALIZER");
  }
  props->rank = comm->rank;
  props->nRanks = comm->nRanks;
  props->cudaDev = comm->device;
  props->nvmlDev = -1;
  props->deviceApiSupport = true;
  props->multimemSupport = false;
  props->ginType = props->railedGinType = NCCL_GIN_TYPE_PROXY;
  props->nLsaTeams = comm->nRanks;
  props->hostRmaSupport = false;
  return gin::nccl::pass(ginSuccess);
}

// The memory of windows belongs to a communicator: with NCCL's own signature to the last one that
// the calling thread has made, or to the only one of the process.  Host memory that the GPU reaches
// at the same address.
inline ncclResult_t ncclMemAlloc(void** ptr, std::size_t size, ncclComm_t comm) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  const ginResult_t result = ginMemAlloc(comm->gin, ptr, size, ginMemHost);
  if (result != ginSuccess) return gin::nccl::pass(result);
  auto& p = gin::nccl::process();
  const std::lock_guard lock(p.mutex);
  p.memory[*ptr] = comm;
  return gin::nccl::pass(ginSuccess);
}
inline ncclResult_t ncclMemAlloc(void** ptr, std::size_t size) {
  ncclComm* comm = nullptr;
  {
    auto& p = gin::nccl::process();
    const std::lock_guard lock(p.mutex);
    comm = gin::nccl::owner_of_new_memory(p);
  }
  if (comm != nullptr) return ncclMemAlloc(ptr, size, comm);
  return gin::nccl::fail(
      ncclInvalidUsage,
      "ncclMemAlloc cannot tell which communicator the memory is for: this thread has made none "
      "that is alive, and the process has none or several; call it after ncclCommInitRank, or as "
      "ncclMemAlloc(ptr, size, comm)");
}
inline ncclResult_t ncclMemFree(void* ptr) {
  ncclComm* comm = nullptr;
  {
    auto& p = gin::nccl::process();
    const std::lock_guard lock(p.mutex);
    const auto found = p.memory.find(ptr);
    if (found == p.memory.end()) {
      return gin::nccl::fail(ncclInvalidArgument, "ptr is not from ncclMemAlloc");
    }
    comm = found->second;
    if (comm == nullptr) p.memory.erase(found);
  }
  if (comm == nullptr) return gin::nccl::pass(ginSuccess);  // went with its communicator
  const ginResult_t result = ginMemFree(comm->gin, ptr);
  if (result != ginSuccess) return gin::nccl::pass(result);
  auto& p = gin::nccl::process();
  const std::lock_guard lock(p.mutex);
  p.memory.erase(ptr);
  return gin::nccl::pass(ginSuccess);
}

inline ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, std::size_t size,
                                           ncclWindow_t* win, int winFlags) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  if (win == nullptr) return gin::nccl::fail(ncclInvalidArgument, "win is a null pointer");
  *win = nullptr;
  if ((winFlags & ~(NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING)) != 0) {
    return gin::nccl::fail(ncclInvalidArgument,
                           "winFlags is " + std::to_string(winFlags) +
                               ", expected NCCL_WIN_COLL_SYMMETRIC and NCCL_WIN_STRICT_ORDERING");
  }
  const bool strict = (winFlags & NCCL_WIN_STRICT_ORDERING) != 0;
  ginWindow_t made{};
  const ginResult_t result = ginCommWindowRegister(
      comm->gin, buff, size, &made, strict ? GIN_WIN_STRICT_ORDERING : GIN_WIN_DEFAULT);
  if (result == ginSuccess) *win = ncclWindow_t(made, comm->rank);
  return gin::nccl::pass(result);
}
inline ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  return gin::nccl::pass(ginCommWindowDeregister(comm->gin, win.gin));
}
inline ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr) {
  if (const auto bad = gin::nccl::check_comm(comm); bad != ncclSuccess) return bad;
  if (outUserPtr == nullptr) {
    return gin::nccl::fail(ncclInvalidArgument, "outUserPtr is a null pointer");
  }
  *outUserPtr = win.gin.base;
  return gin::nccl::pass(ginSuccess);
}
