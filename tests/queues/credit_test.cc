// SPDX-License-Identifier: Apache-2.0
// Credits: a poster may not overwrite what was not copied out, wakes when it was, and gives up in
// bounded time.
#include "test_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace gin::queues::testing {
namespace {

constexpr std::uint32_t kLog2 = 3;
constexpr std::uint64_t kDepth = 1u << kLog2;
const WaitLimits kShort{20'000'000, nullptr, nullptr, nullptr};      // 20 ms
const WaitLimits kBound{20'000'000'000, nullptr, nullptr, nullptr};  // only a broken ring meets it

class Credit : public ::testing::TestWithParam<Sharing> {
 protected:
  TestRing ring_{kLog2, (1ull << 32) - 2 * kDepth, GetParam()};
  Unit out_[kMaxUnits];
  bool shared() const { return GetParam() == Sharing::kShared; }
  void fill() {
    for (std::uint64_t i = 0; i < kDepth; ++i) {
      ASSERT_EQ(ring_.post_signal(0, i, kShort), ginSuccess);
    }
  }
  std::uint64_t next_addend() {
    Descriptor d{};
    const std::uint32_t n = ring_.consumer().copy_out(out_);
    EXPECT_EQ(n, 1u);
    EXPECT_EQ(decode(out_, n, &d), Field::kNone);
    return d.addend;
  }
};
INSTANTIATE_TEST_SUITE_P(Sharings, Credit,
                         ::testing::Values(Sharing::kShared, Sharing::kBlock, Sharing::kExclusive));

TEST_P(Credit, AFullRingIsNotOverwritten) {
  fill();
  EXPECT_EQ(ring_.post_signal(0, 99, kShort), ginTimeout);
  for (std::uint64_t i = 0; i < kDepth; ++i) EXPECT_EQ(next_addend(), i);
}

TEST_P(Credit, CopyingOutAloneReturnsNoCredit) {
  fill();
  EXPECT_EQ(next_addend(), 0u);
  EXPECT_EQ(ring_.post_signal(0, 99, kShort), ginTimeout);
}

TEST_P(Credit, ATimeoutLatchesASharedContextAndLeavesAOneProducerContextUsable) {
  fill();
  const std::uint64_t head = ring_.state().head;
  ASSERT_EQ(ring_.post_signal(0, 99, kShort), ginTimeout);
  for (std::uint64_t i = 0; i < kDepth; ++i) EXPECT_EQ(next_addend(), i);
  ring_.return_credit();
  if (shared()) {
    EXPECT_NE(ring_.state().local_error, 0u);
    EXPECT_EQ(ring_.post_signal(0, 100, kShort), ginTimeout);  // latched, in spite of the credit
  } else {
    EXPECT_EQ(ring_.state().head, head);
    EXPECT_EQ(ring_.state().local_error, 0u);
    EXPECT_EQ(ring_.post_signal(0, 100, kShort), ginSuccess);
    EXPECT_EQ(next_addend(), 100u);
    EXPECT_FALSE(ring_.consumer().has_hole());
  }
}

TEST_P(Credit, AWaitingPosterWakesWhenCreditReturns) {
  fill();
  ginResult_t result = ginInProgress;
  std::thread poster([&] { result = ring_.post_signal(0, kDepth, kBound); });
  for (std::uint64_t i = 0; i < kDepth; ++i) EXPECT_EQ(next_addend(), i);
  EXPECT_FALSE(ring_.consumer().pending());
  ring_.return_credit();
  poster.join();
  EXPECT_EQ(result, ginSuccess);
  EXPECT_EQ(next_addend(), kDepth);
}

TEST_P(Credit, ARecordWaitsForAllOfItsUnits) {
  fill();
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(next_addend(), i);
  ring_.return_credit();
  Descriptor d{};
  d.op = Op::kCompareSwap;  // four units, three are free
  std::uint64_t end = 0;
  EXPECT_EQ(post(ring_.producer(), 0, encode(d), kShort, &end), ginTimeout);
  for (std::uint64_t i = 3; i < kDepth; ++i) EXPECT_EQ(next_addend(), i);
}

TEST_P(Credit, TheWaitEndsByAbortFlagAndErrorWords) {
  const std::uint32_t aborted = 1;
  const std::uint64_t lost = make_error_word(ginDaemonLost);
  const std::uint64_t bad = make_error_word(ginContextError);
  const std::pair<WaitLimits, ginResult_t> cases[] = {
      {{0, &aborted, nullptr, nullptr}, ginAborted},
      {{0, nullptr, &bad, nullptr}, ginContextError},
      {{0, nullptr, nullptr, &lost}, ginDaemonLost},
  };
  for (const auto& [limits, expected] : cases) {
    TestRing ring(kLog2, 0, GetParam());
    for (std::uint64_t i = 0; i < kDepth; ++i) ASSERT_EQ(ring.post_signal(0, i), ginSuccess);
    EXPECT_EQ(ring.post_signal(0, 9, limits), expected);
  }
}

// Host memory is read over PCIe only when the cached copy says "full", and by one thread at a time.
TEST_P(Credit, TheConsumerIndexIsReadOnlyWhenTheCachedCopyIsExhausted) {
  const std::uint64_t start = ring_.state().cached_consumed;
  ring_.control().consumed = start + 3;  // a value to be noticed when it is read
  fill();
  EXPECT_EQ(ring_.state().cached_consumed, start);
  ring_.control().consumed = start + 1;
  for (std::uint64_t i = 0; i < 1; ++i) EXPECT_EQ(next_addend(), i);
  EXPECT_EQ(ring_.post_signal(0, 9, kShort), ginSuccess);
  EXPECT_EQ(ring_.state().cached_consumed, start + 1);
}

TEST_P(Credit, OthersWatchTheCachedCopyWhileOneRefreshes) {
  if (!shared()) GTEST_SKIP() << "one-producer contexts have one refresher anyway";
  fill();
  for (std::uint64_t i = 0; i < kDepth; ++i) next_addend();
  ring_.return_credit();
  const std::uint64_t end = ring_.state().head + 1;
  ring_.state().refreshing = 1;  // somebody else is at it
  EXPECT_FALSE(has_credit(ring_.producer(), end));
  raise_to_gpu(&ring_.state().cached_consumed, ring_.consumer().position());
  EXPECT_TRUE(has_credit(ring_.producer(), end));
  ring_.state().refreshing = 0;
}

}  // namespace
}  // namespace gin::queues::testing
