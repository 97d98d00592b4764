// SPDX-License-Identifier: Apache-2.0
#include "gin/gin.h"
#include "kernels/put_latency.cuh"
#include "tools/gin_perf/exit_code.h"
#include "tools/gin_perf/options.h"
#include "tools/gin_perf/pattern.h"
#include "tools/gin_perf/statistics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gind::perf {
namespace {

Result<ParsedOptions> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "gin-perf");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(PerfOptions, PerftestsLettersMeanWhatTheyMeanThere) {
  const auto parsed = parse({"put_bw", "-s", "4096", "-n", "77", "-t", "9", "-q", "3", "-D", "2",
                             "--nranks", "2", "--rank", "1", "--id-file", "x"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Options& o = parsed.value().options;
  EXPECT_EQ(o.test, perf::Test::kPutBw);
  EXPECT_EQ(o.size, 4096u);
  EXPECT_EQ(o.iterations, 77u);
  EXPECT_EQ(o.depth, 9u);
  EXPECT_EQ(o.contexts, 3);
  EXPECT_EQ(o.duration_s, 2);
  EXPECT_TRUE(o.verify);
}

TEST(PerfOptions, AllSizesAreThePowersOfTwoTo8MiB) {
  const auto parsed = parse({"put_lat", "-a", "--local-ranks", "--no-verify"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto sizes = parsed.value().options.sizes();
  EXPECT_EQ(sizes.size(), 23u);
  EXPECT_EQ(sizes.front(), 2u);
  EXPECT_EQ(sizes.back(), 8u << 20);
  EXPECT_FALSE(parsed.value().options.verify);
}

TEST(PerfOptions, WrongUseIsRefusedWithTheValue) {
  const auto says = [](std::vector<const char*> arguments, const std::string& part) {
    const auto parsed = parse(std::move(arguments));
    return !parsed && parsed.error().message.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says({}, "subcommand"));
  EXPECT_TRUE(says({"put_lat"}, "--rank"));
  EXPECT_TRUE(says({"put_lat", "-s", "0", "--local-ranks"}, "--size"));
  EXPECT_TRUE(says({"put_lat", "--nranks", "3", "--local-ranks"}, "3"));
  EXPECT_TRUE(says({"put_lat", "--rank", "2", "--id-file", "x"}, "--rank 2"));
  EXPECT_TRUE(says({"put_lat", "--device", "tpu", "--local-ranks"}, "tpu"));
  EXPECT_TRUE(says({"put_lat", "--sockets", "a,b,c"}, "3 sockets"));
}

TEST(PerfPattern, EachByteOfAnotherMessageOrPlaceShows) {
  std::vector<unsigned char> m(1003);
  fill_pattern(m.data(), m.size(), 5);
  EXPECT_FALSE(find_mismatch(m.data(), m.size(), 5));
  EXPECT_TRUE(find_mismatch(m.data(), m.size(), 6));
  EXPECT_TRUE(find_mismatch(m.data() + 8, m.size() - 8, 5));
  for (std::size_t i = 0; i < m.size(); ++i) {
    m[i] ^= 1;
    EXPECT_EQ(find_mismatch(m.data(), m.size(), 5), i);
    m[i] ^= 1;
  }
  fill_guard(m.data(), m.size());
  EXPECT_FALSE(find_guard_damage(m.data(), m.size()));
  m[1002] = 0;
  EXPECT_EQ(find_guard_damage(m.data(), m.size()), 1002u);
}

TEST(PerfStamp, TellsMessagesApartAtBothEnds) {
  for (std::uint64_t bytes : {1u, 3u, 7u, 8u, 9u, 100u}) {
    std::vector<char> m(bytes);
    gin::kernels::stamp(m.data(), bytes, 41);
    EXPECT_TRUE(gin::kernels::has_stamp(m.data(), bytes, 41)) << bytes;
    EXPECT_FALSE(gin::kernels::has_stamp(m.data(), bytes, 42)) << bytes;
    if (bytes < 16) continue;
    m[bytes - 8] ^= 1;
    EXPECT_FALSE(gin::kernels::has_stamp(m.data(), bytes, 41)) << "the last 8 bytes are old";
  }
}

TEST(PerfStatistics, AreThoseOfTheDefinition) {
  std::vector<double> values;
  for (int i = 1000; i >= 1; --i) values.push_back(i);
  const Statistics s = statistics_of(values);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 1000);
  EXPECT_EQ(s.median, 500);
  EXPECT_EQ(s.p99, 990);
  EXPECT_EQ(s.p999, 999);
  EXPECT_DOUBLE_EQ(s.mean, 500.5);
  EXPECT_NEAR(s.deviation, 288.819, 0.001);
  EXPECT_EQ(statistics_of({7}).p999, 7);
  EXPECT_EQ(statistics_of({7}).deviation, 0);
}

TEST(PerfExitCode, TellsUnreachableAndVersionApart) {
  EXPECT_EQ(exit_code_of(ginSuccess), 0);
  EXPECT_EQ(exit_code_of(ginTimeout), 1);
  EXPECT_EQ(exit_code_of(ginInternalError), 1);
  EXPECT_EQ(exit_code_of(ginDaemonLost), 3);
  EXPECT_EQ(exit_code_of(ginVersionMismatch), 4);
}

}  // namespace
}  // namespace gind::perf
