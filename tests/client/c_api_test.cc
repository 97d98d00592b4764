// SPDX-License-Identifier: Apache-2.0
#include "gin/gin.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

extern "C" int c_api_version(void);
extern "C" int c_api_sizes_are_set(void);

namespace {

TEST(CApi, IsUsableFromC) {
  EXPECT_EQ(c_api_version(), GIN_VERSION);
  EXPECT_EQ(c_api_sizes_are_set(), 1);
}

TEST(CApi, EveryCodeHasATextOfItsOwn) {
  std::set<std::string> texts;
  for (int i = 0; i < ginResultCount_; ++i) {
    texts.insert(ginGetErrorString(static_cast<ginResult_t>(i)));
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(ginResultCount_));
  EXPECT_NE(ginGetErrorString(static_cast<ginResult_t>(999)), nullptr);
}

TEST(CApi, LastErrorIsEmptyAtFirstAndNamesTheCallAfterwards) {
  EXPECT_STREQ(ginGetLastError(), "");
  EXPECT_EQ(ginGetVersion(nullptr), ginInvalidArgument);
  EXPECT_STREQ(ginGetLastError(), "ginGetVersion: version is a null pointer");
}

}  // namespace
