// SPDX-License-Identifier: Apache-2.0
// gind's side of a ring: copy a whole record out, then return its credit.  Host only.
#pragma once

#include "gin/queues/descriptor.h"
#include "gin/queues/segment.h"
#include "gin/queues/unit.h"

#include <bit>

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

  // Copies up to max_units (>= kMaxUnits) into `out`, a line of the ring at a time, and hands up to
  // max_records whole records to take(const Unit* copy, uint32 units), which returns whether it
  // wants more.  What was copied and not taken stays in the ring.  Returns the records taken.
  template <typename Take>
  std::uint32_t drain(Unit* out, std::uint32_t max_units, std::uint32_t max_records, Take take) {
    const std::uint64_t start = position_;
    std::uint32_t copied = 0;
    std::uint32_t at = 0;
    std::uint32_t records = 0;
    bool more = max_records != 0;
    while (more && copied < max_units) {
      // Line by line, so that the next lines are on their way while these records are taken.
      const std::uint32_t n = copy_line(out + copied, start + copied, max_units - copied);
      copied += n;
      more = n != 0;
      while (at < copied) {
        const std::uint32_t units = guess_units(out[at]);
        if (units > copied - at) break;  // its last units are still to come
        position_ = start + at + units;
        ++records;
        const bool wanted = take(static_cast<const Unit*>(out + at), units);
        at += units;
        if (!wanted || records == max_records) return records;
      }
    }
    return records;
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
  static constexpr std::uint32_t kUnitsOfLine = 4;
  static_assert(kUnitsOfLine * sizeof(Unit) == kCacheLine);
  // How far ahead lines are asked for: they come from the other side of a bus.
  static constexpr std::uint32_t kAhead = 16 * kUnitsOfLine;

  // Copies fresh units from position `from` on, to the end of the line at most; each is loaded
  // once.  Returns how many.
  std::uint32_t copy_line(Unit* out, std::uint64_t from, std::uint32_t max) const {
    const std::uint64_t slot = from & mask();
    const std::uint64_t parity = lap_parity(from, log2_depth_);
    const auto left = static_cast<std::uint32_t>(kUnitsOfLine - slot % kUnitsOfLine);
    const std::uint32_t n = left < max ? left : max;
    if (n < kUnitsOfLine) {
      for (std::uint32_t i = 0; i < n; ++i) {
        out[i] = load_unit(&units_[slot + i]);
        if (!is_fresh(out[i], parity)) return i;
      }
      return n;
    }
    __builtin_prefetch(&units_[(slot + kAhead) & mask()]);
    const std::uint32_t stale = copy_line_of_units(out, &units_[slot]) ^ (parity != 0 ? 0xffu : 0u);
    return stale == 0 ? kUnitsOfLine : static_cast<std::uint32_t>(std::countr_zero(stale)) / 2;
  }

  // record_units, but so that the processor need not wait for it: records mostly have as many units
  // as the one before, and where the next one begins then follows from a guess that it checks.
  std::uint32_t guess_units(const Unit& first) {
    std::uint32_t units = record_units(first);
    if (units != usual_units_) {
      asm volatile("" : "+r"(units));  // or the compiler would use the loaded number in any case
      usual_units_ = units;
    }
    return usual_units_;
  }

  Unit load_fresh(std::uint64_t at) {
    const Unit u = load_unit(&units_[at & mask()]);
    fresh_ = is_fresh(u, lap_parity(at, log2_depth_));
    return u;
  }
  std::uint64_t mask() const { return depth() - 1; }

  const Unit* units_ = nullptr;
  std::uint64_t position_ = 0;
  std::uint32_t log2_depth_ = 0;
  std::uint32_t usual_units_ = 1;
  bool fresh_ = false;
};

}  // namespace gin::queues
