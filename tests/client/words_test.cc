// SPDX-License-Identifier: Apache-2.0
// How signals and counters are read, waited for and reset.
#include "operations_fixture.h"

#include <cstdint>
#include <thread>

namespace gind::test {
namespace {

constexpr std::uint64_t kMask56 = (std::uint64_t{1} << 56) - 1;

TEST_F(Operations, SignalResetIsAnOffsetThatTheSharedWordDoesNotSee) {
  ginContext ctx{d, 0};
  set_signal(2, 10);
  EXPECT_EQ(ctx.readSignal(2), 10u);
  ASSERT_EQ(ctx.resetSignal(2), ginSuccess);
  EXPECT_EQ(ctx.readSignal(2), 0u);
  EXPECT_EQ(s.view.signals(0)[2], 10u);
  EXPECT_EQ(ginWaitSignal(&d, 0, 2, 1, 64, 1'000'000), ginTimeout);
  set_signal(2, 13);
  EXPECT_EQ(ctx.readSignal(2), 3u);
  EXPECT_EQ(ctx.readSignal(2, 1), 1u) << "the lowest bit of 3";
  EXPECT_EQ(ctx.waitSignal(ginCoopThread{}, 2, 3), ginSuccess);
}

TEST_F(Operations, SignalsRollOverTheEndOfTheirWord) {
  ginContext ctx{d, 0};
  set_signal(0, ~std::uint64_t{0} - 1);
  ASSERT_EQ(ctx.resetSignal(0), ginSuccess);
  EXPECT_EQ(ginWaitSignal(&d, 0, 0, 1, 64, 1'000'000), ginTimeout);
  set_signal(0, 3);  // + 5, over the end
  EXPECT_EQ(ctx.readSignal(0), 5u);
  EXPECT_EQ(ctx.waitSignal(ginCoopThread{}, 0, 5), ginSuccess);
  EXPECT_EQ(ginWaitSignal(&d, 0, 0, 6, 64, 1'000'000), ginTimeout);
  // Without a reset: what is waited for lies beyond the end, too.
  set_signal(1, ~std::uint64_t{0});
  EXPECT_EQ(ginWaitSignal(&d, 0, 1, 2, 64, 1'000'000), ginTimeout);
  set_signal(1, 2);
  EXPECT_EQ(ctx.waitSignal(ginCoopThread{}, 1, 2), ginSuccess);
  EXPECT_EQ(ctx.waitSignal(ginCoopThread{}, 1, ~std::uint64_t{0}), ginSuccess) << "passed before";
  // In 8 bits: 0x105 has reached 0xfe, for it is 7 beyond.
  set_signal(3, 0x105);
  EXPECT_EQ(ctx.waitSignal(ginCoopThread{}, 3, 0xfe, 8), ginSuccess);
  EXPECT_EQ(ginWaitSignal(&d, 0, 3, 6, 8, 1'000'000), ginTimeout);
}

TEST_F(Operations, CountersRollOverAt56Bits) {
  ginContext ctx{d, 0};
  set_counter(0, kMask56 - 1);
  EXPECT_EQ(ctx.readCounter(0), kMask56 - 1);
  ASSERT_EQ(ctx.resetCounter(0), ginSuccess);
  EXPECT_EQ(ctx.readCounter(0), 0u);
  set_counter(0, 2);  // a word that wraps at 56 bits
  EXPECT_EQ(ctx.readCounter(0), 4u);
  EXPECT_EQ(ctx.waitCounter(ginCoopThread{}, 0, 4), ginSuccess);
  EXPECT_EQ(ginWaitCounter(&d, 0, 0, 5, 56, 1'000'000), ginTimeout);
  set_counter(0, kMask56 + 3);  // and one that does not
  EXPECT_EQ(ctx.readCounter(0), 4u);
  EXPECT_EQ(ctx.waitCounter(ginCoopWarp{}, 0, 4), ginSuccess);
}

TEST_F(Operations, AWaitSeesTheDataThatTheSignalVouchesFor) {
  ginContext ctx{d, 0};
  // Through the client's mapping: a race detector knows the two mappings as different memory.
  auto* signal = reinterpret_cast<std::uint64_t*>(d.segment + d.signalOffset);
  std::uint64_t seen = 0;
  std::uint64_t data = 0;  // plain: the signal orders it
  std::thread applier([&] {
    for (std::uint64_t i = 1; i <= 200; ++i) {
      while (gin::queues::load_acquire_sys(&seen) != i - 1) std::this_thread::yield();
      data = i;
      gin::queues::store_release_sys(signal, i);
    }
  });
  for (std::uint64_t i = 1; i <= 200; ++i) {
    EXPECT_EQ(ctx.waitSignal(ginCoopBlock{}, 0, i), ginSuccess);
    EXPECT_EQ(data, i);
    gin::queues::store_release_sys(&seen, i);
  }
  applier.join();
}

}  // namespace
}  // namespace gind::test
