// SPDX-License-Identifier: Apache-2.0
// A transport for tests: it reorders, delays, batches and splits the operations of another one, by
// seeded decisions, as far as a signal mode allows it; and it can be wrong on purpose.
#pragma once

#include "gind/transports/transport.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace gind {

// What is done wrong on purpose, so that a checker can prove that it sees it.
enum class AdversaryFault : std::uint8_t {
  kNone,
  kSendBeforeWrites,  // sends and atomics overtake earlier writes although the mode promises order
  kLoseSend,          // a send is dropped, and completes
  kDoubleSend,        // a send is delivered twice
  kDoneBeforeRead,    // a write completes before its source has been read
  kDoneByCount,       // whichever request completes, the oldest one is reported done
};

struct AdversaryOptions {
  std::uint64_t seed = 1;            // of every decision; endpoint i uses (seed, i)
  std::uint32_t hold = 48;           // requests held back at most, per endpoint
  std::uint32_t delay = 12;          // polls that a request is held back, at most
  std::uint64_t split_bytes = 1024;  // larger writes are split now and then; 0: never
  AdversaryFault fault = AdversaryFault::kNone;
  std::uint32_t fault_one_in = 50;  // how often it strikes
  // What the transport claims.  kSequence: nothing is ordered.  kRecord: a send follows what was
  // posted to that peer before.  kAtomic: so does an atomic.
  SignalMode mode = SignalMode::kSequence;
  // Called for each send before it goes out; may change the payload.
  std::function<void(std::span<std::byte> payload)> tamper;
};

// Wraps `inner`, which outlives it.  Thread safety as `inner`.
std::unique_ptr<Transport> make_adversary_transport(Transport& inner,
                                                    const AdversaryOptions& options);

}  // namespace gind
