// SPDX-License-Identifier: Apache-2.0
// What NCCL's names mean in gind's: actions, fences, orders, codes, teams.
#include "gin/nccl_compat.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gind::test {
namespace {

using gin::queues::Descriptor;
using gin::queues::RemoteAction;

template <typename Action>
Descriptor applied(const Action& action, bool strong_legacy = true) {
  ncclDevComm comm{};
  comm.ginStrongLegacySignals = strong_legacy;
  Descriptor d{};
  gin::nccl::action_of(comm, action).apply(d);
  return d;
}

void expect_indexed(const Descriptor& d, RemoteAction action, std::uint64_t addend) {
  EXPECT_EQ(d.action, action);
  EXPECT_EQ(d.signal, 7u);
  EXPECT_EQ(d.addend, addend);
}
void expect_va(const Descriptor& d, RemoteAction action, std::uint64_t addend) {
  EXPECT_EQ(d.action, action);
  EXPECT_EQ(d.va_window, 4u);
  EXPECT_EQ(d.va_offset, 64u);
  EXPECT_EQ(d.addend, addend);
}

TEST(NcclMapping, MarkedSignalsAreStrongOrWeakAsTheySay) {
  ncclWindow_t w = nullptr;
  w.gin.id = 5;
  for (const bool legacy : {true, false}) {
    expect_indexed(applied(ncclGin_StrongSignalInc{7}, legacy), RemoteAction::kAddStrong, 1);
    expect_indexed(applied(ncclGin_StrongSignalAdd{7, 9}, legacy), RemoteAction::kAddStrong, 9);
    expect_indexed(applied(ncclGin_WeakSignalInc{7}, legacy), RemoteAction::kAddWeak, 1);
    expect_indexed(applied(ncclGin_WeakSignalAdd{7, 9}, legacy), RemoteAction::kAddWeak, 9);
    expect_va(applied(ncclGin_StrongVASignalInc{w, 64}, legacy), RemoteAction::kVaAddStrong, 1);
    expect_va(applied(ncclGin_StrongVASignalAdd{w, 64, 9}, legacy), RemoteAction::kVaAddStrong, 9);
    expect_va(applied(ncclGin_WeakVASignalInc{w, 64}, legacy), RemoteAction::kVaAddWeak, 1);
    expect_va(applied(ncclGin_WeakVASignalAdd{w, 64, 9}, legacy), RemoteAction::kVaAddWeak, 9);
  }
}

TEST(NcclMapping, UnmarkedSignalsAreAsTheDeviceCommunicatorWasMade) {
  ncclWindow_t w = nullptr;
  w.gin.id = 5;
  expect_indexed(applied(ncclGin_SignalInc{7}), RemoteAction::kAddStrong, 1);
  expect_indexed(applied(ncclGin_SignalAdd{7, 9}, false), RemoteAction::kAddWeak, 9);
  expect_va(applied(ncclGin_VASignalInc{w, 64}), RemoteAction::kVaAddStrong, 1);
  expect_va(applied(ncclGin_VASignalAdd{w, 64, 9}, false), RemoteAction::kVaAddWeak, 9);
}

TEST(NcclMapping, OnlyAReleaseAtSystemScopeSparesTheFence) {
  const cuda::thread_scope all[] = {cuda::thread_scope_system, cuda::thread_scope_device,
                                    cuda::thread_scope_block, cuda::thread_scope_thread};
  for (const auto given : all) {
    for (const auto required : all) {
      const bool spared =
          given == cuda::thread_scope_system || required == cuda::thread_scope_thread;
      EXPECT_EQ(gin::nccl::fence_of(given, required),
                spared ? ginAlreadyReleased : ginFenceDefault);
    }
  }
}

TEST(NcclMapping, OrdersAndCodes) {
  EXPECT_EQ(gin::nccl::order_of(cuda::memory_order_relaxed), ginOrderRelaxed);
  EXPECT_EQ(gin::nccl::order_of(cuda::memory_order_acquire), ginOrderAcquire);
  EXPECT_EQ(gin::nccl::order_of(cuda::memory_order_release), ginOrderRelease);
  EXPECT_EQ(gin::nccl::order_of(cuda::memory_order_acq_rel), ginOrderAcqRel);
  EXPECT_EQ(gin::nccl::order_of(cuda::memory_order_seq_cst), ginOrderAcqRel);
  for (int code = 0; code < ginResultCount_; ++code) {
    const ncclResult_t as = gin::nccl::result_of(static_cast<ginResult_t>(code));
    if (code <= ginTimeout) {
      EXPECT_EQ(static_cast<int>(as), code);
    } else {
      EXPECT_NE(as, ncclSuccess);
    }
    EXPECT_LT(as, ncclNumResults);
  }
}

// World ranks of a team as rank 6 of 12 sees it, through gind's arithmetic and through NCCL's.
std::vector<int> members(const ncclDevComm& comm, const ncclTeam& team) {
  std::vector<int> list;
  ginDevComm_t gin{};
  gin.rank = comm.rank;
  gin.nRanks = comm.nRanks;
  for (int i = 0; i < team.nRanks; ++i) {
    list.push_back(ginTeamRankToWorld(gin, gin::nccl::team_of(comm, team), i));
    EXPECT_EQ(list.back(), ncclTeamRankToWorld(comm, team, i));
  }
  return list;
}

TEST(NcclMapping, TeamsMeanTheSameRanks) {
  ncclDevComm comm{};
  comm.rank = 6;
  comm.nRanks = 12;
  comm.lsaSize = 1;
  using List = std::vector<int>;
  const ncclTeam world = ncclTeamWorld(comm);
  EXPECT_EQ(members(comm, world).size(), 12u);
  EXPECT_EQ(members(comm, ncclTeamLsa(comm)), List{6});
  EXPECT_EQ(members(comm, ncclTeamRail(comm)), members(comm, world));
  const ncclTeam inner = ncclTeamInnerFactor(world, 4);
  const ncclTeam outer = ncclTeamOuterFactor(world, 4);
  EXPECT_EQ(members(comm, inner), (List{4, 5, 6, 7}));
  EXPECT_EQ(members(comm, outer), (List{2, 6, 10}));
  EXPECT_EQ(members(comm, ncclTeamInnerFactor(outer, 3)), members(comm, outer));
  for (int p = 0; p < 12; ++p) {
    const auto in = members(comm, outer);
    const bool member = std::find(in.begin(), in.end(), p) != in.end();
    EXPECT_EQ(ncclTeamRankIsMember(outer, world, p), member) << p;
    if (!member) continue;
    EXPECT_EQ(in[static_cast<std::size_t>(ncclTeamRankToTeam(outer, world, p))], p);
  }
}

TEST(NcclMapping, RanksInADifferenceAreThoseThatAreLeftInOrder) {
  ncclDevComm comm{};
  comm.rank = 6;
  comm.nRanks = 12;
  const ncclTeam world = ncclTeamWorld(comm);
  const ncclTeam subsets[] = {ncclTeamInnerFactor(world, 1),
                              ncclTeamInnerFactor(world, 4),
                              ncclTeamOuterFactor(world, 4),
                              ncclTeamOuterFactor(world, 2),
                              ncclTeamInnerFactor(world, 12),
                              {3, 1, -2},
                              {4, 3, -1}};
  for (const ncclTeam& subset : subsets) {
    const auto in = members(comm, subset);
    int index = 0;
    for (int p = 0; p < 12; ++p) {
      if (std::find(in.begin(), in.end(), p) != in.end()) continue;
      EXPECT_EQ(ncclTeamRankInDifference(world, subset, index), p)
          << "of " << subset.nRanks << " by " << subset.stride;
      ++index;
    }
  }
}

TEST(NcclMapping, ARankOutsideTheWorldIsNone) {
  ncclDevComm comm{};
  comm.rank = 1;
  comm.nRanks = 4;
  ginDevComm_t gin{};
  gin.nRanks = 4;
  const ginTeam_t past = gin::nccl::team_of(comm, ncclTeam{3, 0, 2});  // 1, 3, 5
  EXPECT_EQ(ginTeamRankToWorld(gin, past, 1), 3);
  EXPECT_EQ(ginTeamRankToWorld(gin, past, 2), -1);
}

}  // namespace
}  // namespace gind::test
