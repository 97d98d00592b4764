// SPDX-License-Identifier: Apache-2.0
// The order workload (tests/history) between ranks of real ginds.
#pragma once

#include "history/sender.h"
#include "ranks.h"

#include <cstdint>

namespace gind::test {

struct HistoryOptions {
  std::uint64_t seed = 1;
  std::uint64_t operations = 0;  // of each stream
  int contexts = 2;
  int ring_units = 0;    // 0: the default, which has room for all windows
  bool threads = false;  // a thread for each end of a stream, that waits; else one for all
  order::Flaw flaw = order::Flaw::kNone;
  int seconds = 200;
};

// $NAME as a number, else the fallback.
std::uint64_t from_environment(const char* name, std::uint64_t fallback);

// Every rank sends to every rank, itself included, on every context.  Throws RankFailure with the
// checker's words when a rule was broken.
void run_history(Rank& rank, const HistoryOptions& options);

}  // namespace gind::test
