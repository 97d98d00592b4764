// SPDX-License-Identifier: Apache-2.0
// One simulated run of the order workload, and what the checker says of it.
#pragma once

#include "history/checker.h"
#include "history/sender.h"
#include "world.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gind::sim {

struct RunOptions {
  WorldOptions world;
  std::uint64_t seed = 1;                             // of who runs when, and of the traffic
  std::uint64_t operations = 0;                       // of each stream
  test::order::Flaw flaw = test::order::Flaw::kNone;  // of the senders
};

struct RunResult {
  std::uint64_t operations = 0;  // checked, of all streams
  std::uint64_t observations = 0;
  std::uint64_t steps = 0;
  std::string faults;                   // of gind; "" when there were none
  std::vector<std::string> violations;  // "stream 0 to 1 context 0: rule ..."
  std::uint64_t fingerprint = 0;        // of everything that was seen: equal in a repeated run

  bool good() const { return faults.empty() && violations.empty(); }
  std::string text() const;
};

// Ends when all has arrived, at the first violation, or when nothing moves any more.
RunResult run(RunOptions options);

}  // namespace gind::sim
