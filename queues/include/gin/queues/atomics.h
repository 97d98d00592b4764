// SPDX-License-Identifier: Apache-2.0
// Atomic accesses by scope.  "sys" words are shared between the GPU and the CPU (or between two
// processes); "gpu" words live in GPU memory and are touched by kernels of one GPU only.  In the
// CPU emulation of a device both are ordinary atomics.
#pragma once

#include "gin/queues/platform.h"

#include <atomic>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace gin::queues {

#if defined(__CUDA_ARCH__)
template <typename T>
using SysRef = cuda::atomic_ref<T, cuda::thread_scope_system>;
template <typename T>
using GpuRef = cuda::atomic_ref<T, cuda::thread_scope_device>;
namespace order = cuda::std;
#else
template <typename T>
using SysRef = std::atomic_ref<T>;
template <typename T>
using GpuRef = std::atomic_ref<T>;
namespace order = std;
#endif

template <typename T>
GIN_HOST_DEVICE inline T load_acquire_sys(const T* p) {
  return SysRef<T>(*const_cast<T*>(p)).load(order::memory_order_acquire);
}
template <typename T>
GIN_HOST_DEVICE inline T load_relaxed_sys(const T* p) {
  return SysRef<T>(*const_cast<T*>(p)).load(order::memory_order_relaxed);
}
template <typename T>
GIN_HOST_DEVICE inline void store_release_sys(T* p, T v) {
  SysRef<T>(*p).store(v, order::memory_order_release);
}
template <typename T>
GIN_HOST_DEVICE inline void store_relaxed_sys(T* p, T v) {
  SysRef<T>(*p).store(v, order::memory_order_relaxed);
}
template <typename T>
GIN_HOST_DEVICE inline T load_acquire_gpu(const T* p) {
  return GpuRef<T>(*const_cast<T*>(p)).load(order::memory_order_acquire);
}
template <typename T>
GIN_HOST_DEVICE inline T load_relaxed_gpu(const T* p) {
  return GpuRef<T>(*const_cast<T*>(p)).load(order::memory_order_relaxed);
}
template <typename T>
GIN_HOST_DEVICE inline void store_release_gpu(T* p, T v) {
  GpuRef<T>(*p).store(v, order::memory_order_release);
}
template <typename T>
GIN_HOST_DEVICE inline void store_relaxed_gpu(T* p, T v) {
  GpuRef<T>(*p).store(v, order::memory_order_relaxed);
}
template <typename T>
GIN_HOST_DEVICE inline T fetch_add_gpu(T* p, T v) {
  return GpuRef<T>(*p).fetch_add(v, order::memory_order_relaxed);
}

// Raises *p to at least v.  On the GPU this is one red.max.
GIN_HOST_DEVICE inline void raise_to_gpu(std::uint64_t* p, std::uint64_t v) {
#if defined(__CUDA_ARCH__)
  GpuRef<std::uint64_t>(*p).fetch_max(v, order::memory_order_relaxed);
#else
  std::atomic_ref<std::uint64_t> ref(*p);
  std::uint64_t seen = ref.load(std::memory_order_relaxed);
  while (seen < v && !ref.compare_exchange_weak(seen, v, std::memory_order_relaxed)) {
  }
#endif
}

// A try-lock in GPU memory: 0 is free.
GIN_HOST_DEVICE inline bool try_lock_gpu(std::uint32_t* lock) {
  return load_relaxed_gpu(lock) == 0 &&
         GpuRef<std::uint32_t>(*lock).exchange(1, order::memory_order_acquire) == 0;
}
GIN_HOST_DEVICE inline void unlock_gpu(std::uint32_t* lock) {
  store_release_gpu<std::uint32_t>(lock, 0);
}

// Orders this thread's earlier writes (and those it has synchronised with) before its later
// relaxed stores, for observers on the CPU and other devices.
GIN_HOST_DEVICE inline void fence_release_sys() {
#if defined(__CUDA_ARCH__)
  __threadfence_system();
#elif !defined(GIN_TSAN)  // TSan does not model fences; host units are stored with release instead
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

}  // namespace gin::queues
