// SPDX-License-Identifier: Apache-2.0
// Bounds what one noisy cause can write into the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gind {

// At most `allowed` messages of one key in an interval that begins with the key's first message.
// Thread safe.  Keys are remembered up to a limit; those beyond it share one allowance, so that a
// client that invents keys neither fills the memory nor the log.
class LogLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  LogLimiter(std::uint32_t allowed, Clock::duration interval, std::size_t max_keys = 1024)
      : allowed_(allowed), interval_(interval), max_keys_(max_keys) {}

  struct Verdict {
    bool allowed = false;
    std::uint64_t suppressed = 0;  // messages of this key dropped since the last allowed one
  };
  Verdict admit(std::string_view key, Clock::time_point now = Clock::now());

  // Keys whose interval has passed with messages dropped and none since; forgets them.  For a
  // periodic "N more like this were suppressed".
  std::vector<std::pair<std::string, std::uint64_t>> take_expired(
      Clock::time_point now = Clock::now());

 private:
  struct Entry {
    Clock::time_point begin;
    std::uint32_t used = 0;
    std::uint64_t suppressed = 0;
  };

  Entry& entry(std::string_view key, Clock::time_point now);

  const std::uint32_t allowed_;
  const Clock::duration interval_;
  const std::size_t max_keys_;
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

// " (12 more suppressed)" or nothing: to be put behind the message.
std::string suppressed_note(const LogLimiter::Verdict& verdict);

}  // namespace gind
