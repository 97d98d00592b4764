// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/value.h"

#include <gtest/gtest.h>

namespace gind {
namespace {

TEST(Value, SizesAndTimesHaveUnits) {
  EXPECT_EQ(parse_bytes("64KiB"), 65536u);
  EXPECT_EQ(parse_bytes("1 GiB"), 1u << 30);
  EXPECT_EQ(parse_bytes("7B"), 7u);
  EXPECT_EQ(parse_nanoseconds("200us"), 200'000u);
  EXPECT_EQ(parse_nanoseconds("5s"), 5'000'000'000u);
  EXPECT_EQ(parse_nanoseconds("1min"), 60'000'000'000u);
  for (const char* bad : {"", "KiB", "64", "64KB", "64kib", "1.5MiB", "-1B", "+1B", "64KiB ",
                          "16777216TiB", "99999999999999999999B"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
  for (const char* bad : {"", "s", "5", "5 sec", "1e3s", "-1s", "5S", "9999999999999h"}) {
    EXPECT_EQ(parse_nanoseconds(bad), std::nullopt) << bad;
  }
}

TEST(Value, FormattedTextParsesBack) {
  for (const std::uint64_t n : {0ull, 1ull, 1023ull, 1024ull, 65536ull, 65537ull, 1ull << 40,
                                (1ull << 47) - 1, 18446744073709551615ull}) {
    EXPECT_EQ(parse_bytes(format_bytes(n)), n) << format_bytes(n);
    EXPECT_EQ(parse_nanoseconds(format_nanoseconds(n)), n) << format_nanoseconds(n);
  }
  EXPECT_EQ(format_bytes(65536), "64KiB");
  EXPECT_EQ(format_nanoseconds(60'000'000'000), "1min");
}

TEST(Value, QuotedTextHoldsNoControlCharacters) {
  EXPECT_EQ(toml_quote("a\"b\\c\n\x7f"), "\"a\\\"b\\\\c\\u000a\\u007f\"");
}

}  // namespace
}  // namespace gind
