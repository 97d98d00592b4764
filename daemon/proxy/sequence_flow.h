// SPDX-License-Identifier: Apache-2.0
// Signal mode "sequence": order on a fabric that keeps none.  Every write and every record of a
// (context, peer) takes the next sequence number; the target counts them in a bounded window and
// applies a strong signal once everything before it has arrived, a weak one once its own put has.
#pragma once

#include "daemon/proxy/record.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <vector>

namespace gind {

// Sequence numbers that may be unacknowledged.  Far below 2^15, so that the 16 bits of the
// immediate can never be taken for another lap.
inline constexpr std::uint32_t kSequenceWindow = 1024;

struct FlowSender {
  std::uint64_t next = 0;
  std::uint64_t acknowledged = 0;

  bool has_room(std::uint32_t n) const { return next - acknowledged + n <= kSequenceWindow; }
  // False for an acknowledgement that cannot be one.
  bool acknowledge(std::uint64_t upto) {
    if (upto - acknowledged > next - acknowledged) return false;
    acknowledged = upto;
    return true;
  }
};

class FlowReceiver {
 public:
  explicit FlowReceiver(std::uint64_t start) : below_(start), acked_(start) {}

  // `act` is called for each record whose turn has come, in order for strong ones.
  using Act = std::function<void(const WireMessage&)>;

  // A write with these low bits has landed.  False: outside the window.
  bool arrived(std::uint16_t low_bits, const Act& act);
  // A record has come.  False: outside the window, or seen before.
  bool arrived(const WireMessage& message, const Act& act);

  std::uint64_t below() const { return below_; }
  // True (once) when the sender should hear of progress.
  bool ack_due() const { return below_ - acked_ >= kSequenceWindow / 4; }
  void acked() { acked_ = below_; }

 private:
  bool mark(std::uint64_t sequence);
  bool has(std::uint64_t sequence) const;
  bool weak_ready(const WireRecord& record) const;
  void advance(const Act& act);

  struct Held {
    WireMessage message;
    bool waiting = false;
  };
  std::uint64_t below_;  // everything below has arrived
  std::uint64_t acked_;
  std::bitset<kSequenceWindow> seen_;
  std::vector<Held> held_;                   // [kSequenceWindow], made with the first record
  std::vector<std::uint64_t> weak_waiting_;  // sequences of weak records that lack a piece
};

}  // namespace gind
