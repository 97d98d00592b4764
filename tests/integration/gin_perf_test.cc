// SPDX-License-Identifier: Apache-2.0
// gin-perf as its users run it, between two ginds and without any.
#include "cluster.h"
#include "programs.h"
#include "shell.h"

#include <gtest/gtest.h>

namespace gind::test {
namespace {

Ended gin_perf(const std::string& arguments) {
  return shell("timeout 90 " + program("gin-perf") + " " + arguments);
}

class GinPerf : public testing::Test {
 protected:
  Cluster cluster{{.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = {}}};
  std::string sockets = " --sockets " + cluster.node(0).socket() + "," + cluster.node(1).socket();
};

TEST_F(GinPerf, LatencyIsMeasuredAndVerifiedAtOddSizes) {
  for (const char* size : {"1", "9", "15", "100001"}) {
    const Ended e =
        gin_perf("put_lat -n 30 --out_json /dev/stdout -s " + std::string(size) + sockets);
    ASSERT_EQ(e.code, 0) << e.output;
    const auto json = json_in(e.output);
    ASSERT_FALSE(json.is_discarded()) << e.output;
    EXPECT_EQ(json["results"][0]["iterations"], 30) << e.output;
    EXPECT_GT(json["results"][0]["t_typical_usec"], 0) << e.output;
    EXPECT_GE(json["verified"]["messages"], 4) << e.output;
    EXPECT_GE(json["verified"]["stamps"], 60) << e.output;
    EXPECT_NE(e.output.find(" verified: "), std::string::npos) << e.output;
  }
}

TEST_F(GinPerf, CollectivesOfFourRanksAreMeasuredAndCompared) {
  const std::string four =
      sockets + "," + cluster.node(0).socket() + "," + cluster.node(1).socket() + " --nranks 4";
  for (const char* test : {"all_to_all", "all_gather", "reduce_scatter", "all_reduce"}) {
    const Ended e =
        gin_perf(std::string(test) + " -s 10007 -n 20 -q 2 --out_json /dev/stdout" + four);
    ASSERT_EQ(e.code, 0) << e.output;
    const auto json = json_in(e.output);
    ASSERT_FALSE(json.is_discarded()) << e.output;
    EXPECT_EQ(json["results"][0]["iterations"], 20) << e.output;
    EXPECT_GT(json["results"][0].at("algbw_gb_per_sec"), 0) << e.output;
    EXPECT_EQ(json["verified"]["messages"], 12) << e.output;
  }
}

TEST_F(GinPerf, TheBaselineRunsInTurnsWithGindAndIsChecked) {
  Ended e = gin_perf("put_lat -n 200 -s 100 --baseline --out_json /dev/stdout" + sockets);
  ASSERT_EQ(e.code, 0) << e.output;
  auto json = json_in(e.output);
  ASSERT_FALSE(json.is_discarded()) << e.output;
  EXPECT_EQ(json["baseline"][0]["provider"], "tcp;ofi_rxm") << e.output;
  EXPECT_EQ(json["baseline"][0]["rounds"], 9) << e.output;
  EXPECT_GT(json["baseline"][0]["bare_usec"], 0) << e.output;
  EXPECT_GT(json["baseline"][0]["gind_usec"], 0) << e.output;
  EXPECT_GE(json["verified"]["baseline"], 9 * 16) << e.output;
  e = gin_perf("put_rate -n 2000 --baseline --baseline-rounds 3 --out_json /dev/stdout" + sockets);
  ASSERT_EQ(e.code, 0) << e.output;
  json = json_in(e.output);
  ASSERT_FALSE(json.is_discarded()) << e.output;
  EXPECT_EQ(json["baseline"][0]["rounds"], 3) << e.output;
  EXPECT_GT(json["baseline"][0]["bare_mpps"], 0) << e.output;
  EXPECT_GT(json["baseline"][0]["ratio"], 0) << e.output;
}

TEST_F(GinPerf, ABaselineThatCannotBeIsRefusedByName) {
  Ended e = gin_perf("put_lat -n 10 --baseline nonsense" + sockets);
  EXPECT_NE(e.code, 0);
  EXPECT_NE(e.output.find("\"nonsense\""), std::string::npos) << e.output;
  const Cluster loopback({.nodes = 1, .provider = "loopback", .namespaces = false, .set = {}});
  e = gin_perf("put_lat -n 10 --baseline --sockets " + loopback.place({1})[0]);
  EXPECT_NE(e.code, 0);
  EXPECT_NE(e.output.find("name one"), std::string::npos) << e.output;
}

TEST(GinPerfQueue, ChecksEveryRecordOfCpuPosters) {
  const Ended e = gin_perf("queue --grid 1x2 --units 2 -n 200000 --out_json /dev/stdout");
  ASSERT_EQ(e.code, 0) << e.output;
  const auto json = json_in(e.output);
  ASSERT_FALSE(json.is_discarded()) << e.output;
  EXPECT_EQ(json["results"].size(), 2u) << e.output;  // shared and alone
  EXPECT_EQ(json["results"][0]["records"], 200000) << e.output;
  EXPECT_GT(json["results"][0]["mrecords_per_sec"], 0) << e.output;
  EXPECT_GT(json["round_trip"]["t_typical_usec"], 0) << e.output;
  EXPECT_NE(gin_perf("queue --grid 1by2").code, 0);
  EXPECT_NE(gin_perf("queue --units 3").code, 0);
  EXPECT_NE(gin_perf("queue --sharing exclusive --grid 1x2").code, 0);
}

TEST_F(GinPerf, StreamsAreMeasuredAndVerifiedInEachContext) {
  const Ended e = gin_perf("put_rate -n 2000 -q 3 -t 16 --out_json /dev/stdout" + sockets);
  ASSERT_EQ(e.code, 0) << e.output;
  const auto json = json_in(e.output);
  ASSERT_FALSE(json.is_discarded()) << e.output;
  EXPECT_EQ(json["results"][0]["iterations"], 6000) << e.output;
  EXPECT_EQ(json["verified"]["messages"], 48) << e.output;
  EXPECT_EQ(gin_perf("put_bw -D 0.2 --exclusive" + sockets).code, 0);
}

TEST(GinPerfAlone, SaysThatNoDaemonIsThere) {
  const Ended e = gin_perf("put_lat --sockets /nonexistent/gind.sock");
  EXPECT_EQ(e.code, 3) << e.output;
  EXPECT_NE(e.output.find("/nonexistent/gind.sock"), std::string::npos) << e.output;
}

TEST(GinPerfAlone, RefusesWrongUse) {
  EXPECT_EQ(gin_perf("put_lat --nranks 3 --local-ranks").code, 2);
  EXPECT_EQ(gin_perf("").code, 2);
  EXPECT_EQ(gin_perf("--help").code, 0);
}

TEST(GinPerfAlone, EndsWhenRankZeroNeverComes) {
  const Ended e = gin_perf("put_lat --rank 1 --id-file /nonexistent/id --timeout 0.5");
  EXPECT_EQ(e.code, 1) << e.output;
  EXPECT_NE(e.output.find("/nonexistent/id"), std::string::npos) << e.output;
}

}  // namespace
}  // namespace gind::test
