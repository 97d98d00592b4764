// SPDX-License-Identifier: Apache-2.0
#include "fake_gind.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

namespace gind::test {
namespace {

using protocol::MessageType;

TEST(Communicator, JoinsAndKnowsItsPlace) {
  FakeOptions options;
  options.node_of_rank = {0, 1, 0, 1};
  FakeGind gind(options);
  ginUniqueId id;
  ASSERT_EQ(ginGetUniqueId(&id), ginSuccess) << ginGetLastError();
  EXPECT_EQ(id.internal[0], 0x5a);
  TestComm c(4, 2);
  int value = -1;
  EXPECT_EQ(ginCommCount(c.comm, &value), ginSuccess);
  EXPECT_EQ(value, 4);
  EXPECT_EQ(ginCommUserRank(c.comm, &value), ginSuccess);
  EXPECT_EQ(value, 2);
  ginCommProperties_t p{};
  p.size = sizeof p;
  ASSERT_EQ(ginCommQueryProperties(c.comm, &p), ginSuccess);
  EXPECT_EQ(p.nLocalRanks, 2);
  EXPECT_EQ(p.maxOutstanding, 1024);
  EXPECT_STREQ(p.transport, "loopback");
  EXPECT_EQ(ginCommFinalize(c.comm), ginSuccess);
}

TEST(Communicator, PropertiesWriteNoMoreThanTheCallerHasRoomFor) {
  FakeGind gind;
  TestComm c;
  ginCommProperties_t p;
  std::memset(&p, 0x77, sizeof p);
  p.size = offsetof(ginCommProperties_t, nNodes);
  ASSERT_EQ(ginCommQueryProperties(c.comm, &p), ginSuccess);
  EXPECT_EQ(p.nRanks, 1);
  EXPECT_EQ(p.nNodes, 0x77777777);
  EXPECT_EQ(p.size, offsetof(ginCommProperties_t, nNodes));
  p.size = 0;
  EXPECT_EQ(ginCommQueryProperties(c.comm, &p), ginInvalidArgument);
}

TEST(Communicator, LeavesWithAGoodbyeAndNothingStaysOpen) {
  FakeGind gind;
  { TestComm warm_up; }  // what stays of it is the process's for good
  const int fds = count_open_fds() - gind.connections();
  const int threads = count_threads();
  {
    TestComm c;
    c.device();
    c.window(10'000);
    EXPECT_GT(count_open_fds(), fds);
    EXPECT_EQ(count_threads(), threads + 1);
  }
  for (int i = 0; i < 2000 && gind.connections() != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(count_open_fds(), fds);
  EXPECT_EQ(count_threads(), threads);
  EXPECT_EQ(gind.received().back(), MessageType::kGoodbye);
}

TEST(Communicator, RanksOutOfRangeAreRefusedWithTheRange) {
  FakeGind gind;
  ginComm_t comm = nullptr;
  const ginUniqueId id{};
  EXPECT_EQ(ginCommInitRank(nullptr, 1, id, 0), ginInvalidArgument);
  EXPECT_EQ(ginCommInitRank(&comm, 0, id, 0), ginInvalidArgument);
  EXPECT_EQ(ginCommInitRank(&comm, 1025, id, 0), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("nranks is 1025, expected 1 .. 1024")) << ginGetLastError();
  EXPECT_EQ(ginCommInitRank(&comm, 4, id, -1), ginInvalidArgument);
  EXPECT_EQ(ginCommInitRank(&comm, 4, id, 4), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("rank is 4, expected 0 .. 3")) << ginGetLastError();
  EXPECT_EQ(comm, nullptr);
  EXPECT_TRUE(gind.received().empty());
}

TEST(Communicator, NullHandlesAreRefused) {
  int value = 0;
  ginResult_t error = ginSuccess;
  EXPECT_EQ(ginGetUniqueId(nullptr), ginInvalidArgument);
  EXPECT_EQ(ginCommDestroy(nullptr), ginInvalidArgument);
  EXPECT_EQ(ginCommAbort(nullptr), ginInvalidArgument);
  EXPECT_EQ(ginCommFinalize(nullptr), ginInvalidArgument);
  EXPECT_EQ(ginCommCount(nullptr, &value), ginInvalidArgument);
  EXPECT_EQ(ginCommGetAsyncError(nullptr, &error), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("ginCommInitRank")) << ginGetLastError();
}

TEST(Communicator, RefusalOfGindIsPassedOnWithCodeAndText) {
  FakeOptions options;
  options.refuse = MessageType::kCommInit;
  FakeGind gind(options);
  ginComm_t comm = nullptr;
  EXPECT_EQ(ginCommInitRank(&comm, 2, ginUniqueId{}, 1), ginLimitExceeded);
  EXPECT_TRUE(last_error_has("refused by the test: 7 of 7 in use")) << ginGetLastError();
  EXPECT_TRUE(last_error_has("rank 1 of 2")) << ginGetLastError();
}

TEST(Communicator, WithoutGindTheErrorNamesSocketCauseAndRemedy) {
  ::setenv("GIND_SOCKET", "/nonexistent/gind.sock", 1);
  ginUniqueId id;
  EXPECT_EQ(ginGetUniqueId(&id), ginDaemonLost);
  EXPECT_TRUE(last_error_has("/nonexistent/gind.sock")) << ginGetLastError();
  EXPECT_TRUE(last_error_has("No such file")) << ginGetLastError();
  EXPECT_TRUE(last_error_has("is gind running?")) << ginGetLastError();
  ::setenv("GIND_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_EQ(ginGetUniqueId(&id), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("200 bytes")) << ginGetLastError();
}

TEST(Communicator, OtherProtocolVersionNamesBoth) {
  FakeOptions options;
  options.protocol_version = 9;
  FakeGind gind(options);
  ginUniqueId id;
  EXPECT_EQ(ginGetUniqueId(&id), ginVersionMismatch);
  EXPECT_TRUE(last_error_has("version 9")) << ginGetLastError();
  EXPECT_TRUE(last_error_has("version " + std::to_string(protocol::kClientVersion)))
      << ginGetLastError();
}

TEST(Communicator, OtherSegmentVersionNamesBoth) {
  FakeOptions options;
  options.segment_version = 8;
  FakeGind gind(options);
  ginUniqueId id;
  EXPECT_EQ(ginGetUniqueId(&id), ginVersionMismatch);
  EXPECT_TRUE(last_error_has("version 8")) << ginGetLastError();
  EXPECT_TRUE(last_error_has("version " + std::to_string(gin::queues::kSegmentVersion)))
      << ginGetLastError();
}

TEST(Communicator, ASilentGindEndsTheHandshakeAtItsDeadline) {
  FakeOptions options;
  options.silent = MessageType::kHello;
  FakeGind gind(options);
  ginUniqueId id;
  EXPECT_EQ(ginGetUniqueId(&id), ginTimeout);
  EXPECT_TRUE(last_error_has("5.0 s")) << ginGetLastError();
}

TEST(Communicator, ASilentGindEndsARendezvousAtItsDeadline) {
  FakeOptions options;
  options.silent = MessageType::kCommInit;
  options.rendezvous_ns = 0;
  FakeGind gind(options);
  ginComm_t comm = nullptr;
  EXPECT_EQ(ginCommInitRank(&comm, 2, ginUniqueId{}, 0), ginTimeout);
  EXPECT_TRUE(last_error_has(gind.path())) << ginGetLastError();
  EXPECT_EQ(comm, nullptr);
}

TEST(Communicator, TwoInOneProcessWorkAtTheSameTime) {
  FakeGind gind;
  auto work = [] {
    for (int i = 0; i < 20; ++i) {
      TestComm c(2, i % 2);
      void* memory = nullptr;
      const ginWindow_t w = c.window(4096, &memory);
      ginDevComm_t d = c.device();
      EXPECT_EQ(ginSignal(&d, 0, 1, ginSignalStrongAdd, 0, 1), ginSuccess) << ginGetLastError();
      EXPECT_EQ(ginDevCommDestroy(c.comm, &d), ginSuccess);
      EXPECT_EQ(ginCommWindowDeregister(c.comm, w), ginSuccess);
      EXPECT_EQ(ginMemFree(c.comm, memory), ginSuccess);
    }
  };
  std::thread a(work);
  std::thread b(work);
  a.join();
  b.join();
}

TEST(Communicator, AForkedChildIsToldToMakeItsOwnAndLeavesTheParentsAlone) {
  FakeGind gind;
  TestComm c;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const ginResult_t r = ginCommFinalize(c.comm);
    ginCommDestroy(c.comm);
    ::_exit(r == ginInvalidUsage && last_error_has("forked child") ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(ginCommFinalize(c.comm), ginSuccess) << ginGetLastError();
}

}  // namespace
}  // namespace gind::test
