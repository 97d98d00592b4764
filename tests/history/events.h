// SPDX-License-Identifier: Apache-2.0
// What the two sides of a stream write down for the checker.
#pragma once

#include "plan.h"

#include <cstdint>

namespace gind::test::order {

// One look of the receiver.  Read in this order, each with acquire: the quiet value, the strong
// words from `first` on (cyclically), the weak ones, then the data.
struct Observation {
  std::uint64_t confirmed;     // operations it had confirmed before
  std::uint64_t quiet;         // operations behind the latest quiet
  std::uint64_t word[kWords];  // by Word
  std::uint64_t visible;  // bit k: the data of operation confirmed + k is there, or it has none
  std::uint64_t foreign;  // bit k: it holds neither that nor what was there a window before
  std::uint64_t first;
};

// What the sender saw.
enum class Seen : std::uint64_t {
  kOldValue,  // of fetchAdd `operation`: `value`
  kGet,       // of get `operation`, behind its flush: `value` words were not the peer's
  kError,     // call of `operation` failed with `value`
};
struct SenderEvent {
  Seen seen;
  std::uint64_t operation;
  std::uint64_t value;
};

// A bounded list in memory of either side.
template <typename T>
struct Log {
  T* entries = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t count = 0;

  // False: it is full.
  GIN_HOST_DEVICE bool add(const T& entry) {
    if (count == capacity) return false;
    entries[count++] = entry;
    return true;
  }
};

// How far a side is.
enum class Progress : std::uint8_t { kIdle, kMoved, kDone, kFailed };

}  // namespace gind::test::order
