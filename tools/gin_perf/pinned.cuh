// SPDX-License-Identifier: Apache-2.0
// CUDA errors as Results, and memory with an owner.
#pragma once

#include "gind/common/result.h"

#include <cuda_runtime.h>

#include <cstring>
#include <memory>

namespace gind::perf {

inline Result<void> checked(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return {};
  return Error{ginUnhandledCudaError, std::string(what) + ": " + cudaGetErrorString(e)};
}

struct PinnedFree {
  void operator()(void* p) const { cudaFreeHost(p); }
};
struct DeviceFree {
  void operator()(void* p) const { cudaFree(p); }
};
template <typename T>
using Pinned = std::unique_ptr<T, PinnedFree>;
template <typename T>
using OnDevice = std::unique_ptr<T, DeviceFree>;

// Zeroed host memory that kernels reach.
template <typename T>
Result<Pinned<T>> pinned(std::size_t count) {
  void* p = nullptr;
  const cudaError_t e = cudaHostAlloc(&p, count * sizeof(T), cudaHostAllocPortable);
  if (e != cudaSuccess) return checked(e, "pinned memory").error();
  std::memset(p, 0, count * sizeof(T));
  return Result<Pinned<T>>(Pinned<T>(static_cast<T*>(p)));
}

// Zeroed memory of the GPU.
template <typename T>
Result<OnDevice<T>> on_device(std::size_t count) {
  void* p = nullptr;
  cudaError_t e = cudaMalloc(&p, count * sizeof(T));
  if (e != cudaSuccess) return checked(e, "GPU memory").error();
  OnDevice<T> owned(static_cast<T*>(p));
  e = cudaMemset(p, 0, count * sizeof(T));
  if (e != cudaSuccess) return checked(e, "GPU memory").error();
  return Result<OnDevice<T>>(std::move(owned));
}

}  // namespace gind::perf
