// SPDX-License-Identifier: Apache-2.0
// What device functions put into the ring, and flush.
#include "operations_fixture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace gind::test {
namespace {

using gin::queues::Descriptor;
using gin::queues::Field;
using gin::queues::Op;
using gin::queues::RemoteAction;

TEST_F(Operations, PutCarriesEveryField) {
  ginContext ctx{d, 1};
  ASSERT_EQ(ctx.put(ginTeamWorld(d), 3, ginWindow_t{8}, 1234567, ginWindow_t{4096},
                    gin::queues::kMaxOffset, std::uint64_t{1} << 40, ginSignalAdd{6, 70'000},
                    ginCounterInc{5}, ginCoopBlock{}),
            ginSuccess);
  const Descriptor r = s.next(1);
  EXPECT_EQ(r.op, Op::kPut);
  EXPECT_EQ(r.peer, 3u);
  EXPECT_EQ(r.dst_window, 7u);
  EXPECT_EQ(r.dst_offset, 1234567u);
  EXPECT_EQ(r.src_window, 4095u);
  EXPECT_EQ(r.src_offset, gin::queues::kMaxOffset);
  EXPECT_EQ(r.bytes, std::uint64_t{1} << 40);
  EXPECT_EQ(r.action, RemoteAction::kAddStrong);
  EXPECT_EQ(r.signal, 6u);
  EXPECT_EQ(r.addend, 70'000u);
  EXPECT_TRUE(r.has_counter);
  EXPECT_EQ(r.counter, 5u);
  EXPECT_EQ(s.rings[0].position(), 0u) << "the other context's ring is untouched";
}

TEST_F(Operations, PlainPutHasNoActions) {
  ASSERT_EQ(ginPut(&d, 0, 0, ginWindow_t{1}, 0, ginWindow_t{2}, 0, 0, ginSignalNone, 0, 0, -1),
            ginSuccess);
  const Descriptor r = s.next();
  EXPECT_EQ(r.action, RemoteAction::kNone);
  EXPECT_FALSE(r.has_counter);
}

TEST_F(Operations, StrongAndWeakSignalsAreToldApart) {
  ginContext ctx{d, 0};
  const ginTeam_t world = ginTeamWorld(d);
  ASSERT_EQ(ctx.signal(world, 2, ginSignalInc{3}), ginSuccess);
  ASSERT_EQ(ctx.signal(world, 2, ginWeakSignalAdd{4, ~std::uint64_t{0}}), ginSuccess);
  ASSERT_EQ(ctx.signal(world, 2, ginWeakSignalInc{4}), ginSuccess);
  Descriptor r = s.next();
  EXPECT_EQ(r.op, Op::kSignal);
  EXPECT_EQ(r.action, RemoteAction::kAddStrong);
  EXPECT_EQ(r.addend, 1u);
  r = s.next();
  EXPECT_EQ(r.action, RemoteAction::kAddWeak);
  EXPECT_EQ(r.addend, ~std::uint64_t{0});
  EXPECT_EQ(s.next().addend, 1u);
}

TEST_F(Operations, PutValueCarriesTheBytesOfTheValue) {
  ginContext ctx{d, 0};
  const ginTeam_t world = ginTeamWorld(d);
  ASSERT_EQ(ctx.putValue(world, 0, ginWindow_t{1}, 9, 1.0f), ginSuccess);
  ASSERT_EQ(ctx.putValue(world, 0, ginWindow_t{1}, 9, ~std::uint64_t{0}, ginSignalInc{1}),
            ginSuccess);
  ASSERT_EQ(ginPutValue(&d, 0, 0, ginWindow_t{1}, 9, 0x1122334455667788, 3, ginSignalNone, 0, 0),
            ginSuccess);
  Descriptor r = s.next();
  EXPECT_EQ(r.op, Op::kPutValue);
  EXPECT_EQ(r.bytes, 4u);
  EXPECT_EQ(r.value, 0x3f800000u);
  EXPECT_EQ(r.dst_offset, 9u);
  r = s.next();
  EXPECT_EQ(r.bytes, 8u);
  EXPECT_EQ(r.value, ~std::uint64_t{0});
  EXPECT_EQ(r.signal, 1u);
  r = s.next();
  EXPECT_EQ(r.bytes, 3u);
  EXPECT_EQ(r.value, 0x667788u);
  EXPECT_EQ(ginPutValue(&d, 0, 0, ginWindow_t{1}, 9, 0, 9, ginSignalNone, 0, 0),
            ginInvalidArgument);
  EXPECT_EQ(ginPutValue(&d, 0, 0, ginWindow_t{1}, 9, 0, 0, ginSignalNone, 0, 0),
            ginInvalidArgument);
}

TEST_F(Operations, BadUseReachesGindByNameAndValue) {
  ginContext ctx{d, 0};
  const ginTeam_t world = ginTeamWorld(d);
  const ginWindow_t w{1};
  struct Case {
    ginResult_t result;
    Field field;
    std::uint64_t value;
  };
  const Case cases[] = {
      {ctx.put(world, 4, w, 0, w, 0, 1), Field::kPeer, 4},
      {ctx.put(world, -1, w, 0, w, 0, 1), Field::kPeer, gin::queues::kPayloadMask},
      {ctx.signal(ginTeam_t{9, 1, 0, 1, nullptr, 9}, 8, ginSignalInc{0}), Field::kTeam, 8},
      {ctx.put(world, 0, ginWindow_t{0}, 0, w, 0, 1), Field::kDstWindow, 0xffffffff},
      {ctx.put(world, 0, w, 0, ginWindow_t{0}, 0, 1), Field::kSrcWindow, 0xffffffff},
      {ctx.putValue(world, 0, ginWindow_t{4097}, 0, 1), Field::kDstWindow, 4096},
      {ctx.put(world, 0, w, std::uint64_t{1} << 47, w, 0, 1), Field::kDstOffset,
       std::uint64_t{1} << 47},
      {ctx.put(world, 0, w, 0, w, std::uint64_t{1} << 47, 1), Field::kSrcOffset,
       std::uint64_t{1} << 47},
      {ctx.put(world, 0, w, 0, w, 0, std::uint64_t{1} << 47), Field::kBytes,
       std::uint64_t{1} << 47},
      {ctx.signal(world, 0, ginSignalInc{65'536}), Field::kSignal, 65'536},
      {ctx.put(world, 0, w, 0, w, 0, 1, ginNoRemoteAction{}, ginCounterInc{65'536}),
       Field::kCounter, 65'536},
      {ctx.waitSignal(ginCoopThread{}, 8, 1), Field::kSignal, 8},
      {ctx.resetSignal(9), Field::kSignal, 9},
      {ctx.waitCounter(ginCoopThread{}, 8, 1), Field::kCounter, 8},
  };
  for (const Case& k : cases) {
    EXPECT_EQ(k.result, ginInvalidArgument);
    const Descriptor r = s.next();
    EXPECT_EQ(r.op, Op::kBadUse);
    EXPECT_EQ(r.bad_field, k.field);
    EXPECT_EQ(r.value, k.value) << static_cast<int>(k.field);
  }
  EXPECT_FALSE(s.rings[0].pending());
}

TEST_F(Operations, WithoutAContextNothingIsTouched) {
  const ginDevComm_t zero{};
  ginContext none{zero, 0};
  ginContext beyond{d, 2};
  ginContext below{d, -1};
  std::uint64_t value = 7;
  for (const ginContext* ctx : {&none, &beyond, &below}) {
    EXPECT_EQ(ctx->signal(ginTeamWorld(d), 0, ginSignalInc{0}), ginInvalidArgument);
    EXPECT_EQ(ctx->put(ginTeamWorld(d), 0, ginWindow_t{1}, 0, ginWindow_t{1}, 0, 1),
              ginInvalidArgument);
    EXPECT_EQ(ctx->flush(), ginInvalidArgument);
    EXPECT_EQ(ctx->waitSignal(ginCoopThread{}, 0, 0), ginInvalidArgument);
    EXPECT_EQ(ctx->readCounter(0, &value), ginInvalidArgument);
    EXPECT_EQ(ctx->resetCounter(0), ginInvalidArgument);
    EXPECT_EQ(ctx->error(), ginInvalidArgument);
  }
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(ginFlush(nullptr, 0, 0), ginInvalidArgument);
  EXPECT_EQ(ginFlush(&zero, 0, 0), ginInvalidArgument);
  EXPECT_EQ(ginFlush(&d, 2, 0), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("context is 2, expected 0 .. 1")) << ginGetLastError();
}

TEST_F(Operations, CFunctionsCheckTheirArguments) {
  std::uint64_t value = 0;
  EXPECT_EQ(ginSignal(&d, 0, 0, ginSignalNone, 0, 0), ginInvalidArgument);
  EXPECT_EQ(ginSignal(&d, 0, 0, static_cast<ginSignalOp_t>(7), 0, 0), ginInvalidArgument);
  EXPECT_EQ(ginReadSignal(&d, 0, 0, 64, nullptr), ginInvalidArgument);
  EXPECT_EQ(ginWaitSignal(&d, 0, 0, 1, 64, -2), ginInvalidArgument);
  EXPECT_EQ(ginFlush(&d, 0, -2), ginInvalidArgument);
  EXPECT_FALSE(s.rings[0].pending());
  EXPECT_EQ(ginReadSignal(&d, 0, 8, 64, &value), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("signal is 8, the device communicator has 8")) << ginGetLastError();
  EXPECT_TRUE(s.rings[0].pending()) << "bad use reaches gind, too";
  for (const int bits : {65, 0, -1}) {
    EXPECT_EQ(ginReadSignal(&d, 1, 0, bits, &value), ginInvalidArgument);
    EXPECT_TRUE(last_error_has("bits is " + std::to_string(bits) + ", expected 1 .. 64"));
  }
  EXPECT_EQ(ginReadCounter(&d, 1, 0, 57, &value), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("bits is 57, expected 1 .. 56")) << ginGetLastError();
  EXPECT_TRUE(s.rings[1].pending());
}

TEST_F(Operations, FlushWaitsForThePeersThatWerePostedToAndNoOther) {
  ginContext ctx{d, 0};
  EXPECT_EQ(ctx.flush(), ginSuccess) << "nothing was posted";
  ASSERT_EQ(ctx.signal(ginTeamWorld(d), 2, ginSignalInc{0}), ginSuccess);
  EXPECT_EQ(ginFlush(&d, 0, 1'000'000), ginTimeout);
  gin::queues::store_release_sys(&s.view.done(0)[1], std::uint64_t{1});
  EXPECT_EQ(ginFlush(&d, 0, 1'000'000), ginTimeout) << "another peer's progress";
  gin::queues::store_release_sys(&s.view.done(0)[2], std::uint64_t{1});
  EXPECT_EQ(ctx.flush(), ginSuccess);
  ASSERT_EQ(ctx.signal(ginTeamWorld(d), 3, ginSignalInc{0}), ginSuccess);
  EXPECT_EQ(ginFlush(&d, 0, 1'000'000), ginTimeout);
  gin::queues::store_release_sys(&s.view.control(0)->done_all, std::uint64_t{2});
  EXPECT_EQ(ctx.flush(), ginSuccess);
}

TEST_F(Operations, ManyThreadsShareOneContext) {
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ginContext ctx{d, 0};
      for (int i = 0; i < kEach; ++i) {
        ASSERT_EQ(ctx.put(ginTeamWorld(d), t, ginWindow_t{1}, static_cast<std::uint64_t>(i),
                          ginWindow_t{1}, 0, 8, ginSignalInc{0}),
                  ginSuccess);
      }
    });
  }
  std::uint64_t next[kThreads] = {};
  for (int i = 0; i < kThreads * kEach; ++i) {
    const Descriptor r = s.next();
    s.complete();
    ASSERT_EQ(r.op, Op::kPut);
    ASSERT_LT(r.peer, 4u);
    ASSERT_EQ(r.dst_offset, next[r.peer]++) << "posts of one thread stay in order";
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(ginContext(d, 0).flush(), ginSuccess);
}

FakeOptions near_the_edge() {
  FakeOptions options;
  options.ring_start = (std::uint64_t{1} << 40) - 128;
  return options;
}
class LateStart : public Operations {
 protected:
  LateStart() : Operations(near_the_edge()) {}
};

TEST_F(LateStart, RingBeginsWhereGindBeginsToRead) {
  ginContext ctx{d, 0};
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(ctx.signal(ginTeamWorld(d), 0, ginSignalAdd{0, i}), ginSuccess);
    ASSERT_EQ(s.next().addend, i);
    s.complete();
    ASSERT_EQ(ctx.flush(), ginSuccess);
  }
}

}  // namespace
}  // namespace gind::test
