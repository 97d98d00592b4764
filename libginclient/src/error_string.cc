// SPDX-License-Identifier: Apache-2.0
#include "enum_value.h"
#include "gin/gin.h"

namespace {
constexpr const char* kTexts[] = {
    "success",
    "a CUDA call failed",
    "a system call failed",
    "internal error of gind or libginclient",
    "invalid argument",
    "invalid usage",
    "a peer rank, its gind or the path to it failed",
    "in progress",
    "a deadline passed",
    "aborted",
    "the local gind is unreachable or went away",
    "protocol or segment layout versions differ",
    "permission denied",
    "a limit is exceeded",
    "the context is in error",
    "not supported",
};
static_assert(sizeof kTexts / sizeof kTexts[0] == ginResultCount_);
}  // namespace

extern "C" const char* ginGetErrorString(ginResult_t result) {
  const auto i = static_cast<unsigned>(gind::client::value_of_enum(result));
  return i < ginResultCount_ ? kTexts[i] : "unknown result code";
}
