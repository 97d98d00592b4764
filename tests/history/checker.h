// SPDX-License-Identifier: Apache-2.0
// Decides from what both sides of a stream wrote down whether the rules of the device API held.
// @source design of the device API, ordering rules 1 to 9 (docs/ordering.md)
#pragma once

#include "events.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gind::test::order {

struct Verdict {
  std::uint64_t operations = 0;         // of the plan, all of them checked when complete
  std::uint64_t observations = 0;       // of the receiver
  bool complete = false;                // everything has arrived
  std::vector<std::string> violations;  // the first few; each begins with its rule

  bool good() const { return complete && violations.empty(); }
  std::string text() const;
};

class Checker {
 public:
  Checker(const Stream& stream, std::uint64_t operations);

  void observe(const Observation& seen);
  void event(const SenderEvent& event);
  // True once there is a violation.
  bool found() const { return !verdict_.violations.empty(); }
  // After everything: what has not come is missing.
  Verdict finish();

 private:
  static constexpr std::size_t kMostViolations = 8;
  struct Window {
    std::uint64_t in[kWords];    // arrived, from the confirmed operation on
    std::uint64_t mine[kWords];  // operations of each word
  };
  void violation(const std::string& text);
  bool advance(std::uint64_t confirmed);
  void check_words(const Observation& seen, const Window& w);
  void check_strong(const Observation& seen, const Window& w);
  void check_weak(const Observation& seen, const Window& w);
  void vouched(const Observation& seen, const Window& w, std::uint64_t below, int position,
               const std::string& by);
  std::string name(std::uint64_t operation) const;

  const Stream stream_;
  Verdict verdict_;
  std::uint64_t confirmed_ = 0;
  std::uint64_t base_[kWords] = {};     // of the words, with the confirmed operations in
  std::uint64_t highest_[kWords] = {};  // what has been seen arrive, from confirmed_ on
  Observation last_ = {};
  std::uint64_t next_fetched_ = 0;  // operation that the next old value must be of, at least
  std::uint64_t fetched_sum_ = 0;
};

}  // namespace gind::test::order
