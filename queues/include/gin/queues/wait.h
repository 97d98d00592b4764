// SPDX-License-Identifier: Apache-2.0
// Bounded waiting: every spin of the device functions goes through Waiter, so that each has a
// deadline, an abort flag and the context's error word as ways out.
#pragma once

#include "gin/queues/atomics.h"
#include "gin/queues/platform.h"
#include "gin/result.h"

#if !defined(__CUDA_ARCH__)
#include <sched.h>
#include <time.h>
#endif

namespace gin::queues {

// Nanoseconds of a monotonic clock: the global timer on the GPU, CLOCK_MONOTONIC on the host.
GIN_HOST_DEVICE inline std::uint64_t now_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
#else
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(ts.tv_nsec);
#endif
}

GIN_HOST_DEVICE inline void cpu_relax() {
#if defined(__CUDA_ARCH__)
  __nanosleep(20);
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// An error word: 0 while all is well, else code | field << 16 | value << 24 (value: low 40 bits).
GIN_HOST_DEVICE constexpr std::uint64_t make_error_word(ginResult_t code, std::uint8_t field = 0,
                                                        std::uint64_t value = 0) {
  return static_cast<std::uint64_t>(code) | static_cast<std::uint64_t>(field) << 16 | value << 24;
}
GIN_HOST_DEVICE constexpr ginResult_t error_code(std::uint64_t word) {
  const std::uint64_t code = word & 0xffff;
  return code < ginResultCount_ ? static_cast<ginResult_t>(code) : ginInternalError;
}

// What can end a wait early.  Pointers may be null.  timeout_ns 0 means no deadline.
struct WaitLimits {
  std::uint64_t timeout_ns = 0;
  const std::uint32_t* abort_flag = nullptr;     // the caller's own
  const std::uint64_t* context_error = nullptr;  // written by gind (shared memory)
  const std::uint64_t* comm_error = nullptr;     // written by the client's monitor thread
  std::uint32_t* waiting = nullptr;  // host: counts the waits that have begun to yield, for who
                                     // wants to free what they look at
};

// What a look at the condition costs: a load over a bus is pause enough by itself.
enum class Pace : std::uint8_t { kMemory, kBus };

// One wait loop: call step() between two looks at the condition; anything but ginSuccess ends it.
// The host backs off from spinning to yielding to short sleeps: ranks may outnumber cores.
class Waiter {
 public:
  GIN_HOST_DEVICE explicit Waiter(const WaitLimits& limits, Pace pace = Pace::kMemory)
      : limits_(limits), pace_(pace) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  GIN_HOST_DEVICE ~Waiter() {
#if !defined(__CUDA_ARCH__)
    if (counted_) {
      // Release: what this wait looked at is looked at no more; pairs with who frees it.
      std::atomic_ref<std::uint32_t>(*limits_.waiting).fetch_sub(1, std::memory_order_release);
    }
#endif
  }

  GIN_HOST_DEVICE ginResult_t step() {
    ++spins_;
    if (spins_ % kCheckEvery != 0) {
      pause();
      return ginSuccess;
    }
    return check_and_back_off();
  }

 private:
#if defined(__CUDA_ARCH__)
  static constexpr std::uint32_t kCheckEvery = 64;
#else
  static constexpr std::uint32_t kCheckEvery = 16;
  static constexpr std::uint32_t kYieldAfter = 512;     // spins: about 10 us
  static constexpr std::uint32_t kSleepAfter = 20'000;  // spins; each 16th is a yield by then
#endif

  GIN_HOST_DEVICE void pause() const {
#if defined(__CUDA_ARCH__)
    if (pace_ == Pace::kBus) return;
#endif
    cpu_relax();
  }

  GIN_HOST_DEVICE ginResult_t check_and_back_off() {
#if !defined(__CUDA_ARCH__)
    if (!counted_ && limits_.waiting != nullptr) {
      counted_ = true;
      std::atomic_ref<std::uint32_t>(*limits_.waiting).fetch_add(1, std::memory_order_relaxed);
    }
#endif
    if (limits_.abort_flag != nullptr && load_relaxed_sys(limits_.abort_flag) != 0) {
      return ginAborted;
    }
    if (limits_.comm_error != nullptr) {
      if (const std::uint64_t e = load_relaxed_sys(limits_.comm_error)) return error_code(e);
    }
    if (limits_.context_error != nullptr) {
      if (const std::uint64_t e = load_relaxed_sys(limits_.context_error)) return error_code(e);
    }
    if (limits_.timeout_ns != 0) {
      const std::uint64_t now = now_ns();
      if (start_ns_ == 0) start_ns_ = now;
      if (now - start_ns_ >= limits_.timeout_ns) return ginTimeout;
    }
#if !defined(__CUDA_ARCH__)
    if (spins_ >= kSleepAfter) {
      const timespec nap{0, 50'000};
      nanosleep(&nap, nullptr);
    } else if (spins_ >= kYieldAfter) {
      sched_yield();
    } else {
      cpu_relax();
    }
#endif
    return ginSuccess;
  }

  WaitLimits limits_;
  std::uint64_t start_ns_ = 0;
  std::uint32_t spins_ = 0;
  [[maybe_unused]] bool counted_ = false;
  [[maybe_unused]] Pace pace_;  // the host backs off in any case
};

}  // namespace gin::queues
