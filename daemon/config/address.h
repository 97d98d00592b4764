// SPDX-License-Identifier: Apache-2.0
// IP addresses as the configuration writes them.
#pragma once

#include "gind/common/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gind {

// An IPv4 or IPv6 address in numbers (no host name, no brackets, no zone).
bool is_ip_address(std::string_view text);

// An address in 127.0.0.0/8 (also as ::ffff:127.x.y.z) or ::1.  False for anything else, names
// included.
bool is_loopback_address(std::string_view text);

struct HostPort {
  std::string host;  // an IP address without brackets
  std::uint16_t port = 0;
  bool v6 = false;
};

// "127.0.0.1:9408" or "[::1]:9408".  The error says what is wrong with the text.
Result<HostPort> parse_host_port(std::string_view text);

}  // namespace gind
