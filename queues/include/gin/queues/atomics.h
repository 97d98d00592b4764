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
namespace order = cuda::std;
#else
template <typename T>
using SysRef = std::atomic_ref<T>;
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
// Words in GPU memory.  On the GPU in PTX, with the state space named: through a generic pointer
// each atomic would also carry code for shared and local memory, and a reduction would be an atomic
// that returns a value.
template <typename T>
GIN_HOST_DEVICE inline T load_relaxed_gpu(const T* p) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__CUDA_ARCH__)
  T v;
  if constexpr (sizeof(T) == 8) {
    asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];"
                 : "=l"(v)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
  } else {
    asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];"
                 : "=r"(v)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
  }
  return v;
#else
  return std::atomic_ref<T>(*const_cast<T*>(p)).load(std::memory_order_relaxed);
#endif
}
template <typename T>
GIN_HOST_DEVICE inline void store_relaxed_gpu(T* p, T v) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 8) {
    asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v)
                 : "memory");
  } else {
    asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v)
                 : "memory");
  }
#else
  std::atomic_ref<T>(*p).store(v, std::memory_order_relaxed);
#endif
}
GIN_HOST_DEVICE inline std::uint64_t fetch_add_gpu(std::uint64_t* p, std::uint64_t v) {
#if defined(__CUDA_ARCH__)
  std::uint64_t before;
  asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
               : "=l"(before)
               : "l"(__cvta_generic_to_global(p)), "l"(v)
               : "memory");
  return before;
#else
  return std::atomic_ref<std::uint64_t>(*p).fetch_add(v, std::memory_order_relaxed);
#endif
}

// Raises *p to at least v.  On the GPU this is one reduction, for which nobody waits.  On the host
// it also releases what was read before (has_credit).
GIN_HOST_DEVICE inline void raise_to_gpu(std::uint64_t* p, std::uint64_t v) {
#if defined(__CUDA_ARCH__)
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v)
               : "memory");
#else
  std::atomic_ref<std::uint64_t> ref(*p);
  std::uint64_t seen = ref.load(std::memory_order_relaxed);
  while (seen < v && !ref.compare_exchange_weak(seen, v, std::memory_order_release,
                                                std::memory_order_relaxed)) {
  }
#endif
}

// Elects one thread for a while: 0 is free.  Orders nothing on the GPU.
GIN_HOST_DEVICE inline bool try_elect_gpu(std::uint32_t* taken) {
  if (load_relaxed_gpu(taken) != 0) return false;
#if defined(__CUDA_ARCH__)
  std::uint32_t before;
  asm volatile("atom.relaxed.gpu.global.exch.b32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(taken))
               : "memory");
  return before == 0;
#else
  return std::atomic_ref<std::uint32_t>(*taken).exchange(1, std::memory_order_acquire) == 0;
#endif
}
GIN_HOST_DEVICE inline void end_election_gpu(std::uint32_t* taken) {
#if defined(__CUDA_ARCH__)
  store_relaxed_gpu<std::uint32_t>(taken, 0);
#else
  std::atomic_ref<std::uint32_t>(*taken).store(0, std::memory_order_release);
#endif
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
