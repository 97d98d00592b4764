// SPDX-License-Identifier: Apache-2.0
// Bounds-checked little-endian reading and writing.  Both classes have the same member names, so
// that one `fields` function per message serves both directions and they cannot drift apart.
#pragma once

#include "daemon/peers/peer_network.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gind::peers {

class Writer {
 public:
  template <typename T>
  requires std::is_unsigned_v<T>
  void number(T value, const char* /*what*/) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
  }
  void code(ginResult_t value) { number(static_cast<std::uint32_t>(value), ""); }
  // Free text: made printable and cut to `max`.
  void text(const std::string& value, std::size_t max, const char* what);
  void bytes(std::string_view value, std::size_t max, const char* what);
  void bytes(const std::vector<std::uint8_t>& value, std::size_t max, const char* what);
  template <std::size_t N>
  void raw(const std::array<std::uint8_t, N>& value, const char* /*what*/) {
    out_.append(reinterpret_cast<const char*>(value.data()), N);
  }
  template <typename T, typename Each>
  void list(const std::vector<T>& values, std::size_t, const char* what, Each each) {
    number(static_cast<std::uint32_t>(values.size()), what);
    for (const T& v : values) each(v);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// The first fault is kept, later reads give zeros.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  template <typename T>
  requires std::is_unsigned_v<T>
  void number(T& value, const char* what) {
    const std::string_view got = take(sizeof(T), what);
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      v |= static_cast<std::uint64_t>(static_cast<unsigned char>(got[i])) << (8 * i);
    }
    value = static_cast<T>(v);
  }
  void code(ginResult_t& value);
  void text(std::string& value, std::size_t max, const char* what);
  void bytes(std::string& value, std::size_t max, const char* what);
  void bytes(std::vector<std::uint8_t>& value, std::size_t max, const char* what);
  template <std::size_t N>
  void raw(std::array<std::uint8_t, N>& value, const char* what) {
    const std::string_view got = take(N, what);
    if (got.size() == N) std::copy(got.begin(), got.end(), value.begin());
  }
  template <typename T, typename Each>
  void list(std::vector<T>& values, std::size_t max, const char* what, Each each) {
    std::uint32_t n = 0;
    number(n, what);
    // No element takes less than two bytes: a count that the rest cannot hold allocates nothing.
    if (n > max || n > in_.size() / 2) return fail(what, n, max);
    values.resize(n);
    for (T& v : values) {
      if (!ok()) return;
      each(v);
    }
  }

  bool ok() const { return error_.empty(); }
  // Fails also when bytes are left over.
  Result<void> finish(const char* message) const;

 private:
  std::string_view take(std::size_t n, const char* what);
  void fail(const char* what, std::uint64_t value, std::uint64_t max);
  std::string_view in_;
  std::string error_;
};

}  // namespace gind::peers
