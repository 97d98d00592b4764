// SPDX-License-Identifier: Apache-2.0
// Small pieces of messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gind::peers {

// "60 s", "250 ms"
std::string duration_text(std::chrono::nanoseconds value);
// "rank 3", "ranks 1, 3", "ranks 1, 2, ... (40 in all)"
std::string ranks_text(const std::vector<int>& ranks);
// "10.0.0.1:9407", "[::1]:9407"
std::string host_port(const std::string& host, std::uint16_t port);
// Control characters become '?', at most `max` bytes.
std::string printable(std::string_view text, std::size_t max);
bool is_printable(std::string_view text);
// First 8 hex digits.
std::string label_of(std::uint64_t comm);

}  // namespace gind::peers
