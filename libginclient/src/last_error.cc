// SPDX-License-Identifier: Apache-2.0
#include "last_error.h"

#include <cstdio>

namespace gind::client {
namespace {
thread_local char t_last_error[1024] = "";
}

ginResult_t keep_error(const char* call, ginResult_t code, const char* message) noexcept {
  std::snprintf(t_last_error, sizeof t_last_error, "%s: %s", call, message);
  return code;
}

ginResult_t keep_error(const char* call, const Error& error) noexcept {
  return keep_error(call, error.code, error.message.c_str());
}

const char* last_error() noexcept { return t_last_error; }

}  // namespace gind::client
