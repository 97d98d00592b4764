// SPDX-License-Identifier: Apache-2.0
// The checker itself: right histories pass, each way of breaking one is caught.
#include "stream_history.h"

#include <gtest/gtest.h>

#include <set>

namespace gind::test {
namespace {

using Signal = Operation::Signal;
constexpr Operation kData{true, Signal::kNone, 0};
constexpr Operation strong(std::uint64_t addend, bool data = true) {
  return {data, Signal::kStrong, addend};
}
constexpr Operation kWeak{true, Signal::kWeak, 1};

// put, put+weak, put+strong(2), put+weak, put, signal(3), put+strong(1)
StreamChecker checker() {
  return StreamChecker({kData, kWeak, strong(2), kWeak, kData, strong(3, false), strong(1)});
}
StreamObservation seen(std::uint64_t strong_value, std::uint64_t weak,
                       std::set<std::size_t> there) {
  return {strong_value, weak, [there](std::size_t i) { return there.count(i) != 0; }};
}
bool says(const std::optional<std::string>& fault, const std::string& part) {
  return fault && fault->find(part) != std::string::npos;
}

TEST(StreamChecker, ARightHistoryPasses) {
  StreamChecker c = checker();
  EXPECT_FALSE(c.observe(seen(0, 0, {})));
  EXPECT_FALSE(c.observe(seen(0, 0, {2, 0})));  // data may be early, in any order
  EXPECT_FALSE(c.observe(seen(0, 1, {3})));     // a weak signal may overtake others
  EXPECT_FALSE(c.observe(seen(2, 2, {0, 1, 2, 3})));
  EXPECT_EQ(c.confirmed(), 3u);
  EXPECT_FALSE(c.observe(seen(5, 2, {3, 4})));  // 0..2 were confirmed, may be gone
  EXPECT_FALSE(c.observe(seen(6, 2, {6})));
  EXPECT_TRUE(c.complete());
  EXPECT_FALSE(c.finish());
}

TEST(StreamChecker, EachDatumMissingBehindAStrongSignalIsCaught) {
  for (std::size_t missing = 0; missing <= 2; ++missing) {
    StreamChecker c = checker();
    std::set<std::size_t> there{0, 1, 2};
    there.erase(missing);
    EXPECT_TRUE(says(c.observe(seen(2, 1, there)), "before its data")) << missing;
  }
  StreamChecker c = checker();
  EXPECT_FALSE(c.observe(seen(2, 1, {0, 1, 2})));
  EXPECT_TRUE(says(c.observe(seen(5, 2, {3})), "operation 4"));  // a signal alone vouches too
}

TEST(StreamChecker, AWeakSignalWithoutItsDataIsCaught) {
  StreamChecker c = checker();
  EXPECT_TRUE(says(c.observe(seen(0, 1, {0, 2})), "before its data"));
  StreamChecker d = checker();
  EXPECT_TRUE(says(d.observe(seen(0, 2, {1})), "before its data"));
}

TEST(StreamChecker, AnEarlierWeakSignalMissingBehindAStrongOneIsCaught) {
  StreamChecker c = checker();
  EXPECT_TRUE(says(c.observe(seen(2, 0, {0, 1, 2})), "earlier weak"));
}

TEST(StreamChecker, LostRepeatedAndOvertakingIncrementsAreCaught) {
  const std::set<std::size_t> all{0, 1, 2, 3, 4, 5, 6};
  for (std::uint64_t value : {1u, 3u, 4u, 7u, 8u}) {  // 3 without 2; 2 twice; too many
    StreamChecker c = checker();
    EXPECT_TRUE(says(c.observe(seen(value, 2, all)), "no prefix")) << value;
  }
  StreamChecker c = checker();
  EXPECT_TRUE(says(c.observe(seen(2, 3, all)), "only 2 were sent"));
}

TEST(StreamChecker, SignalsThatGoBackAreCaught) {
  const std::set<std::size_t> all{0, 1, 2, 3, 4, 5, 6};
  StreamChecker c = checker();
  EXPECT_FALSE(c.observe(seen(5, 2, all)));
  EXPECT_TRUE(says(c.observe(seen(2, 2, all)), "went back"));
  EXPECT_TRUE(says(c.observe(seen(5, 1, all)), "went back"));
}

TEST(StreamChecker, AHistoryThatStopsShortIsCaught) {
  StreamChecker c = checker();
  EXPECT_TRUE(says(c.finish(), "0 of 6"));
  EXPECT_FALSE(c.observe(seen(5, 2, {0, 1, 2, 3, 4})));
  EXPECT_TRUE(says(c.finish(), "5 of 6"));
}

}  // namespace
}  // namespace gind::test
