// SPDX-License-Identifier: Apache-2.0
// Flush by position, errors of single peers, rolling comparison, the ways out of a wait.
#include "test_ring.h"

#include <gtest/gtest.h>

namespace gin::queues::testing {
namespace {

constexpr std::uint32_t kRanks = 4;
const WaitLimits kShort{20'000'000, nullptr, nullptr, nullptr};  // 20 ms

class Flush : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  TestRing ring_{6, GetParam(), Sharing::kShared, kRanks};
  ginResult_t peer(std::uint32_t p, const WaitLimits& limits = kShort) {
    return flush_peer(ring_.producer(), ring_.done().data(), p, limits);
  }
  ginResult_t all(const WaitLimits& limits = kShort) {
    return flush_all(ring_.producer(), ring_.done().data(), kRanks, limits);
  }
};
INSTANTIATE_TEST_SUITE_P(Starts, Flush,
                         ::testing::Values(0, (1ull << 32) - 128, 1ull << 62, (1ull << 63) - 128));

TEST_P(Flush, NothingPostedIsComplete) {
  EXPECT_EQ(all(), ginSuccess);
  EXPECT_EQ(peer(2), ginSuccess);
}

TEST_P(Flush, WaitsForExactlyTheLastPostedPositionOfThePeer) {
  ASSERT_EQ(ring_.post_signal(1, 1), ginSuccess);
  ASSERT_EQ(ring_.post_signal(1, 1), ginSuccess);
  const std::uint64_t end = ring_.state().head;
  EXPECT_EQ(ring_.last_posted()[1], end);
  EXPECT_EQ(peer(1), ginTimeout);
  ring_.done()[1] = end - 1;
  EXPECT_EQ(peer(1), ginTimeout);
  EXPECT_EQ(peer(0), ginSuccess);  // nothing went there
  EXPECT_EQ(all(), ginTimeout);
  ring_.done()[1] = end;
  EXPECT_EQ(peer(1), ginSuccess);
  EXPECT_EQ(all(), ginSuccess);
}

TEST_P(Flush, DoneAllAloneSufficesAndMayNotBeShort) {
  ASSERT_EQ(ring_.post_signal(0, 1), ginSuccess);
  ASSERT_EQ(ring_.post_signal(3, 1), ginSuccess);
  ring_.control().done_all = ring_.state().head - 1;
  EXPECT_EQ(all(), ginTimeout);
  ring_.control().done_all = ring_.state().head;
  EXPECT_EQ(all(), ginSuccess);
}

TEST_P(Flush, ADeadPeerGivesItsErrorAndBlocksNobodyElse) {
  for (std::uint32_t p = 0; p < kRanks; ++p) ASSERT_EQ(ring_.post_signal(p, 1), ginSuccess);
  ring_.done()[1] = kDoneError | ginRemoteError;
  ring_.done()[0] = ring_.done()[2] = ring_.last_posted()[3];
  EXPECT_EQ(peer(0), ginSuccess);
  EXPECT_EQ(peer(1), ginRemoteError);
  EXPECT_EQ(peer(2), ginSuccess);
  EXPECT_EQ(peer(3), ginTimeout);
  EXPECT_EQ(all(), ginTimeout);  // peer 3 is waited for in spite of peer 1
  ring_.done()[3] = ring_.last_posted()[3];
  EXPECT_EQ(all(), ginRemoteError);
}

TEST(FlushEnds, ByDeadlineAbortFlagAndErrorWords) {
  TestRing ring(6, 0, Sharing::kShared, kRanks);
  ASSERT_EQ(ring.post_signal(0, 1), ginSuccess);
  const auto flush = [&](const WaitLimits& l) {
    return flush_all(ring.producer(), ring.done().data(), kRanks, l);
  };
  const std::uint32_t aborted = 1;
  const std::uint64_t lost = make_error_word(ginDaemonLost);
  const std::uint64_t bad = make_error_word(ginContextError, 3, 77);
  EXPECT_EQ(flush({1, nullptr, nullptr, nullptr}), ginTimeout);
  EXPECT_EQ(flush({0, &aborted, nullptr, nullptr}), ginAborted);
  EXPECT_EQ(flush({0, nullptr, nullptr, &lost}), ginDaemonLost);
  EXPECT_EQ(flush({0, nullptr, &bad, nullptr}), ginContextError);
}

TEST(ErrorWord, KeepsItsPartsAndRefusesUnknownCodes) {
  const std::uint64_t w = make_error_word(ginRemoteError, 17, (1ull << 40) - 1);
  EXPECT_EQ(error_code(w), ginRemoteError);
  EXPECT_EQ((w >> 16) & 0xff, 17u);
  EXPECT_EQ(w >> 24, (1ull << 40) - 1);
  EXPECT_EQ(error_code(ginResultCount_), ginInternalError);
  EXPECT_EQ(error_code(0xffff), ginInternalError);
}

// Two posters to one peer: the one with the lower position may be the later one to say so.
TEST_P(Flush, APostDoesNotLowerWhatALaterRecordRaised) {
  const std::uint64_t later = ring_.state().head + 40;
  ring_.last_posted()[1] = later;
  ASSERT_EQ(ring_.post_signal(1, 1), ginSuccess);
  EXPECT_EQ(ring_.last_posted()[1], later);
}

TEST(LastPosted, OnlyRises) {
  std::uint64_t word = 10;
  raise_to_gpu(&word, 9);
  EXPECT_EQ(word, 10u);
  raise_to_gpu(&word, 11);
  EXPECT_EQ(word, 11u);
}

TEST(Rolling, ComparesAcrossTheWrapForEveryWidth) {
  for (unsigned bits : {8u, 32u, kCounterBits, 63u, 64u}) {
    const std::uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    const std::uint64_t half = mask / 2;
    EXPECT_TRUE(reached(0, 0, bits));
    EXPECT_TRUE(reached(5, 5, bits));
    EXPECT_TRUE(reached(6, 5, bits));
    EXPECT_FALSE(reached(4, 5, bits));
    EXPECT_TRUE(reached(0, mask, bits)) << bits;  // wrapped past the target
    EXPECT_TRUE(reached(3, mask - 2, bits)) << bits;
    EXPECT_FALSE(reached(mask, 0, bits)) << bits;  // target just behind the wrap
    EXPECT_FALSE(reached(mask - 2, 3, bits)) << bits;
    EXPECT_TRUE(reached(half, 0, bits)) << bits;  // farthest that counts as reached
    EXPECT_FALSE(reached(half + 1, 0, bits)) << bits;
  }
  EXPECT_TRUE(reached(1ull << kCounterBits, 0, kCounterBits));  // higher bits are ignored
}

}  // namespace
}  // namespace gin::queues::testing
