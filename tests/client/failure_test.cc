// SPDX-License-Identifier: Apache-2.0
// How waits and calls end when something goes wrong.  No test says how fast, but each wait would
// last for ever (or for longer than the test may) if its way out were missing.
#include "fake_gind.h"
#include "gin/device.cuh"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace gind::test {
namespace {

constexpr std::int64_t kForEver = 0;
constexpr std::int64_t kShort = 20'000'000;

ginResult_t async_error(ginComm_t comm) {
  ginResult_t error = ginSuccess;
  EXPECT_EQ(ginCommGetAsyncError(comm, &error), ginSuccess);
  return error;
}

// Runs `wait` in a thread, `cause` in this one once the thread is under way.
template <typename Wait, typename Cause>
ginResult_t end_by(Wait&& wait, Cause&& cause) {
  std::atomic<bool> under_way = false;
  ginResult_t result = ginSuccess;
  std::thread t([&] {
    under_way = true;
    result = wait();
  });
  while (!under_way) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  cause();
  t.join();
  return result;
}

TEST(Failure, WaitsEndWhenGindDies) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device(ginSharingShared, kForEver);
  EXPECT_EQ(end_by(
                [&] {
                  return ginContext{d, 0}.waitSignal(ginCoopThread{}, 0, 1);
                },
                [&] { gind.stop(); }),
            ginDaemonLost);
  EXPECT_EQ(async_error(c.comm), ginDaemonLost);
  EXPECT_TRUE(last_error_has(gind.path())) << ginGetLastError();
}

TEST(Failure, FlushAndCounterWaitsEndWhenGindDies) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device(ginSharingShared, kForEver);
  ASSERT_EQ(ginSignal(&d, 0, 0, ginSignalStrongAdd, 0, 1), ginSuccess);
  EXPECT_EQ(end_by([&] { return ginFlush(&d, 0, kForEver); }, [&] { gind.stop(); }), ginDaemonLost);
  EXPECT_EQ(ginWaitCounter(&d, 0, 0, 1, 56, kForEver), ginDaemonLost);
}

TEST(Failure, CallsAfterGindDiedSaySoAndDestroyStillWorks) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device();
  void* memory = nullptr;
  ginWindow_t w = c.window(4096, &memory);
  gind.stop();
  EXPECT_EQ(ginCommWindowRegister(c.comm, memory, 8, &w, 0), ginDaemonLost);
  EXPECT_TRUE(last_error_has("gind at " + gind.path())) << ginGetLastError();
  EXPECT_EQ(ginCommFinalize(c.comm), ginDaemonLost);
  EXPECT_EQ(ginSignal(&d, 0, 0, ginSignalStrongAdd, 0, 1), ginDaemonLost);
  EXPECT_EQ(ginDevCommDestroy(c.comm, &d), ginDaemonLost);
  EXPECT_EQ(d.segment, nullptr);
  EXPECT_EQ(ginCommWindowDeregister(c.comm, ginWindow_t{1}), ginDaemonLost);
  EXPECT_EQ(ginMemFree(c.comm, memory), ginSuccess) << ginGetLastError();
}

TEST(Failure, ARequestInProgressEndsWhenGindDies) {
  FakeOptions options;
  options.silent = protocol::MessageType::kCommFinalize;
  FakeGind gind(options);
  TestComm c;
  EXPECT_EQ(end_by([&] { return ginCommFinalize(c.comm); }, [&] { gind.stop(); }), ginDaemonLost);
}

TEST(Failure, AbortEndsWaitsAndRequestsOfAllThreads) {
  FakeOptions options;
  options.silent = protocol::MessageType::kCommFinalize;
  FakeGind gind(options);
  TestComm c;
  ginDevComm_t d = c.device(ginSharingShared, kForEver);
  ginResult_t finalized = ginSuccess;
  std::thread request([&] { finalized = ginCommFinalize(c.comm); });
  EXPECT_EQ(end_by([&] { return ginWaitSignal(&d, 1, 3, 1, 64, kForEver); },
                   [&] { EXPECT_EQ(ginCommAbort(c.comm), ginSuccess); }),
            ginAborted);
  request.join();
  EXPECT_EQ(finalized, ginAborted);
  EXPECT_EQ(async_error(c.comm), ginAborted);
  EXPECT_NE(*d.abortFlag, 0u);
}

TEST(Failure, TheCallersAbortFlagEndsAWaitAndNothingElse) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device();
  std::uint32_t flag = 0;
  ginContext ctx{d, 0};
  EXPECT_EQ(end_by(
                [&] {
                  return ctx.waitSignal(ginCoopThread{}, 0, 1, 64, ginWaitOptions{kForEver, &flag});
                },
                [&] { std::atomic_ref<std::uint32_t>(flag).store(1); }),
            ginAborted);
  EXPECT_EQ(ctx.error(), ginSuccess);
  EXPECT_EQ(async_error(c.comm), ginSuccess);
}

TEST(Failure, EventForTheCommunicatorEndsItsWaitsAndKeepsTheFirstText) {
  FakeGind gind;
  TestComm c(4, 0);
  ginDevComm_t d = c.device(ginSharingShared, kForEver);
  EXPECT_EQ(async_error(c.comm), ginSuccess);
  EXPECT_EQ(end_by([&] { return ginWaitSignal(&d, 0, 0, 1, 64, kForEver); },
                   [&] { gind.send_event(ginRemoteError, 3, 0, -1, "rank 3 is gone: killed"); }),
            ginRemoteError);
  gind.send_event(ginInternalError, -1, 0, -1, "a later one");
  EXPECT_EQ(async_error(c.comm), ginRemoteError);
  EXPECT_TRUE(last_error_has("rank 3 is gone: killed")) << ginGetLastError();
  EXPECT_EQ(ginCommFinalize(c.comm), ginSuccess) << "the connection itself is well";
}

TEST(Failure, EventForOneContextLeavesTheOthersAlone) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device();
  FakeSegment& s = gind.segment();
  gin::queues::store_release_sys(
      &s.view.control(1)->error,
      gin::queues::make_error_word(ginContextError,
                                   static_cast<std::uint8_t>(gin::queues::Field::kBytes), 5));
  gind.send_event(ginContextError, -1, d.id, 1, "context 1: bytes 5");
  EXPECT_EQ(ginWaitSignal(&d, 1, 0, 1, 64, kForEver), ginContextError);
  EXPECT_EQ(ginWaitSignal(&d, 0, 0, 1, 64, kShort), ginTimeout);
  while (async_error(c.comm) == ginSuccess) std::this_thread::yield();
  EXPECT_EQ(async_error(c.comm), ginContextError);
  EXPECT_TRUE(last_error_has("context 1: bytes 5")) << ginGetLastError();
}

TEST(Failure, EveryWaitEndsAtItsTimeout) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device(ginSharingShared, kShort);
  ginContext ctx{d, 0};
  EXPECT_EQ(ctx.waitSignal(ginCoopThread{}, 0, 1), ginTimeout) << "the default deadline";
  EXPECT_EQ(ctx.waitCounter(ginCoopWarp{}, 0, 1), ginTimeout);
  ASSERT_EQ(ctx.signal(ginTeamWorld(d), 0, ginSignalInc{0}), ginSuccess);
  EXPECT_EQ(ctx.flush(ginCoopBlock{}), ginTimeout);
  EXPECT_EQ(ginWaitSignal(&d, 0, 2, 7, 64, 1000), ginTimeout);
  EXPECT_TRUE(last_error_has("signal 2 is 0, waited for 7")) << ginGetLastError();
  EXPECT_EQ(ginWaitCounter(&d, 0, 2, 7, 56, 1000), ginTimeout);
  EXPECT_EQ(ginFlush(&d, 0, 1000), ginTimeout);
}

// Fills the ring of context 0 (64 units, none read).
void fill(const ginContext& ctx, const ginDevComm_t& d) {
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(ctx.signal(ginTeamWorld(d), 0, ginSignalInc{0}), ginSuccess) << i;
  }
}

TEST(Failure, CreditWaitOfASharedContextLatchesItInError) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device(ginSharingShared, kShort);
  ginContext ctx{d, 0};
  fill(ctx, d);
  EXPECT_EQ(ctx.signal(ginTeamWorld(d), 0, ginSignalInc{0}), ginTimeout);
  FakeSegment& s = gind.segment();
  for (int i = 0; i < 64; ++i) ASSERT_EQ(s.next().op, gin::queues::Op::kSignal);
  s.complete();
  EXPECT_NE(ctx.signal(ginTeamWorld(d), 0, ginSignalInc{0}), ginSuccess) << "units were lost";
  EXPECT_NE(ctx.flush(), ginSuccess);
  EXPECT_NE(ctx.error(), ginSuccess);
  ginContext other{d, 1};
  EXPECT_EQ(other.signal(ginTeamWorld(d), 0, ginSignalInc{0}), ginSuccess);
}

TEST(Failure, CreditWaitOfAnExclusiveContextLeavesItUsable) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device(ginSharingExclusive, kShort);
  ginContext ctx{d, 0};
  fill(ctx, d);
  std::uint32_t flag = 1;
  EXPECT_EQ(ctx.signal(ginTeamWorld(d), 0, ginSignalInc{0}), ginTimeout);
  EXPECT_EQ(ctx.signal(ginTeamWorld(d), 0, ginSignalInc{0}, ginCoopThread{},
                       ginWaitOptions{kForEver, &flag}),
            ginAborted);
  FakeSegment& s = gind.segment();
  for (int i = 0; i < 64; ++i) ASSERT_EQ(s.next().op, gin::queues::Op::kSignal);
  s.complete();
  EXPECT_EQ(ctx.signal(ginTeamWorld(d), 0, ginSignalInc{5}), ginSuccess);
  EXPECT_EQ(s.next().signal, 5u);
  s.complete();
  EXPECT_EQ(ctx.flush(), ginSuccess);
}

TEST(Failure, PostsWaitingForRoomEndWhenGindDies) {
  FakeGind gind;
  TestComm c;
  ginDevComm_t d = c.device(ginSharingExclusive, kForEver);
  ginContext ctx{d, 0};
  fill(ctx, d);
  EXPECT_EQ(
      end_by([&] { return ctx.signal(ginTeamWorld(d), 0, ginSignalInc{0}); }, [&] { gind.stop(); }),
      ginDaemonLost);
}

TEST(Failure, FlushReturnsTheErrorOfAFailedPeer) {
  FakeGind gind;
  TestComm c(3, 0);
  ginDevComm_t d = c.device(ginSharingShared, kForEver);
  ginContext ctx{d, 0};
  ASSERT_EQ(ctx.signal(ginTeamWorld(d), 1, ginSignalInc{0}), ginSuccess);
  ASSERT_EQ(ctx.signal(ginTeamWorld(d), 2, ginSignalInc{0}), ginSuccess);
  FakeSegment& s = gind.segment();
  gin::queues::store_release_sys(
      &s.view.done(0)[1], gin::queues::kDoneError | static_cast<std::uint64_t>(ginRemoteError));
  gin::queues::store_release_sys(&s.view.done(0)[2], std::uint64_t{2});
  EXPECT_EQ(ctx.flush(), ginRemoteError);
}

}  // namespace
}  // namespace gind::test
