// SPDX-License-Identifier: Apache-2.0
// How a call that may wait is bounded, and what it says when its bound ends it.
#pragma once

#include "gin/queues/platform.h"
#include "gin/result.h"

#include <cstdint>

// What a call waited for.
enum ginWaitKind_t {
  ginWaitKindNone = 0,    // nothing: the call ended before it waited
  ginWaitKindCredit = 1,  // room in the ring; wanted, seen: ring positions (wanted <= seen + depth)
  ginWaitKindSignal = 2,  // index: the signal
  ginWaitKindCounter = 3,   // index: the counter
  ginWaitKindVASignal = 4,  // index: the window's id; offset
  ginWaitKindFlush = 5,     // peer; wanted, seen: ring positions
  ginWaitKindQuiet = 6,     // peer; wanted, seen: ring positions
  ginWaitKindBarrier = 7,   // index: the barrier; peer: who has not arrived
};

// Written only when a wait ends without what it waited for.
struct ginWaitStatus {
  ginResult_t result;
  ginWaitKind_t kind;
  std::uint32_t context;
  std::int32_t peer;  // world rank; -1: none in particular
  std::uint32_t index;
  std::uint64_t offset;
  std::uint64_t wanted;  // the least value that would have ended the wait
  std::uint64_t seen;    // the last value seen
};

// Bounds of a call that may wait: for a condition, or for room in the ring.
struct ginWaitOptions {
  std::int64_t timeoutNs = -1;               // -1: the device communicator's; 0: for ever
  const std::uint32_t* abortFlag = nullptr;  // the call ends with ginAborted when it is not 0
  ginWaitStatus* status = nullptr;           // filled in when a wait fails; of this thread's device
};

// The name of a kind, for messages.
GIN_HOST_DEVICE constexpr const char* ginWaitKindName(ginWaitKind_t kind) {
  switch (kind) {
    case ginWaitKindCredit:
      return "room in the ring";
    case ginWaitKindSignal:
      return "signal";
    case ginWaitKindCounter:
      return "counter";
    case ginWaitKindVASignal:
      return "VA signal";
    case ginWaitKindFlush:
      return "flush";
    case ginWaitKindQuiet:
      return "quiet";
    case ginWaitKindBarrier:
      return "barrier";
    default:
      return "nothing";
  }
}
