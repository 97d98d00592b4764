// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/address.h"

#include <gtest/gtest.h>

namespace gind {
namespace {

TEST(Address, LoopbackIsAllOf127And1) {
  for (const char* yes : {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "0:0::1"}) {
    EXPECT_TRUE(is_loopback_address(yes)) << yes;
  }
  for (const char* no : {"128.0.0.1", "0.0.0.0", "::", "::2", "10.0.0.1", "::ffff:10.0.0.1",
                         "localhost", "", "127.1", "127.0.0.1.", " 127.0.0.1"}) {
    EXPECT_FALSE(is_loopback_address(no)) << no;
  }
  EXPECT_FALSE(is_loopback_address(std::string_view("127.0.0.1\0evil", 14)));
}

TEST(Address, HostPortNeedsBracketsAroundColons) {
  const auto v4 = parse_host_port("10.1.2.3:80");
  ASSERT_TRUE(v4.ok());
  EXPECT_EQ(v4.value().host, "10.1.2.3");
  EXPECT_EQ(v4.value().port, 80);
  EXPECT_FALSE(v4.value().v6);
  const auto v6 = parse_host_port("[fd00::2]:65535");
  ASSERT_TRUE(v6.ok());
  EXPECT_EQ(v6.value().host, "fd00::2");
  EXPECT_EQ(v6.value().port, 65535);
  EXPECT_TRUE(v6.value().v6);
  for (const char* bad :
       {"", ":", "80", "10.1.2.3", "10.1.2.3:", "10.1.2.3:-1", "10.1.2.3:65536", "10.1.2.3:8x",
        "::1:80", "[::1]", "[::1]:", "[10.1.2.3]:80", "host:80", "[]:80", "10.1.2.3:80,443"}) {
    const auto parsed = parse_host_port(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_NE(parsed.error().message.find("[::1]:9408"), std::string::npos);
  }
}

}  // namespace
}  // namespace gind
