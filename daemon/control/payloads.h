// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other in the all-gathers of window and device communicator creation.
// Fixed layouts, little-endian, exact sizes.
#pragma once

#include "gind/common/result.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace gind {

struct WindowAnnounce {
  std::uint64_t bytes = 0;
  std::uint64_t fabric_address = 0;
  std::uint64_t fabric_key = 0;
  std::uint64_t loopback_address = 0;  // means something to ranks of the same gind only
  std::uint64_t loopback_key = 0;
  std::uint32_t flags = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(WindowAnnounce) == 48);

struct DevCommAnnounce {
  std::uint32_t contexts = 0;
  std::uint32_t signals = 0;
  std::uint32_t handle = 0;      // in records to this rank
  std::uint32_t first_flow = 0;  // flow of (context c, source r): first_flow + c * nranks + r
  std::uint32_t proxy_base = 0;  // context c belongs to proxy (proxy_base + c) % proxies
  std::uint32_t stage = 0;       // 0: announced, 1: ready to be sent to
  std::uint64_t sequence_start = 0;
  std::uint64_t signal_address = 0;  // of context 0's words (signal mode "atomic")
  std::uint64_t signal_key = 0;
  std::uint64_t signal_stride = 0;
};
static_assert(sizeof(DevCommAnnounce) == 56);

struct IndexAnnounce {  // window or device communicator that is given up
  std::uint32_t index = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(IndexAnnounce) == 8);

template <typename T>
std::string pack(const T& payload) {
  return {reinterpret_cast<const char*>(&payload), sizeof payload};
}

// In the place of a payload: this rank cannot take part, and why.
inline constexpr std::string_view kRefusalMark = "refused: ";
inline std::string pack_refusal(const Error& error) {
  return std::string(kRefusalMark) + error.message.substr(0, 240);
}

template <typename T>
Result<T> unpack(const std::string& bytes, int rank) {
  if (bytes.size() > kRefusalMark.size() && bytes.starts_with(kRefusalMark)) {
    return Error{ginRemoteError, "rank " + std::to_string(rank) +
                                     " could not take part: " + bytes.substr(kRefusalMark.size())};
  }
  if (bytes.size() != sizeof(T)) {
    return Error{ginRemoteError, "the gind of rank " + std::to_string(rank) + " announced " +
                                     std::to_string(bytes.size()) + " bytes, expected " +
                                     std::to_string(sizeof(T)) +
                                     "; do all ginds run the same version?"};
  }
  T payload;
  std::memcpy(static_cast<void*>(&payload), bytes.data(), sizeof payload);
  return payload;
}

}  // namespace gind
