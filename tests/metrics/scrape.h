// SPDX-License-Identifier: Apache-2.0
// A small HTTP client and a strict reader of the Prometheus text format.
#pragma once

#include "gind/common/fd.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace gind {

// The whole response to GET `target` from a loopback port, or empty when there is none.
inline std::string http_get(std::uint16_t port, bool v6 = false,
                            const std::string& target = "/metrics") {
  const Fd fd(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in a4{};
  a4.sin_family = AF_INET;
  a4.sin_port = htons(port);
  a4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 a6{};
  a6.sin6_family = AF_INET6;
  a6.sin6_port = htons(port);
  a6.sin6_addr = in6addr_loopback;
  const int connected = v6 ? ::connect(fd.get(), reinterpret_cast<sockaddr*>(&a6), sizeof a6)
                           : ::connect(fd.get(), reinterpret_cast<sockaddr*>(&a4), sizeof a4);
  if (connected != 0) return "";
  const std::string request = "GET " + target + " HTTP/1.0\r\nHost: localhost\r\n\r\n";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "";
  std::string response;
  char buffer[4096];
  for (ssize_t n; (n = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) {
    response.append(buffer, static_cast<std::size_t>(n));
  }
  return response;
}

struct Exposition {
  std::map<std::string, std::string> type;  // by family
  std::map<std::string, std::string> help;
  std::map<std::string, double> sample;  // by name and labels as written: a{b="c"}

  double at(const std::string& series) const {
    const auto found = sample.find(series);
    if (found == sample.end()) {
      ADD_FAILURE() << "no series " << series;
      return -1;
    }
    return found->second;
  }
};

// Fails the test for every line that is not of the format, and for a series given twice.
inline Exposition parse_exposition(const std::string& response) {
  Exposition out;
  EXPECT_TRUE(response.starts_with("HTTP/1.1 200") || response.starts_with("HTTP/1.0 200"))
      << response.substr(0, 100);
  static const std::regex sample(
      R"(([a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_]\w*="([^"\\\n]|\\["\\n])*",?)*\})?) (\S+))");
  std::istringstream lines(
      response.substr(std::min(response.find("\r\n\r\n") + 4, response.size())));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, word, name, rest;
    if (line.starts_with("# ")) {
      words >> hash >> word >> name;
      std::getline(words >> std::ws, rest);
      if (word == "TYPE") out.type[name] = rest;
      if (word == "HELP") out.help[name] = rest;
      continue;
    }
    std::smatch match;
    if (!std::regex_match(line, match, sample)) {
      ADD_FAILURE() << "not a sample: " << line;
      continue;
    }
    std::size_t used = 0;
    const std::string number = match[5];
    EXPECT_TRUE(out.sample.emplace(match[1], std::stod(number, &used)).second) << line;
    EXPECT_EQ(used, number.size()) << line;
  }
  return out;
}

}  // namespace gind
