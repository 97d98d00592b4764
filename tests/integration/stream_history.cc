// SPDX-License-Identifier: Apache-2.0
#include "stream_history.h"

#include <algorithm>
#include <utility>

namespace gind::test {
namespace {

std::string text(std::uint64_t value) { return std::to_string(value); }

}  // namespace

StreamChecker::StreamChecker(std::vector<Operation> posted) : posted_(std::move(posted)) {
  for (const Operation& op : posted_) {
    if (op.signal == Operation::Signal::kStrong) strong_total_ += op.addend;
    if (op.signal == Operation::Signal::kWeak) weak_total_ += 1;
    strong_sum_.push_back(strong_total_);
    weak_sum_.push_back(weak_total_);
  }
}

std::optional<std::string> StreamChecker::observe(const StreamObservation& seen) {
  if (seen.strong < strong_) {
    return "the strong signal went back from " + text(strong_) + " to " + text(seen.strong);
  }
  if (seen.weak < weak_) {
    return "the weak signal went back from " + text(weak_) + " to " + text(seen.weak);
  }
  if (seen.weak > weak_total_) {
    return "the weak signal is " + text(seen.weak) + ", only " + text(weak_total_) + " were sent";
  }
  std::size_t vouched = 0;  // operations the strong value stands behind
  if (seen.strong != 0) {
    const auto at = std::lower_bound(strong_sum_.begin(), strong_sum_.end(), seen.strong);
    if (at == strong_sum_.end() || *at != seen.strong) {
      return "the strong signal is " + text(seen.strong) +
             ", which no prefix of the increments gives: one was lost, repeated or overtaken";
    }
    vouched = static_cast<std::size_t>(at - strong_sum_.begin()) + 1;
  }
  for (std::size_t i = confirmed_; i < vouched; ++i) {
    if (posted_[i].data && !seen.visible(i)) {
      return "the strong signal is " + text(seen.strong) + ", but the data of operation " +
             text(i) + " is not there: the signal came before its data";
    }
  }
  const std::uint64_t weak_before = vouched == 0 ? 0 : weak_sum_[vouched - 1];
  if (seen.weak < weak_before) {
    return "the strong signal is " + text(seen.strong) + ", but only " + text(seen.weak) + " of " +
           text(weak_before) + " earlier weak signals are there";
  }
  std::uint64_t weak_visible = confirmed_ == 0 ? 0 : weak_sum_[confirmed_ - 1];
  for (std::size_t i = confirmed_; i < posted_.size() && weak_visible < seen.weak; ++i) {
    if (posted_[i].signal != Operation::Signal::kWeak) continue;
    if (!posted_[i].data || seen.visible(i)) ++weak_visible;
  }
  if (weak_visible < seen.weak) {
    return "the weak signal is " + text(seen.weak) + ", but the data of only " +
           text(weak_visible) + " of its puts is there: a signal came before its data";
  }
  strong_ = seen.strong;
  weak_ = seen.weak;
  confirmed_ = std::max(confirmed_, vouched);
  return std::nullopt;
}

std::optional<std::string> StreamChecker::finish() const {
  if (complete()) return std::nullopt;
  return "at the end the strong signal is " + text(strong_) + " of " + text(strong_total_) +
         ", the weak one " + text(weak_) + " of " + text(weak_total_);
}

}  // namespace gind::test
