// SPDX-License-Identifier: Apache-2.0
// Kernels post, a thread of the CPU drains: every record whole, each thread's in its order.
#include "gpu_here.h"
#include "tools/gin_perf/queue/cases.h"
#include "tools/gin_perf/queue/consume.h"

#include <gtest/gtest.h>

namespace gind::perf {
namespace {

using gin::kernels::PostMode;
constexpr std::uint64_t kTimeoutNs = 60'000'000'000;

void run(const QueueCase& c, std::uint32_t log2_depth, std::uint64_t start) {
  SCOPED_TRACE(std::string(name_of(c.mode)) + " " + std::to_string(c.blocks) + "x" +
               std::to_string(c.threads) + ", " + std::to_string(c.units) + " units, depth 2^" +
               std::to_string(log2_depth) + ", from " + std::to_string(start));
  auto device = make_gpu_queue_device(0);
  ASSERT_TRUE(device.ok()) << device.error().message;
  auto ready = device.value()->set_up(c.rings(), log2_depth, start);
  ASSERT_TRUE(ready.ok()) << ready.error().message;
  auto started = device.value()->start(c, kTimeoutNs);
  ASSERT_TRUE(started.ok()) << started.error().message;
  auto consumed = consume(*device.value(), c, log2_depth, true, kTimeoutNs, start);
  auto joined = device.value()->join();
  ASSERT_TRUE(consumed.ok()) << consumed.error().message;
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ(consumed.value().records, c.total());
}

class EveryMode : public testing::TestWithParam<PostMode> {
 protected:
  void SetUp() override { GIND_SKIP_WITHOUT_GPU(); }
};

TEST_P(EveryMode, KeepsEveryRecordAndOrderAtEveryGridAndSize) {
  Options options;
  options.gpu = true;
  options.queue_mode = name_of(GetParam());
  options.iterations = 600'000;
  auto cases = queue_cases(options);
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  ASSERT_GE(cases.value().size(), 9u);
  for (const QueueCase& c : cases.value()) run(c, 14, 0);
}

// A warp's records are more than the smallest ring holds: there they go one after the other.
TEST_P(EveryMode, KeepsThemInTheSmallestRingThatIsAlwaysFull) {
  const bool own = GetParam() == PostMode::kOwn || GetParam() == PostMode::kSession;
  for (const std::uint32_t units : {1u, 2u, 4u}) {
    if (GetParam() == PostMode::kWarp && units == 4) continue;  // refused: see the next test
    run({4, own ? 1u : 32u, units, GetParam(), 2'000}, 6, 0);
  }
}

TEST_P(EveryMode, KeepsThemWherePositionsOutgrowNarrowNumbers) {
  const bool own = GetParam() == PostMode::kOwn || GetParam() == PostMode::kSession;
  for (const unsigned bit : {31u, 32u, 47u, 62u, 63u}) {
    const std::uint64_t start = (std::uint64_t{1} << bit) - (std::uint64_t{2} << 10);
    run({4, own ? 1u : 32u, 2, GetParam(), 5'000}, 10, start);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryMode,
                         testing::Values(PostMode::kTogether, PostMode::kAlone, PostMode::kOwn,
                                         PostMode::kSession, PostMode::kWarp),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST(WarpProducer, RefusesWhatTheRingNeverHasRoomFor) {
  GIND_SKIP_WITHOUT_GPU();
  const QueueCase c{1, 32, 4, PostMode::kWarp, 1};
  auto device = make_gpu_queue_device(0);
  ASSERT_TRUE(device.ok()) << device.error().message;
  ASSERT_TRUE(device.value()->set_up(1, 6, 0).ok());
  ASSERT_TRUE(device.value()->start(c, kTimeoutNs).ok());
  auto joined = device.value()->join();
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().code, ginLimitExceeded);
}

// The posts that follow one that timed out return its error, though there may be room again.
TEST(SharedRing, APostThatFindsNoRoomTimesOutAndSoDoThoseBehindIt) {
  GIND_SKIP_WITHOUT_GPU();
  for (const std::uint32_t threads : {1u, 32u}) {
    auto device = make_gpu_queue_device(0);
    ASSERT_TRUE(device.ok()) << device.error().message;
    ASSERT_TRUE(device.value()->set_up(1, 6, 0).ok());
    ASSERT_TRUE(device.value()->start({1, threads, 1, PostMode::kTogether, 100}, 50'000'000).ok());
    auto joined = device.value()->join();  // nobody drains
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.error().code, ginTimeout);
    // What was stored has been taken since: there is room.
    gin::queues::store_release_sys(&device.value()->control(0)->consumed, std::uint64_t{64});
    for (const std::uint32_t later : {1u, 8u, 32u}) {
      ASSERT_TRUE(device.value()->start({1, later, 1, PostMode::kTogether, 1}, 50'000'000).ok());
      joined = device.value()->join();
      ASSERT_FALSE(joined.ok()) << later;
      EXPECT_EQ(joined.error().code, ginTimeout);
    }
  }
}

}  // namespace
}  // namespace gind::perf
