// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/suggest.h"

#include <gtest/gtest.h>

namespace gind {
namespace {

TEST(Suggest, FindsTheNearestName) {
  const std::string_view names[] = {"listen", "port", "advertise", "insecure"};
  EXPECT_EQ(nearest("lsiten", names), "listen");
  EXPECT_EQ(nearest("prot", names), "port");
  EXPECT_EQ(nearest("advertize", names), "advertise");
  EXPECT_EQ(nearest("insecured", names), "insecure");
}

TEST(Suggest, FarNamesAreNotMeant) {
  const std::string_view names[] = {"listen", "port"};
  EXPECT_EQ(nearest("bandwidth", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest(std::string(1 << 20, 'x'), names), std::nullopt);
}

TEST(Suggest, PrefersTheSameSectionThenTheSameName) {
  EXPECT_EQ(nearest_key("metrics.lisen"), "metrics.listen");
  EXPECT_EQ(nearest_key("daemon.ring_units"), "defaults.ring_units");
  EXPECT_EQ(nearest_key("nowhere.zzzzzzzz"), std::nullopt);
}

}  // namespace
}  // namespace gind
