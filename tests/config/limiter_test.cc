// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/limiter.h"

#include <gtest/gtest.h>

namespace gind {
namespace {

using namespace std::chrono_literals;
using Time = LogLimiter::Clock::time_point;

TEST(LogLimiter, AllowsSoManyAnIntervalAndReportsTheRest) {
  LogLimiter limiter(2, 10s);
  const Time t{};
  EXPECT_TRUE(limiter.admit("a", t).allowed);
  EXPECT_TRUE(limiter.admit("a", t + 1s).allowed);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(limiter.admit("a", t + 2s).allowed);
  EXPECT_FALSE(limiter.admit("a", t + 9s).allowed);
  const auto next = limiter.admit("a", t + 10s);
  EXPECT_TRUE(next.allowed);
  EXPECT_EQ(next.suppressed, 6u);
  EXPECT_EQ(suppressed_note(next), " (6 more suppressed)");
  const auto second = limiter.admit("a", t + 10s);
  EXPECT_TRUE(second.allowed);
  EXPECT_EQ(second.suppressed, 0u) << "reported once";
  EXPECT_EQ(suppressed_note(second), "");
}

TEST(LogLimiter, KeysDoNotShareTheirAllowance) {
  LogLimiter limiter(1, 10s);
  const Time t{};
  EXPECT_TRUE(limiter.admit("a", t).allowed);
  EXPECT_TRUE(limiter.admit("b", t).allowed);
  EXPECT_FALSE(limiter.admit("a", t).allowed);
}

TEST(LogLimiter, InventedKeysShareOneAllowance) {
  LogLimiter limiter(1, 10s, 4);
  const Time t{};
  int allowed = 0;
  for (int i = 0; i < 1000; ++i) allowed += limiter.admit("key " + std::to_string(i), t).allowed;
  EXPECT_EQ(allowed, 5) << "four keys and the shared one";
  EXPECT_TRUE(limiter.admit("key 2000", t + 10s).allowed) << "expired keys make room";
}

TEST(LogLimiter, SuppressedCountsOfSilentKeysAreNotLost) {
  LogLimiter limiter(1, 10s);
  const Time t{};
  for (int i = 0; i < 4; ++i) (void)limiter.admit("a", t);
  (void)limiter.admit("b", t);
  EXPECT_TRUE(limiter.take_expired(t + 5s).empty());
  const auto expired = limiter.take_expired(t + 10s);
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].first, "a");
  EXPECT_EQ(expired[0].second, 3u);
  EXPECT_TRUE(limiter.take_expired(t + 20s).empty());
}

}  // namespace
}  // namespace gind
