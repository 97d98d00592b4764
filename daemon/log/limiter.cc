// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/limiter.h"

namespace gind {

namespace {
constexpr std::string_view kOtherKeys = "other";  // shared by the keys beyond the limit
}

LogLimiter::Entry& LogLimiter::entry(std::string_view key, Clock::time_point now) {
  if (const auto found = entries_.find(key); found != entries_.end()) return found->second;
  if (entries_.size() >= max_keys_) {
    // Those that hold nothing to report may go.
    std::erase_if(entries_, [&](const auto& item) {
      return now - item.second.begin >= interval_ && item.second.suppressed == 0;
    });
  }
  const std::string_view name = entries_.size() < max_keys_ ? key : kOtherKeys;
  return entries_.try_emplace(std::string(name), Entry{now, 0, 0}).first->second;
}

LogLimiter::Verdict LogLimiter::admit(std::string_view key, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Entry& e = entry(key, now);
  if (now - e.begin >= interval_) {
    e.begin = now;
    e.used = 0;
  }
  if (e.used >= allowed_) {
    ++e.suppressed;
    return {};
  }
  ++e.used;
  return {true, std::exchange(e.suppressed, 0)};
}

std::vector<std::pair<std::string, std::uint64_t>> LogLimiter::take_expired(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (now - it->second.begin < interval_) {
      ++it;
      continue;
    }
    if (it->second.suppressed > 0) out.emplace_back(it->first, it->second.suppressed);
    it = entries_.erase(it);
  }
  return out;
}

std::string suppressed_note(const LogLimiter::Verdict& verdict) {
  if (verdict.suppressed == 0) return "";
  return " (" + std::to_string(verdict.suppressed) + " more suppressed)";
}

}  // namespace gind
