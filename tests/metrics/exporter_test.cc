// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/exporter.h"

#include "scrape.h"

#include <gtest/gtest.h>

namespace gind {
namespace {

std::shared_ptr<const MetricsSources> nothing() { return std::make_shared<MetricsSources>(); }

std::string error_of(const std::string& listen) {
  const auto started = MetricsExporter::start(listen, nothing());
  return started.ok() ? "no error" : started.error().message;
}

TEST(MetricsExporter, ATakenPortIsAnErrorThatNamesItAndTheRemedy) {
  auto first = MetricsExporter::start("127.0.0.1:0", nothing());
  ASSERT_TRUE(first.ok()) << first.error().message;
  const std::string address = "127.0.0.1:" + std::to_string(first.value()->port());
  const std::string error = error_of(address);
  EXPECT_NE(error.find("metrics.listen " + address + ": Address already in use"), std::string::npos)
      << error;
  EXPECT_NE(error.find("free port"), std::string::npos) << error;
  // The first one goes on, and its end frees the port.
  EXPECT_FALSE(http_get(first.value()->port()).empty());
  first.value().reset();
  const auto again = MetricsExporter::start(address, nothing());
  EXPECT_TRUE(again.ok()) << again.error().message;
}

TEST(MetricsExporter, BadAddressesAreErrors) {
  EXPECT_NE(error_of("localhost").find("metrics.listen: \"localhost\" is not an address"),
            std::string::npos);
  EXPECT_NE(error_of("").find("is not an address"), std::string::npos);
  // TEST-NET-1 is nobody's.
  EXPECT_NE(error_of("192.0.2.1:9408").find("metrics.listen 192.0.2.1:9408: "), std::string::npos);
}

TEST(MetricsExporter, ServesIpv6OrSaysThatItCannot) {
  const auto exporter = MetricsExporter::start("[::1]:0", nothing());
  if (!exporter.ok()) {  // no IPv6 on this machine, or in Debian's civetweb
    const std::string& error = exporter.error().message;
    EXPECT_NE(error.find("metrics.listen [::1]:0: "), std::string::npos) << error;
    EXPECT_TRUE(error.find("use an IPv4 address") != std::string::npos ||
                error.find("set metrics.listen to") != std::string::npos)
        << error;
    GTEST_SKIP() << error;
  }
  const Exposition e = parse_exposition(http_get(exporter.value()->port(), true));
  EXPECT_EQ(e.at("gind_build_info{version=\"\"}"), 1);
}

TEST(MetricsExporter, OtherPathsAreNotFound) {
  const auto exporter = MetricsExporter::start("127.0.0.1:0", nothing());
  ASSERT_TRUE(exporter.ok()) << exporter.error().message;
  const std::string response = http_get(exporter.value()->port(), false, "/etc/passwd");
  EXPECT_NE(response.find(" 404 "), std::string::npos) << response;
}

}  // namespace
}  // namespace gind
