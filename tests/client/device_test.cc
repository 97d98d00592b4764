// SPDX-License-Identifier: Apache-2.0
// Device communicators: creation, requirements, teams.
#include "gin/device.cuh"

#include "fake_gind.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace gind::test {
namespace {

class Device : public ::testing::Test {
 protected:
  ginResult_t create(const ginDevCommRequirements_t& r) { return ginDevCommCreate(c.comm, &r, &d); }
  FakeGind gind;
  TestComm c;
  ginDevComm_t d{};
};

TEST_F(Device, DefaultsComeFromGind) {
  const ginDevCommRequirements_t r = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  ASSERT_EQ(create(r), ginSuccess) << ginGetLastError();
  EXPECT_EQ(d.contexts, 4u);
  EXPECT_EQ(d.signals, 64u);
  EXPECT_EQ(d.counters, 64u);
  EXPECT_EQ(d.log2Depth, 12u);
  EXPECT_EQ(d.timeoutNs, 60'000'000'000u);
  EXPECT_EQ(gind.segment().shape.ring_units, 4096u);
}

TEST_F(Device, NoSignalsAndNoCountersIsAllowed) {
  ginDevCommRequirements_t r = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  r.signals = 0;
  r.counters = 0;
  ASSERT_EQ(create(r), ginSuccess) << ginGetLastError();
  EXPECT_EQ(d.signals, 0u);
}

TEST_F(Device, RequirementsOutOfRangeAreRefusedByNameValueAndRange) {
  struct Case {
    int ginDevCommRequirements_t::*field;
    int value;
    const char* text;
  };
  for (const Case& k :
       {Case{&ginDevCommRequirements_t::contexts, 257, "contexts: 257, expected 1 .. 256"},
        Case{&ginDevCommRequirements_t::contexts, -1, "contexts is -1"},
        Case{&ginDevCommRequirements_t::signals, 65'537, "65537, expected 0 .. 65536"},
        Case{&ginDevCommRequirements_t::signals, -2, "signals is -2"},
        Case{&ginDevCommRequirements_t::counters, 65'537, "65537, expected 0 .. 65536"},
        Case{&ginDevCommRequirements_t::queueDepth, 100, "100, expected 64 .. 1048576"},
        Case{&ginDevCommRequirements_t::queueDepth, 32, "32, expected 64 .. 1048576"},
        Case{&ginDevCommRequirements_t::queueDepth, 1 << 21, "expected 64 .. 1048576"}}) {
    ginDevCommRequirements_t r = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
    r.*k.field = k.value;
    EXPECT_EQ(create(r), ginInvalidArgument) << k.text;
    EXPECT_TRUE(last_error_has(k.text)) << ginGetLastError();
    EXPECT_EQ(d.segment, nullptr);
  }
  ginDevCommRequirements_t r = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  r.timeoutNs = -2;
  EXPECT_EQ(create(r), ginInvalidArgument);
  r = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  r.sharing = static_cast<ginSharing_t>(3);
  EXPECT_EQ(create(r), ginInvalidArgument);
  EXPECT_EQ(ginDevCommCreate(c.comm, nullptr, &d), ginInvalidArgument);
  EXPECT_EQ(ginDevCommCreate(c.comm, &r, nullptr), ginInvalidArgument);
}

TEST_F(Device, RequirementsOfAnotherSizeAreAcceptedOnlyWhenTheRestIsZero) {
  struct Newer {
    ginDevCommRequirements_t known = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
    std::uint64_t more = 0;
  } r;
  r.known.size = sizeof r;
  EXPECT_EQ(create(r.known), ginSuccess) << ginGetLastError();
  r.more = 1;
  EXPECT_EQ(create(r.known), ginNotSupported);
  r.known.size = sizeof r.known - 8;
  EXPECT_EQ(create(r.known), ginInvalidArgument);
  r.known.size = 0;
  EXPECT_EQ(create(r.known), ginInvalidArgument);
}

TEST_F(Device, DestroyTakesOnlyItsOwn) {
  d = c.device();
  ginDevComm_t copy = d;
  TestComm other;
  EXPECT_EQ(ginDevCommDestroy(other.comm, &copy), ginInvalidArgument);
  EXPECT_EQ(ginDevCommDestroy(c.comm, nullptr), ginInvalidArgument);
  EXPECT_EQ(ginDevCommDestroy(c.comm, &d), ginSuccess) << ginGetLastError();
  EXPECT_EQ(d.segment, nullptr);
  EXPECT_EQ(ginDevCommDestroy(c.comm, &copy), ginInvalidArgument) << "twice";
}

TEST(DeviceSegment, OfAnotherVersionIsRefusedWithBoth) {
  FakeOptions options;
  options.header_version = 6;
  FakeGind gind(options);
  TestComm c;
  const ginDevCommRequirements_t r = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  ginDevComm_t d{};
  EXPECT_EQ(ginDevCommCreate(c.comm, &r, &d), ginVersionMismatch);
  EXPECT_TRUE(last_error_has("version 6")) << ginGetLastError();
  EXPECT_TRUE(last_error_has("version " + std::to_string(gin::queues::kSegmentVersion)))
      << ginGetLastError();
}

TEST(Teams, WorldAndLocalMapPeersToWorldRanks) {
  FakeOptions options;
  options.node_of_rank = {4, 1, 4, 1, 4};
  FakeGind gind(options);
  TestComm c(5, 2);
  const ginDevComm_t d = c.device();
  const ginTeam_t world = ginTeamWorld(d);
  EXPECT_EQ(world.nRanks, 5);
  EXPECT_EQ(world.rank, 2);
  for (int p = 0; p < 5; ++p) EXPECT_EQ(ginTeamRankToWorld(d, world, p), p);
  const ginTeam_t local = ginTeamLocal(d);
  EXPECT_EQ(local.nRanks, 3);
  EXPECT_EQ(local.rank, 1);
  EXPECT_EQ(ginTeamRankToWorld(d, local, 0), 0);
  EXPECT_EQ(ginTeamRankToWorld(d, local, 1), 2);
  EXPECT_EQ(ginTeamRankToWorld(d, local, 2), 4);
  EXPECT_EQ(ginTeamRankToWorld(d, local, 3), -1);
  EXPECT_EQ(ginTeamRankToWorld(d, world, -1), -1);
  const ginTeam_t beyond{9, 0, 0, 1, nullptr, 9};  // says more ranks than there are
  EXPECT_EQ(ginTeamRankToWorld(d, beyond, 8), -1);
}

}  // namespace
}  // namespace gind::test
