// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace gind::peers {

// At most kBurst lines an interval: strangers decide how often their connection is dropped.
class LogLimit {
 public:
  static constexpr std::uint32_t kBurst = 5;
  static constexpr auto kInterval = std::chrono::seconds(10);

  // Whether to write a line now; `suppressed` is how many were left out since the last one.
  bool allow(std::uint64_t* suppressed) {
    const auto now = std::chrono::steady_clock::now();
    if (now - begin_ >= kInterval) {
      begin_ = now;
      used_ = 0;
    }
    *suppressed = 0;
    if (used_ >= kBurst) {
      ++suppressed_;
      return false;
    }
    ++used_;
    *suppressed = suppressed_;
    suppressed_ = 0;
    return true;
  }

 private:
  std::chrono::steady_clock::time_point begin_{};
  std::uint32_t used_ = 0;
  std::uint64_t suppressed_ = 0;
};

}  // namespace gind::peers
