// SPDX-License-Identifier: Apache-2.0
// Taking records a line at a time, and posting with head and credit in registers.
#include "test_ring.h"

#include <gtest/gtest.h>

#include <vector>

namespace gin::queues::testing {
namespace {

constexpr std::uint32_t kLog2Depth = 6;
constexpr std::uint64_t kDepth = 64;
constexpr WaitLimits kLimits{5'000'000'000, nullptr, nullptr, nullptr};  // or a fault would hang

Record numbered(std::uint32_t units, std::uint64_t number) {
  Record r{};
  r.units = units;
  for (std::uint32_t i = 0; i < units; ++i) r.unit[i] = Unit{number << 8 | i << 6, number + i};
  r.unit[0].lo = number << 8 | (units - 1) << 4;
  return r;
}
std::uint64_t number_of(const Unit* copy) { return (copy[0].lo & kPayloadMask) >> 8; }

class Drain : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void post_one(std::uint32_t units) {
    std::uint64_t end = 0;
    ASSERT_EQ(post(ring.producer(), 0, numbered(units, posted++), kLimits, &end), ginSuccess);
  }
  // Takes at most `most`; every record must be the next one, whole.
  std::uint32_t take(std::uint32_t max_units, std::uint32_t most, std::uint32_t stop_after = ~0u) {
    const std::uint32_t n =
        ring.consumer().drain(copies, max_units, most, [&](const Unit* r, std::uint32_t units) {
          EXPECT_EQ(number_of(r), taken);
          for (std::uint32_t i = 0; i < units; ++i) {
            EXPECT_EQ(r[i].hi & kPayloadMask, taken + i);
          }
          ++taken;
          return --stop_after != 0;
        });
    ring.return_credit();
    return n;
  }

  TestRing ring{kLog2Depth, GetParam(), Sharing::kShared};
  Unit copies[128];
  std::uint64_t posted = 0, taken = 0;
};

TEST_P(Drain, TakesEveryRecordOnceAndInOrderOverManyLaps) {
  std::uint32_t random = 1;
  while (posted < 5000) {
    std::uint32_t room = kDepth;
    while (room >= 4) {
      random = random * 1664525 + 1013904223;
      const std::uint32_t units = 1 + (random >> 16) % 4;
      post_one(units);
      room -= units;
      if ((random >> 24) % 4 == 0) break;
    }
    while (taken < posted) {
      random = random * 1664525 + 1013904223;
      ASSERT_GT(take(4 + (random >> 20) % 100, 1 + (random >> 10) % 20), 0u);
    }
    EXPECT_EQ(take(128, 128), 0u);
  }
}

TEST_P(Drain, StopsAtTheMostRecordsAndWhenTheTakerHasEnough) {
  for (int i = 0; i < 20; ++i) post_one(2);
  EXPECT_EQ(take(128, 7), 7u);
  EXPECT_EQ(take(128, 0), 0u);
  EXPECT_EQ(take(128, 128, 3), 3u);
  EXPECT_EQ(take(8, 128), 4u);
  EXPECT_EQ(take(128, 128), 6u);
  EXPECT_EQ(taken, 20u);
}

TEST_P(Drain, LeavesARecordWhoseLastUnitIsMissing) {
  post_one(1);
  const std::uint64_t at = ring.state().head;
  const Record r = numbered(4, posted++);
  ring.state().head = at + 4;
  const auto store = [&](std::uint32_t i) {
    store_unit(&ring.slot(at + i), r.unit[i], lap_parity(at + i, kLog2Depth));
  };
  store(0), store(1), store(3);
  EXPECT_EQ(take(128, 128), 1u);
  EXPECT_EQ(take(128, 128), 0u);
  EXPECT_EQ(ring.consumer().position(), at);
  store(2);
  EXPECT_EQ(take(128, 128), 1u);
}

TEST_P(Drain, OneHalfOfAUnitIsNotAUnit) {
  const std::uint64_t at = ring.state().head;
  ring.state().head = at + 1;
  const Record r = numbered(1, posted++);
  const std::uint64_t parity = lap_parity(at, kLog2Depth);
  ring.slot(at).lo = r.unit[0].lo | parity << kParityShift;
  EXPECT_EQ(take(128, 128), 0u);
  ring.slot(at).hi = r.unit[0].hi | parity << kParityShift;
  EXPECT_EQ(take(128, 128), 1u);
}

INSTANTIATE_TEST_SUITE_P(Starts, Drain,
                         ::testing::Values(0, kDepth * 2, (std::uint64_t{1} << 32) - 2 * kDepth,
                                           (std::uint64_t{1} << 63) - 2 * kDepth));

class Session : public ::testing::TestWithParam<Sharing> {
 protected:
  TestRing ring{kLog2Depth, 0, GetParam()};
  Unit copies[128];
};

TEST_P(Session, ANextSessionAndAPlainPostGoOnWhereItStopped) {
  std::uint64_t number = 0, taken = 0, end = 0;
  const auto drain = [&] {
    ring.consumer().drain(copies, 128, 128, [&](const Unit* r, std::uint32_t) {
      EXPECT_EQ(number_of(r), taken++);
      return true;
    });
    ring.return_credit();
  };
  for (int round = 0; round < 50; ++round) {
    {
      ThreadProducer session(ring.producer());
      for (std::uint32_t units = 1; units <= 4; ++units) {
        ASSERT_EQ(session.post(2, numbered(units, number++), kLimits, &end), ginSuccess);
        EXPECT_EQ(ring.state().head, end);
        EXPECT_EQ(ring.last_posted()[2], end);
      }
    }
    ASSERT_EQ(post(ring.producer(), 1, numbered(3, number++), kLimits, &end), ginSuccess);
    drain();
    EXPECT_EQ(taken, number);
  }
}

TEST_P(Session, AFullRingEndsItsPostByTheDeadlineAndTakesNothing) {
  ThreadProducer session(ring.producer());
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < kDepth / 4; ++i) {
    ASSERT_EQ(session.post(0, numbered(4, i), kLimits, &end), ginSuccess);
  }
  const WaitLimits limits{2'000'000, nullptr, nullptr, nullptr};
  EXPECT_EQ(session.post(0, numbered(1, 99), limits, &end), ginTimeout);
  EXPECT_EQ(ring.state().head, kDepth);
  ring.consumer().drain(copies, 128, 1, [](const Unit*, std::uint32_t) { return true; });
  ring.return_credit();
  EXPECT_EQ(session.post(0, numbered(4, 16), limits, &end), ginSuccess);
  EXPECT_EQ(end, kDepth + 4);
}

INSTANTIATE_TEST_SUITE_P(Owners, Session, ::testing::Values(Sharing::kBlock, Sharing::kExclusive));

}  // namespace
}  // namespace gin::queues::testing
