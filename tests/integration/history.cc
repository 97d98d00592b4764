// SPDX-License-Identifier: Apache-2.0
#include "history.h"

namespace gind::test {

std::string HistoryChecker::check(const Observation& seen, std::uint64_t posted) {
  ++observations_;
  const std::string value = std::to_string(seen.signal);
  if (seen.signal < highest_) {
    return "the signal went back from " + std::to_string(highest_) + " to " + value;
  }
  highest_ = seen.signal;
  if (seen.signal > posted / every_) {
    return "the signal is " + value + " but only " + std::to_string(posted / every_) +
           " increments were posted";
  }
  const std::uint64_t vouched = seen.signal * every_;  // messages up to it must be visible
  for (std::uint64_t slot = 0; slot < slots_; ++slot) {
    // The latest message of this slot that the signal vouches for.
    const std::uint64_t behind = (vouched + slots_ - slot) % slots_;
    if (behind > vouched || vouched == behind) continue;
    const std::uint64_t least = vouched - behind;
    for (const std::uint64_t word : {seen.first[slot], seen.last[slot]}) {
      if (word >= least) continue;
      return "the signal is " + value + " (it vouches for message " + std::to_string(vouched) +
             "), but slot " + std::to_string(slot) + " holds message " + std::to_string(word) +
             ", expected at least " + std::to_string(least);
    }
  }
  return {};
}

std::string HistoryChecker::check_end(std::uint64_t signal, std::uint64_t posted) const {
  if (signal == posted / every_) return {};
  return "at the end the signal is " + std::to_string(signal) + ", expected " +
         std::to_string(posted / every_) + ": increments were lost or doubled";
}

}  // namespace gind::test
