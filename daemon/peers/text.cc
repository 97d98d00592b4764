// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/text.h"

#include "daemon/peers/peer_network.h"

#include <algorithm>
#include <cstdio>

namespace gind {

const char* collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kWindowRegister:
      return "ginCommWindowRegister";
    case CollectiveKind::kWindowDeregister:
      return "ginCommWindowDeregister";
    case CollectiveKind::kDevCommCreate:
      return "ginDevCommCreate";
    case CollectiveKind::kDevCommDestroy:
      return "ginDevCommDestroy";
    case CollectiveKind::kFinalize:
      return "ginCommFinalize";
  }
  return "an unknown collective";
}

}  // namespace gind

namespace gind::peers {

std::string duration_text(std::chrono::nanoseconds value) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(value).count();
  if (ms >= 1000 && ms % 1000 == 0) return std::to_string(ms / 1000) + " s";
  return std::to_string(ms) + " ms";
}

std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kShown; ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(ranks[i]);
  }
  if (ranks.size() > kShown) text += ", ... (" + std::to_string(ranks.size()) + " in all)";
  return text;
}

std::string host_port(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

namespace {
bool control(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u < 0x20 || u == 0x7f;
}
}  // namespace

std::string printable(std::string_view text, std::size_t max) {
  std::string out(text.substr(0, max));
  std::replace_if(out.begin(), out.end(), control, '?');
  return out;
}

bool is_printable(std::string_view text) { return std::none_of(text.begin(), text.end(), control); }

std::string label_of(std::uint64_t comm) {
  char buffer[17];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(comm));
  return std::string(buffer, 8);
}

}  // namespace gind::peers
