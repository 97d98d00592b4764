// SPDX-License-Identifier: Apache-2.0
// Holes: units reserved by a poster that died before it stored them.
#include "test_ring.h"

#include <gtest/gtest.h>

namespace gin::queues::testing {
namespace {

constexpr std::uint32_t kLog2 = 3;
constexpr std::uint64_t kDepth = 1u << kLog2;

class Hole : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  // The ring begins `GetParam()` units into a lap, so that holes lie across the ring's end too.
  Hole() {
    Unit out[kMaxUnits];
    for (std::uint64_t i = 0; i < GetParam(); ++i) {
      EXPECT_EQ(ring_.post_signal(0, 1), ginSuccess);
      EXPECT_EQ(ring_.consumer().copy_out(out), 1u);
      ring_.return_credit();
    }
    at_ = ring_.consumer().position();
  }
  void store(std::uint64_t offset, std::uint32_t more_units = 0) {
    const Unit payload{static_cast<std::uint64_t>(Op::kSignal) | std::uint64_t{more_units} << 4, 0};
    store_unit(&ring_.slot(at_ + offset), payload, lap_parity(at_ + offset, kLog2));
  }
  TestRing ring_{kLog2, 0, Sharing::kShared};
  std::uint64_t at_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Offsets, Hole, ::testing::Range<std::uint64_t>(0, 2 * kDepth + 1));

TEST_P(Hole, AnEmptyRingHasNone) { EXPECT_FALSE(ring_.consumer().has_hole()); }

TEST_P(Hole, WholeRecordsThatWaitAreNone) {
  store(0);
  EXPECT_FALSE(ring_.consumer().has_hole());
  store(1, 1);
  store(2);
  EXPECT_FALSE(ring_.consumer().has_hole());
}

TEST_P(Hole, AMissingUnitWithALaterOneStoredIsOne) {
  for (std::uint64_t later = 1; later < kDepth; ++later) {
    store(later);
    EXPECT_TRUE(ring_.consumer().has_hole()) << later;
  }
}

TEST_P(Hole, ARecordWhoseLaterUnitsNeverCameIsOne) {
  store(0, 2);
  EXPECT_TRUE(ring_.consumer().has_hole());
  store(1);
  EXPECT_TRUE(ring_.consumer().has_hole());
  store(2);
  EXPECT_FALSE(ring_.consumer().has_hole());
}

TEST_P(Hole, ItGoesAwayWhenTheUnitComes) {
  store(1);
  ASSERT_TRUE(ring_.consumer().has_hole());
  store(0);
  EXPECT_FALSE(ring_.consumer().has_hole());
  Unit out[kMaxUnits];
  EXPECT_EQ(ring_.consumer().copy_out(out), 1u);
  EXPECT_EQ(ring_.consumer().copy_out(out), 1u);
}

TEST_P(Hole, AFullRingHasNone) {
  for (std::uint64_t i = 0; i < kDepth; ++i) store(i);
  EXPECT_FALSE(ring_.consumer().has_hole());
}

}  // namespace
}  // namespace gin::queues::testing
