// SPDX-License-Identifier: Apache-2.0
// Message contents: every byte follows from a seed and its offset, so a byte of another message,
// of another offset or of old memory shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace gind::perf {

void fill_pattern(void* memory, std::size_t bytes, std::uint64_t seed);

// The offset of the first byte that is not the pattern's.
std::optional<std::size_t> find_mismatch(const void* memory, std::size_t bytes, std::uint64_t seed);

// Memory nobody may write: around and between messages.
inline constexpr unsigned char kGuardByte = 0xa5;
void fill_guard(void* memory, std::size_t bytes);
std::optional<std::size_t> find_guard_damage(const void* memory, std::size_t bytes);

}  // namespace gind::perf
