// SPDX-License-Identifier: Apache-2.0
// The 32-byte record that one proxy thread sends to another: a signal that follows its data, or
// brings it along, operations on a word of a window, the fence behind quiet, and the answers.  It
// names contexts by the handle that their gind gave out, so a record can reach nothing that was not
// announced.
#pragma once

#include "daemon/proxy/rank_view.h"
#include "gind/transports/transport.h"

#include <cstdint>
#include <cstring>

namespace gind {

enum class RecordKind : std::uint8_t {
  kSignal = 1,
  kFence = 2,        // answer when everything before it has landed
  kFenceAck = 3,     // `addend` repeats the fence's token
  kSequenceAck = 4,  // everything below `sequence` has arrived
  kPut = 5,          // a small put and its signal: the data stand behind the record
  kVaSignal = 6,     // a signal on a word of a window; WireWord stands behind the record
  kFetchAdd = 7,     // answered with the old value; WireWord behind it
  kCompareSwap = 8,
  kAtomicReply = 9,  // `addend`: the old value; `sequence` repeats the token; `bytes` 1: refused
};

// Behind the record of an operation on an 8-byte word of a window, whose index is in `signal`.
struct WireWord {
  std::uint64_t offset = 0;
  std::uint64_t operand = 0;  // fetch-add: the addend; compare-swap: the new value
  std::uint64_t compare = 0;
  std::uint64_t token = 0;  // of the sender, repeated in the answer
};

// In the place of WireRecord::pieces: a weak signal without data, which waits for nothing.
inline constexpr std::uint16_t kNothing = 0xffff;

struct WireRecord {
  RecordKind kind = RecordKind::kSignal;
  std::uint8_t bytes = 0;  // put: of the data
  std::uint16_t source_rank = 0;
  std::uint16_t context = 0;
  // Signal mode "sequence": how many writes right before `sequence` a weak signal vouches for;
  // 0: everything before it (strong); kNothing: no data.  Put: the window.
  std::uint16_t pieces = 0;
  std::uint32_t dev_comm = 0;  // the receiver's handle
  std::uint32_t signal = 0;
  std::uint64_t addend = 0;    // signal: the addend; fence and its answer: the sender's token
  std::uint64_t sequence = 0;  // signal mode "sequence" only; put: the offset in the window
};
static_assert(sizeof(WireRecord) == 32);
static_assert(sizeof(WireRecord) + sizeof(WireWord) <= kMaxSendBytes);

constexpr bool is_word_operation(RecordKind kind) {
  return kind == RecordKind::kVaSignal || kind == RecordKind::kFetchAdd ||
         kind == RecordKind::kCompareSwap;
}

// A record as it came, with its word operation where it has one.
struct WireMessage {
  WireRecord record;
  WireWord word;
};

// Of a put that travels in its record, at most.
inline constexpr std::uint32_t kSmallPutBytes = kMaxSendBytes - sizeof(WireRecord);

// Where a put that came in a record belongs; null when it does not lie in a window of this rank, or
// brings another number of bytes than it says.
inline char* small_put_target(const RankView& view, const WireRecord& record,
                              std::size_t payload_bytes) {
  if (record.bytes == 0 || record.bytes != payload_bytes || record.bytes > kSmallPutBytes ||
      record.pieces >= view.windows.size()) {
    return nullptr;
  }
  const WindowView* window = view.windows[record.pieces];
  if (window == nullptr || record.bytes > window->bytes ||
      record.sequence > window->bytes - record.bytes) {
    return nullptr;
  }
  return window->base + record.sequence;
}

// The word that a record names; null when it is not an aligned one in a window of this rank, or,
// for a VA signal, not in one that was registered for them.
inline std::uint64_t* word_target(const RankView& view, const WireMessage& message) {
  const std::uint32_t index = message.record.signal;
  const WindowView* window = index < view.windows.size() ? view.windows[index] : nullptr;
  const std::uint64_t offset = message.word.offset;
  if (window == nullptr || window->bytes < sizeof(std::uint64_t) ||
      offset > window->bytes - sizeof(std::uint64_t)) {
    return nullptr;
  }
  if (message.record.kind == RecordKind::kVaSignal && !window->strict) return nullptr;
  char* const at = window->base + offset;
  if (reinterpret_cast<std::uintptr_t>(at) % sizeof(std::uint64_t) != 0) return nullptr;
  return reinterpret_cast<std::uint64_t*>(at);
}

// Immediate data of a write in signal mode "sequence": the receiver's flow id and the low bits of
// the sequence number.  Fits the four bytes that EFA and verbs have.
constexpr std::uint32_t make_immediate(std::uint32_t flow, std::uint64_t sequence) {
  return flow << 16 | static_cast<std::uint32_t>(sequence & 0xffff);
}

}  // namespace gind
