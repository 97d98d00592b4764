// SPDX-License-Identifier: Apache-2.0
// Runs a command line as its users do.
#pragma once

#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace gind::test {

struct Ended {
  int code = -1;
  std::string output;  // standard output and error
};

inline Ended shell(const std::string& command) {
  Ended ended;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> part{};
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) {
    ended.output.append(part.data(), n);
  }
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

// The text between the first '{' and the end: what --out_json /dev/stdout printed.
inline nlohmann::json json_in(const std::string& output) {
  return nlohmann::json::parse(output.substr(output.find('{')), nullptr, false);
}

}  // namespace gind::test
