// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/counters.h"

#include "daemon/metrics/names.h"

#include <gtest/gtest.h>

#include <set>

namespace gind {
namespace {

TEST(HotHistogram, AValueFallsIntoTheFirstBucketThatHoldsIt) {
  HotHistogram h;
  h.observe(0);
  h.observe(500);  // bounds are inclusive, as Prometheus's `le`
  h.observe(501);
  h.observe(30'000'000'000);
  h.observe(30'000'000'001);
  EXPECT_EQ(h.bucket[0].get(), 2u);
  EXPECT_EQ(h.bucket[1].get(), 1u);
  EXPECT_EQ(h.bucket[kDurationBoundsNs.size() - 1].get(), 1u);
  EXPECT_EQ(h.bucket[kDurationBoundsNs.size()].get(), 1u);
  EXPECT_EQ(h.sum_ns.get(), 60'000'001'002u);
}

TEST(Names, EveryReasonHasItsOwnName) {
  std::set<std::string_view> rejects;
  for (int i = 0; i < static_cast<int>(RejectReason::kCount_); ++i) {
    rejects.insert(reject_reason_name(static_cast<RejectReason>(i)));
  }
  EXPECT_EQ(rejects.size(), static_cast<std::size_t>(RejectReason::kCount_));
  std::set<std::string_view> fails;
  for (int i = 0; i < static_cast<int>(FailReason::kCount_); ++i) {
    fails.insert(fail_reason_name(static_cast<FailReason>(i)));
  }
  EXPECT_EQ(fails.size(), static_cast<std::size_t>(FailReason::kCount_));
  EXPECT_EQ(reject_reason_name(RejectReason::kContextInError), "context_in_error");
  EXPECT_EQ(reject_reason_name(RejectReason::kPermission), "permission");
  EXPECT_EQ(fail_reason_name(FailReason::kPeerGone), "peer_gone");
}

}  // namespace
}  // namespace gind
