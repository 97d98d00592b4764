// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/pattern.h"

#include <algorithm>
#include <cstring>

namespace gind::perf {
namespace {

std::uint64_t word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + 0x94d049bb133111ebu;
  z = (z ^ (z >> 29)) * 0xff51afd7ed558ccdu;
  return z ^ (z >> 32);
}

}  // namespace

void fill_pattern(void* memory, std::size_t bytes, std::uint64_t seed) {
  auto* at = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t w = word(seed, i / 8);
    std::memcpy(at + i, &w, std::min<std::size_t>(8, bytes - i));
  }
}

std::optional<std::size_t> find_mismatch(const void* memory, std::size_t bytes,
                                         std::uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(memory);
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t w = word(seed, i / 8);
    const std::size_t n = std::min<std::size_t>(8, bytes - i);
    if (std::memcmp(at + i, &w, n) == 0) continue;
    const auto* expected = reinterpret_cast<const unsigned char*>(&w);
    return i +
           static_cast<std::size_t>(std::mismatch(at + i, at + i + n, expected).first - (at + i));
  }
  return std::nullopt;
}

void fill_guard(void* memory, std::size_t bytes) { std::memset(memory, kGuardByte, bytes); }

std::optional<std::size_t> find_guard_damage(const void* memory, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(memory);
  const auto* end = at + bytes;
  const auto* found = std::find_if(at, end, [](unsigned char b) { return b != kGuardByte; });
  if (found == end) return std::nullopt;
  return static_cast<std::size_t>(found - at);
}

}  // namespace gind::perf
