// SPDX-License-Identifier: Apache-2.0
// What the consumer takes for whole and fresh: torn, stale and skipped units injected by hand.
#include "test_ring.h"

#include <gtest/gtest.h>

namespace gin::queues::testing {
namespace {

constexpr std::uint32_t kLog2 = 3;
constexpr std::uint64_t kDepth = 1u << kLog2;

// Starts, all multiples of twice the depth: the first lap, and edges of 32, 47 and 63 bits.
const std::uint64_t kStarts[] = {0,
                                 (1ull << 32) - 2 * kDepth,
                                 1ull << 32,
                                 (1ull << 47) - 2 * kDepth,
                                 (1ull << 62),
                                 (1ull << 63) - 2 * kDepth};

class AtStart : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  TestRing ring_{kLog2, GetParam(), Sharing::kExclusive};
  Unit out_[kMaxUnits] = {};

  Record record(std::uint32_t units, std::uint64_t sequence = 0) {
    for (std::uint64_t s = sequence;; ++s) {
      const Record r = encode(numbered_descriptor(1, s));
      if (r.units == units) return r;
    }
  }
  // Posts and consumes `units` one-unit records.
  void advance(std::uint64_t units) {
    for (std::uint64_t i = 0; i < units; ++i) {
      ASSERT_EQ(ring_.post_signal(0, 1), ginSuccess);
      ASSERT_EQ(ring_.consumer().copy_out(out_), 1u);
      ring_.return_credit();
    }
  }
  std::uint64_t head() { return ring_.state().head; }
  std::uint64_t parity(std::uint64_t at) { return lap_parity(at, kLog2); }
};
INSTANTIATE_TEST_SUITE_P(Starts, AtStart, ::testing::ValuesIn(kStarts));

TEST_P(AtStart, AnUntouchedRingHasNothingPending) {
  EXPECT_FALSE(ring_.consumer().pending());
  EXPECT_EQ(ring_.consumer().copy_out(out_), 0u);
  EXPECT_FALSE(ring_.consumer().has_hole());
}

TEST_P(AtStart, AUnitWithOnlyOneHalfStoredIsNotTaken) {
  for (std::uint64_t at = GetParam(); at < GetParam() + 3 * kDepth; ++at) {
    const Record r = record(1, at);
    Unit& slot = ring_.slot(head());
    const Unit old = slot;
    store_unit(&slot, r.unit[0], parity(head()));
    const Unit whole = slot;
    slot = {whole.lo, old.hi};
    EXPECT_FALSE(ring_.consumer().pending());
    EXPECT_EQ(ring_.consumer().copy_out(out_), 0u) << "hi half missing at " << at;
    slot = {old.lo, whole.hi};
    EXPECT_FALSE(ring_.consumer().pending());
    EXPECT_EQ(ring_.consumer().copy_out(out_), 0u) << "lo half missing at " << at;
    slot = whole;
    EXPECT_TRUE(ring_.consumer().pending());
    EXPECT_EQ(ring_.consumer().copy_out(out_), 1u);
    ring_.state().head += 1;
    ring_.return_credit();
  }
}

TEST_P(AtStart, TheLastLapsUnitsAreStaleForThisOne) {
  for (std::uint64_t lap = 0; lap < 4; ++lap) {
    advance(kDepth);
    EXPECT_FALSE(ring_.consumer().pending()) << "after lap " << lap;
    EXPECT_EQ(ring_.consumer().copy_out(out_), 0u);
  }
}

TEST_P(AtStart, ARecordIsTakenOnlyWhenItsLastUnitIsThere) {
  for (std::uint32_t units = 2; units <= kMaxUnits; ++units) {
    for (std::uint32_t skipped = 0; skipped < units; ++skipped) {
      advance(1);  // so that records meet every slot, the ring's end included
      const Record r = record(units);
      const std::uint64_t at = head();
      for (std::uint32_t i = 0; i < units; ++i) {
        if (i != skipped) store_unit(&ring_.slot(at + i), r.unit[i], parity(at + i));
      }
      EXPECT_EQ(ring_.consumer().copy_out(out_), 0u) << units << " units without " << skipped;
      EXPECT_EQ(ring_.consumer().position(), at);
      store_unit(&ring_.slot(at + skipped), r.unit[skipped], parity(at + skipped));
      ASSERT_EQ(ring_.consumer().copy_out(out_), units);
      for (std::uint32_t i = 0; i < units; ++i) {
        EXPECT_EQ(out_[i].lo & kPayloadMask, r.unit[i].lo);
        EXPECT_EQ(out_[i].hi & kPayloadMask, r.unit[i].hi);
      }
      ring_.state().head = at + units;
      ring_.return_credit();
    }
  }
}

TEST_P(AtStart, ARecordRunsOverTheRingsEndFromEverySlot) {
  for (std::uint32_t units = 1; units <= kMaxUnits; ++units) {
    for (std::uint64_t slot = 0; slot < kDepth; ++slot) {
      while (head() % kDepth != slot) advance(1);
      const Record r = record(units, slot);
      std::uint64_t end = 0;
      ASSERT_EQ(post(ring_.producer(), 1, r, {}, &end), ginSuccess);
      EXPECT_EQ(end, head());
      ASSERT_EQ(ring_.consumer().copy_out(out_), units);
      for (std::uint32_t i = 0; i < units; ++i) {
        EXPECT_EQ(out_[i].lo & kPayloadMask, r.unit[i].lo);
        EXPECT_EQ(out_[i].hi & kPayloadMask, r.unit[i].hi);
      }
      ring_.return_credit();
    }
  }
}

TEST(LapParity, ChangesAtEachLapAndIsOneInEvenLaps) {
  for (std::uint64_t start : kStarts) {
    for (std::uint64_t lap = 0; lap < 4; ++lap) {
      for (std::uint64_t i : {std::uint64_t{0}, kDepth - 1}) {
        EXPECT_EQ(lap_parity(start + lap * kDepth + i, kLog2), (lap + 1) % 2);
      }
    }
  }
}

TEST(Unit, StoringAndLoadingKeepsAllPayloadBits) {
  Unit slot{};
  for (unsigned bit = 0; bit < 63; ++bit) {
    const std::uint64_t v = std::uint64_t{1} << bit;
    for (std::uint64_t parity : {0u, 1u}) {
      store_unit(&slot, {v, v ^ kPayloadMask}, parity);
      const Unit back = load_unit(&slot);
      EXPECT_TRUE(is_fresh(back, parity));
      EXPECT_FALSE(is_fresh(back, parity ^ 1));
      EXPECT_EQ(back.lo & kPayloadMask, v);
      EXPECT_EQ(back.hi & kPayloadMask, v ^ kPayloadMask);
    }
  }
}

}  // namespace
}  // namespace gin::queues::testing
