// SPDX-License-Identifier: Apache-2.0
// The border between Result and the C API: codes go out, messages stay for ginGetLastError, and no
// exception passes.
#pragma once

#include "gind/common/result.h"

#include <exception>
#include <new>

namespace gind::client {

// Keeps "call: message" as this thread's last failure; returns the code.  Does not allocate.
ginResult_t keep_error(const char* call, const Error& error) noexcept;
ginResult_t keep_error(const char* call, ginResult_t code, const char* message) noexcept;
const char* last_error() noexcept;

// Runs f, which returns Result<void>, as the body of a C function.
template <typename F>
ginResult_t guarded(const char* call, F&& f) noexcept {
  try {
    const Result<void> result = f();
    return result.ok() ? ginSuccess : keep_error(call, result.error());
  } catch (const std::bad_alloc&) {
    return keep_error(call, ginSystemError, "out of memory");
  } catch (const std::exception& e) {
    return keep_error(call, ginInternalError, e.what());
  } catch (...) {
    return keep_error(call, ginInternalError, "an unknown exception");
  }
}

inline Error null_argument(const char* name) {
  return {ginInvalidArgument, std::string(name) + " is a null pointer"};
}

}  // namespace gind::client
