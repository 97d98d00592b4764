// SPDX-License-Identifier: Apache-2.0
// Checks what a receiver sees of one stream of puts (one context, one peer), strong and weak
// signals mixed, against the promises of docs/api.md: a strong signal comes after all earlier data
// and signals of the stream, a weak one after its own put, every increment arrives exactly once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gind::test {

struct Operation {
  enum class Signal { kNone, kStrong, kWeak };
  bool data = true;  // false: a signal alone
  Signal signal = Signal::kNone;
  std::uint64_t addend = 0;  // weak signals add 1
};

// What the receiver read, in this order: the strong signal (acquire), then the weak one, then, by
// `visible(i)`, whether all bytes of operation i's put are there.
struct StreamObservation {
  std::uint64_t strong = 0;
  std::uint64_t weak = 0;
  std::function<bool(std::size_t)> visible;
};

class StreamChecker {
 public:
  explicit StreamChecker(std::vector<Operation> posted);

  // What is wrong with the observation, if anything.  Operations below `confirmed()` are not asked
  // for again: their memory may be reused once the receiver has said so.
  std::optional<std::string> observe(const StreamObservation& seen);
  // At the end: everything must have come.
  std::optional<std::string> finish() const;

  // Operations that an observed strong signal vouches for.
  std::size_t confirmed() const { return confirmed_; }
  bool complete() const { return strong_ == strong_total_ && weak_ == weak_total_; }
  std::size_t size() const { return posted_.size(); }

 private:
  std::vector<Operation> posted_;
  std::vector<std::uint64_t> strong_sum_;  // behind each operation
  std::vector<std::uint64_t> weak_sum_;
  std::uint64_t strong_total_ = 0;
  std::uint64_t weak_total_ = 0;
  std::uint64_t strong_ = 0;
  std::uint64_t weak_ = 0;
  std::size_t confirmed_ = 0;
};

}  // namespace gind::test
