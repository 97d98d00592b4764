// SPDX-License-Identifier: Apache-2.0
// The checker itself: it accepts what is allowed and finds each kind of violation.
#include "history.h"

#include <gtest/gtest.h>

namespace gind::test {
namespace {

// Four slots, a signal with every second message.  After message 6 the slots hold 4, 5, 6, 3.
Observation after_six() { return {3, {4, 5, 6, 3}, {4, 5, 6, 3}}; }

TEST(HistoryChecker, AcceptsDataThatIsAheadOfItsSignal) {
  HistoryChecker checker(4, 2);
  EXPECT_EQ(checker.check({0, {0, 0, 0, 0}, {0, 0, 0, 0}}, 6), "");
  EXPECT_EQ(checker.check({1, {0, 1, 2, 3}, {4, 1, 2, 0}}, 6), "");
  EXPECT_EQ(checker.check(after_six(), 6), "");
  EXPECT_EQ(checker.check_end(3, 6), "");
}

TEST(HistoryChecker, FindsASignalBeforeItsOwnData) {
  Observation seen = after_six();
  seen.first[2] = 2;
  EXPECT_NE(HistoryChecker(4, 2).check(seen, 6).find("slot 2 holds message 2"), std::string::npos);
}

TEST(HistoryChecker, FindsASignalBeforeTheEndOfItsData) {
  Observation seen = after_six();
  seen.last[2] = 2;
  EXPECT_NE(HistoryChecker(4, 2).check(seen, 6), "");
}

TEST(HistoryChecker, FindsAnEarlierPutThatIsMissing) {
  Observation seen = after_six();
  seen.first[1] = 1;  // message 5, without a signal of its own, is vouched for by 6's
  EXPECT_NE(HistoryChecker(4, 2).check(seen, 6).find("slot 1"), std::string::npos);
}

TEST(HistoryChecker, FindsLostDoubledAndEarlyIncrements) {
  HistoryChecker checker(4, 2);
  EXPECT_NE(checker.check({4, {8, 5, 6, 7}, {8, 5, 6, 7}}, 6).find("only 3"), std::string::npos);
  EXPECT_NE(checker.check_end(2, 6), "");
  EXPECT_NE(checker.check_end(4, 6), "");
}

TEST(HistoryChecker, FindsASignalThatGoesBack) {
  HistoryChecker checker(4, 2);
  ASSERT_EQ(checker.check(after_six(), 6), "");
  Observation seen = after_six();
  seen.signal = 2;
  EXPECT_NE(checker.check(seen, 6).find("went back"), std::string::npos);
}

}  // namespace
}  // namespace gind::test
