// SPDX-License-Identifier: Apache-2.0
// What the host calls know of this process: its communicators and their memory.
#pragma once

#include "gin/gin.h"
#include "gin/nccl_compat/fault.h"
#include "gin/nccl_compat/types.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace gin::nccl {

struct MadeDevComm {
  ginDevComm_t gin;
  Fault* fault;
};

struct Process {
  std::mutex mutex;
  std::vector<ncclComm*> comms;       // alive, in the order they were made
  std::map<void*, ncclComm*> memory;  // of ncclMemAlloc; null: freed with its communicator
};

}  // namespace gin::nccl

struct ncclComm {
  ginComm_t gin = nullptr;
  int rank = 0;
  int nRanks = 0;
  int device = -1;
  std::mutex mutex;
  std::vector<gin::nccl::MadeDevComm> devComms;
};

namespace gin::nccl {

// Never destroyed: calls may come from other objects' destructors.
inline Process& process() {
  static Process* const only = new Process;
  return *only;
}

// This thread's last failure where it is not libginclient's.
inline thread_local std::string own_failure;
// The communicator that this thread made last; may be gone.
inline thread_local ncclComm* newest_here = nullptr;

inline ncclResult_t fail(ncclResult_t code, std::string text) {
  own_failure = std::move(text);
  return code;
}
inline ncclResult_t pass(ginResult_t result) {
  own_failure.clear();
  return result_of(result);
}

inline ncclResult_t check_comm(const ncclComm* comm) {
  if (comm != nullptr) return ncclSuccess;
  return fail(ncclInvalidArgument, "comm is a null pointer; make one with ncclCommInitRank");
}

// A function of the CUDA driver where the process has loaded it, else null: ports that run without
// a GPU need neither it nor the runtime.
template <typename F>
F* cuda_driver(const char* name) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<F*>(::dlsym(library, name));
}
inline int current_cuda_device() {
  auto* const get = cuda_driver<int(int*)>("cuCtxGetDevice");
  int device = -1;
  return get != nullptr && get(&device) == 0 ? device : -1;
}
inline void wait_for_kernels() {
  auto* const synchronize = cuda_driver<int()>("cuCtxSynchronize");
  if (synchronize != nullptr) synchronize();
}

// Whose window memory ncclMemAlloc gives, which has no communicator argument: the last one that
// this thread has made, or the only one of the process.  Called with the process's mutex.
inline ncclComm* owner_of_new_memory(const Process& p) {
  const auto& all = p.comms;
  if (std::find(all.begin(), all.end(), newest_here) != all.end()) return newest_here;
  return all.size() == 1 ? all.front() : nullptr;
}

inline std::string fault_text(const Fault& fault, ncclResult_t* code) {
  *code = ncclSuccess;
  // Pairs with the release of note.
  if (queues::load_acquire_sys(&fault.failed) == 0) return "";
  const std::uint64_t what = queues::load_relaxed_sys(&fault.what);
  const auto result = static_cast<ginResult_t>(what >> 32);
  *code = result_of(result);
  return std::string("a device function has failed: ") +
         call_name(static_cast<Call>(what & 0xffffffff)) + " " +
         std::to_string(queues::load_relaxed_sys(&fault.index)) + " on context " +
         std::to_string(queues::load_relaxed_sys(&fault.context)) + " (wanted, or at offset, " +
         std::to_string(queues::load_relaxed_sys(&fault.wanted)) +
         "): " + ginGetErrorString(result) +
         "; what the kernel has done since is not to be trusted, and every later wait of the "
         "device communicator ends at once";
}

}  // namespace gin::nccl
