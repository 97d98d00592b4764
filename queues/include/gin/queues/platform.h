// SPDX-License-Identifier: Apache-2.0
// What differs between a CUDA translation unit and a plain C++ one.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define GIN_HOST_DEVICE __host__ __device__
#define GIN_DEVICE __device__
#else
#define GIN_HOST_DEVICE
#endif

#if defined(__SANITIZE_THREAD__)
#define GIN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GIN_TSAN 1
#endif
#endif

namespace gin::queues {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kPage = 4096;

GIN_HOST_DEVICE constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

GIN_HOST_DEVICE constexpr bool is_power_of_two(std::uint64_t v) {
  return v != 0 && (v & (v - 1)) == 0;
}

}  // namespace gin::queues
