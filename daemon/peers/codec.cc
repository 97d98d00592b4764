// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/codec.h"

#include "daemon/peers/text.h"

namespace gind::peers {

void Writer::text(const std::string& value, std::size_t max, const char* what) {
  const std::string clean = printable(value, max);
  number(static_cast<std::uint16_t>(clean.size()), what);
  out_ += clean;
}

void Writer::bytes(std::string_view value, std::size_t, const char* what) {
  number(static_cast<std::uint16_t>(value.size()), what);
  out_ += value;
}

void Writer::bytes(const std::vector<std::uint8_t>& value, std::size_t max, const char* what) {
  bytes(std::string_view(reinterpret_cast<const char*>(value.data()), value.size()), max, what);
}

std::string_view Reader::take(std::size_t n, const char* what) {
  if (!ok()) return {};
  if (n > in_.size()) {
    error_ = std::string(what) + " needs " + std::to_string(n) + " bytes, " +
             std::to_string(in_.size()) + " are left";
    return {};
  }
  const std::string_view got = in_.substr(0, n);
  in_.remove_prefix(n);
  return got;
}

void Reader::fail(const char* what, std::uint64_t value, std::uint64_t max) {
  if (!ok()) return;
  error_ = std::string(what) + " has length " + std::to_string(value) + ", at most " +
           std::to_string(max) + " is allowed";
}

void Reader::code(ginResult_t& value) {
  std::uint32_t n = 0;
  number(n, "code");
  if (ok() && n >= ginResultCount_) {
    error_ =
        "code is " + std::to_string(n) + ", expected 0 to " + std::to_string(ginResultCount_ - 1);
    return;
  }
  value = static_cast<ginResult_t>(n);
}

void Reader::bytes(std::string& value, std::size_t max, const char* what) {
  std::uint16_t n = 0;
  number(n, what);
  if (n > max) return fail(what, n, max);
  value = std::string(take(n, what));
}

void Reader::bytes(std::vector<std::uint8_t>& value, std::size_t max, const char* what) {
  std::string got;
  bytes(got, max, what);
  value.assign(got.begin(), got.end());
}

void Reader::text(std::string& value, std::size_t max, const char* what) {
  bytes(value, max, what);
  if (ok() && !is_printable(value)) error_ = std::string(what) + " holds control characters";
}

Result<void> Reader::finish(const char* message) const {
  if (!ok()) return Error{ginInvalidArgument, std::string(message) + ": " + error_};
  if (!in_.empty()) {
    return Error{ginInvalidArgument,
                 std::string(message) + ": " + std::to_string(in_.size()) + " bytes too many"};
  }
  return {};
}

}  // namespace gind::peers
