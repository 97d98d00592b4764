// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error with a code and a message that names the thing, the value and
// what would be right.  Context is added on the way up with Error::with_context.
#pragma once

#include "gin/result.h"

#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace gind {

struct Error {
  ginResult_t code = ginInternalError;
  std::string message;

  // "context: message"
  Error with_context(const std::string& context) const { return {code, context + ": " + message}; }
};

// The text of an errno value (thread safe).
inline std::string errno_text(int err) {
  char buffer[128] = {};
  return ::strerror_r(err, buffer, sizeof buffer);  // the GNU form: returns the text
}

inline Error system_error(const std::string& what, int err) {
  return {ginSystemError, what + ": " + errno_text(err)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Only when ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  // Only when !ok().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace gind
