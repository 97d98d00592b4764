// SPDX-License-Identifier: Apache-2.0
// Decides from what was posted and what was seen whether the order rules of strong signals held.
// One history is about one (context, source, target): the source writes message k = 1, 2, ... into
// slot k % slots and lets every `every`-th carry a strong SignalInc; the target notes the signal's
// value and *then* what each slot holds.
// @source shared rules 2 and 8 of the device API (docs/api.md): a strong signal's new value is
// visible only after all data of every earlier put; every increment arrives exactly once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gind::test {

struct Observation {
  std::uint64_t signal = 0;
  std::vector<std::uint64_t> first;  // by slot: the number in the message's first word
  std::vector<std::uint64_t> last;   // and in its last
};

class HistoryChecker {
 public:
  HistoryChecker(std::uint64_t slots, std::uint64_t every) : slots_(slots), every_(every) {}

  // "" or what was violated.  `posted`: messages posted so far, at least (no signal may be ahead).
  std::string check(const Observation& seen, std::uint64_t posted);
  // After everything posted is known to have arrived.
  std::string check_end(std::uint64_t signal, std::uint64_t posted) const;
  std::uint64_t observations() const { return observations_; }

 private:
  std::uint64_t slots_;
  std::uint64_t every_;
  std::uint64_t highest_ = 0;
  std::uint64_t observations_ = 0;
};

}  // namespace gind::test
