// SPDX-License-Identifier: Apache-2.0
// Lets kernels reach what a device communicator points to.  libginclient keeps all of it in host
// memory; a GPU that cannot read pageable memory needs the pages registered.
#pragma once

#include "gin/gin.h"

#include <cuda_runtime.h>

#include <cstddef>

inline cudaError_t map_for_gpu(const void* at, std::size_t bytes) {
  const cudaError_t result =
      cudaHostRegister(const_cast<void*>(at), bytes, cudaHostRegisterPortable);
  return result == cudaErrorHostMemoryAlreadyRegistered ? cudaSuccess : result;
}

inline cudaError_t map_for_gpu(const ginDevComm_t& dev) {
  int device = 0;
  int pageable = 0;
  if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) return e;
  cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, device);
  if (pageable != 0) return cudaSuccess;
  const struct {
    const void* at;
    std::size_t bytes;
  } ranges[] = {
      {dev.segment, dev.ringOffset + dev.contexts * dev.ringStride},
      {dev.state, dev.contexts * dev.stateStride},
      {dev.commError, sizeof *dev.commError},
      {dev.abortFlag, sizeof *dev.abortFlag},
      {dev.localRanks, static_cast<std::size_t>(dev.nLocalRanks) * sizeof *dev.localRanks},
  };
  for (const auto& range : ranges) {
    if (const cudaError_t e = map_for_gpu(range.at, range.bytes); e != cudaSuccess) return e;
  }
  return cudaSuccess;
}
