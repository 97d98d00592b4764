// SPDX-License-Identifier: Apache-2.0
// gind's side of a ring: copy a whole record out, then return its credit.  Host only.
#pragma once

#include "gin/queues/descriptor.h"
#include "gin/queues/segment.h"
#include "gin/queues/unit.h"

namespace gin::queues {

// One thread's.  The position is private truth: nothing is read back from the segment but units.
class RingConsumer {
 public:
  RingConsumer() = default;
  // `start` must be a multiple of twice the depth (zeroed memory is stale in even laps only).
  RingConsumer(const Unit* units, std::uint32_t log2_depth, std::uint64_t start = 0)
      : units_(units), position_(start), log2_depth_(log2_depth) {}

  // Copies the next record, each unit loaded once.  Returns its number of units, 0 when there is
  // no whole record yet.  The copy is not validated, but for its unit count.
  std::uint32_t copy_out(Unit* out) {
    const Unit first = load_fresh(position_);
    if (!fresh_) return 0;
    const std::uint32_t n = record_units(first);
    out[0] = first;
    for (std::uint32_t i = 1; i < n; ++i) {
      out[i] = load_fresh(position_ + i);
      if (!fresh_) return 0;  // its poster is still storing
    }
    position_ += n;
    return n;
  }

  // True when the next unit to copy is fresh (a cheap look without copying).
  bool pending() const {
    return is_fresh(load_unit(&units_[position_ & mask()]), lap_parity(position_, log2_depth_));
  }

  // Units are stored beyond the one that is missing: a poster died (or stalls) between reserving
  // and storing.  Scans the whole ring; for a slow timer, not for the poll loop.
  bool has_hole() const {
    std::uint32_t n = 1;
    if (const Unit first = load_unit(&units_[position_ & mask()]);
        is_fresh(first, lap_parity(position_, log2_depth_))) {
      n = record_units(first);
    }
    bool missing = false;
    for (std::uint64_t at = position_; at < position_ + depth(); ++at) {
      const bool fresh = is_fresh(load_unit(&units_[at & mask()]), lap_parity(at, log2_depth_));
      if (!fresh && at < position_ + n) missing = true;
      if (fresh && missing) return true;
    }
    // A record whose later units never came, with nothing behind it, is a hole as well.
    return missing && n > 1;
  }

  std::uint64_t position() const { return position_; }
  std::uint64_t depth() const { return std::uint64_t{1} << log2_depth_; }

 private:
  Unit load_fresh(std::uint64_t at) {
    const Unit u = load_unit(&units_[at & mask()]);
    fresh_ = is_fresh(u, lap_parity(at, log2_depth_));
    return u;
  }
  std::uint64_t mask() const { return depth() - 1; }

  const Unit* units_ = nullptr;
  std::uint64_t position_ = 0;
  std::uint32_t log2_depth_ = 0;
  bool fresh_ = false;
};

}  // namespace gin::queues
