// SPDX-License-Identifier: Apache-2.0
// The 32-byte record that one proxy thread sends to another: a signal that follows its data, the
// fence behind quiet, and the acknowledgements.  It names contexts by the handle that their gind
// gave out, so a record can reach nothing that was not announced.
#pragma once

#include <cstdint>
#include <cstring>

namespace gind {

enum class RecordKind : std::uint8_t {
  kSignal = 1,
  kFence = 2,        // answer when everything before it has landed
  kFenceAck = 3,     // `addend` repeats the fence's token
  kSequenceAck = 4,  // everything below `sequence` has arrived
};

struct WireRecord {
  RecordKind kind = RecordKind::kSignal;
  std::uint8_t reserved = 0;
  std::uint16_t source_rank = 0;
  std::uint16_t context = 0;
  // Signal mode "sequence": how many writes right before `sequence` a weak signal vouches for;
  // 0: everything before it (strong).
  std::uint16_t pieces = 0;
  std::uint32_t dev_comm = 0;  // the receiver's handle
  std::uint32_t signal = 0;
  std::uint64_t addend = 0;    // signal: the addend; fence and its answer: the sender's token
  std::uint64_t sequence = 0;  // signal mode "sequence" only
};
static_assert(sizeof(WireRecord) == 32);

// Immediate data of a write in signal mode "sequence": the receiver's flow id and the low bits of
// the sequence number.  Fits the four bytes that EFA and verbs have.
constexpr std::uint32_t make_immediate(std::uint32_t flow, std::uint64_t sequence) {
  return flow << 16 | static_cast<std::uint32_t>(sequence & 0xffff);
}

}  // namespace gind
