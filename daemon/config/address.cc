// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/address.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>

namespace gind {

namespace {

bool parse_v4(std::string_view text, in_addr* out) {
  return ::inet_pton(AF_INET, std::string(text).c_str(), out) == 1;
}

bool parse_v6(std::string_view text, in6_addr* out) {
  return ::inet_pton(AF_INET6, std::string(text).c_str(), out) == 1;
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

Error bad_host_port(std::string_view text) {
  return {ginInvalidArgument, "\"" + std::string(text) +
                                  "\" is not an address with a port, such as 127.0.0.1:9408 or "
                                  "[::1]:9408"};
}

}  // namespace

bool is_ip_address(std::string_view text) {
  in_addr v4;
  in6_addr v6;
  return !has_nul(text) && (parse_v4(text, &v4) || parse_v6(text, &v6));
}

bool is_loopback_address(std::string_view text) {
  if (has_nul(text)) return false;
  if (in_addr v4; parse_v4(text, &v4)) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6;
  if (!parse_v6(text, &v6)) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

Result<HostPort> parse_host_port(std::string_view text) {
  HostPort out;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || has_nul(text)) return bad_host_port(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    out.v6 = true;
  }
  in_addr v4;
  in6_addr v6;
  // An IPv6 address without brackets cannot be told from one with a port.
  if (out.v6 ? !parse_v6(host, &v6) : !parse_v4(host, &v4)) return bad_host_port(text);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return bad_host_port(text);
  }
  out.host = host;
  return out;
}

}  // namespace gind
