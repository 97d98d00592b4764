// SPDX-License-Identifier: Apache-2.0
// Kernels and host calls in NCCL's spelling, the kernels played by CPU threads.
#include "cluster.h"
#include "fabric_cases.h"
#include "nccl_many_kernels.h"
#include "nccl_world.h"

#include <gtest/gtest.h>

#include <thread>

namespace gind::test {
namespace {

constexpr std::size_t kBytes = 1 << 20;

std::string run_on(const FabricCase& c, const RankRun::Body& body) {
  const Cluster cluster(cluster_of(c));
  const std::string failures = run_ranks(cluster.place(c.ranks), body, 100);
  return failures.empty() ? failures : failures + cluster.logs();
}

// Runs body(world, verdict) on each rank; nothing may have failed.
template <typename F>
void play(const FabricCase& c, const F& body, int contexts = 4) {
  EXPECT_EQ(run_on(c,
                   [&](Rank& rank) {
                     NcclWorld w(rank, kBytes, contexts);
                     Verdict v{};
                     body(w, &v);
                     expect_verdict(v, w, "verdict");
                     w.end();
                   }),
            "");
}

const FabricCase kLoopback{"Loopback", "loopback", {3}, {}};

class NcclKernelsOn : public testing::TestWithParam<FabricCase> {};

TEST_P(NcclKernelsOn, RingOfPutsWithSignals) {
  play(GetParam(),
       [](NcclWorld& w, Verdict* v) { ring(ncclCoopThread{}, w.dev, w.window[0], 1024, 30, v); });
}

TEST_P(NcclKernelsOn, AllToAllOnSeveralContexts) {
  play(GetParam(), [](NcclWorld& w, Verdict* v) {
    for (unsigned round = 1; round <= 5; ++round) {
      for (unsigned block = 0; block < 6; ++block) {
        all_to_all(ncclCoopCta{}, w.dev, w.window[0], w.window[1], 256, block, round, v);
      }
    }
  });
}

TEST_P(NcclKernelsOn, ValuesAndGets) {
  play(GetParam(), [](NcclWorld& w, Verdict* v) {
    values(ncclCoopWarp{}, w.dev, w.window[0], v);
    gets(ncclCoopTile<8>{}, w.dev, w.window[1], 512, v);
  });
}

TEST_P(NcclKernelsOn, VaSignalsOnManyContexts) {
  for (const int contexts : {17, 129}) {
    play(
        GetParam(),
        [](NcclWorld& w, Verdict* v) {
          const auto n = static_cast<int>(w.dev.ginContextCount);
          for (unsigned round = 1; round <= 2; ++round) {
            for (int c = 0; c < n; ++c) {
              dispatch_post(ncclCoopWarp{}, w.dev, c, w.window[0], w.window[1], round);
            }
            for (int c = 0; c < n; ++c) {
              dispatch_await(ncclCoopWarp{}, w.dev, c, w.window[0], w.window[1], round, v);
            }
          }
          dispatch_reset(w.dev, n - 1, w.window[1], v);
        },
        contexts);
  }
}

TEST_P(NcclKernelsOn, ShadowsAndBarriers) {
  play(GetParam(), [](NcclWorld& w, Verdict* v) {
    shadows(ncclCoopAny{ncclCoopWarp{}}, w.dev, v);
    barriers(ncclCoopCta{}, w.dev, w.window[0], w.extra, 5, v);
  });
}

INSTANTIATE_TEST_SUITE_P(Fabrics, NcclKernelsOn,
                         testing::Values(kLoopback, FabricCase{"Tcp", "tcp;ofi_rxm", {2, 1}, {}}),
                         fabric_name);

// Runs `fault` and gives the text that ncclCommGetAsyncError has for it, with its code in front.
std::string failure_of(const std::function<void(NcclWorld&)>& fault) {
  std::string text;
  const std::string ended = run_on({"", "loopback", {1}, {}}, [&](Rank& rank) {
    NcclWorld w(rank, kBytes, 4, 300'000'000);
    fault(w);
    ncclResult_t error = ncclSuccess;
    for (int i = 0; i < 5000 && error == ncclSuccess; ++i) {
      nccl_check(ncclCommGetAsyncError(w.comm, &error), "ncclCommGetAsyncError");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    throw RankFailure("code " + std::to_string(error) + ": " + ncclGetLastError(w.comm));
  });
  return ended;
}

TEST(NcclFailure, AWaitThatEndsByItsDeadlineIsAnAsynchronousErrorAndEndsTheOthers) {
  const std::string text = failure_of([](NcclWorld& w) {
    const ncclGin gin{w.dev, 2};
    gin.waitSignal(ncclCoopThread{}, 3, 7);
    // Each with a deadline of its own this would take an hour.
    for (int i = 0; i < 10'000; ++i) gin.waitSignal(ncclCoopThread{}, 4, 1);
  });
  EXPECT_NE(text.find("code 8: "), std::string::npos) << text;
  EXPECT_NE(text.find("wait for signal 3 on context 2 (wanted, or at offset, 7)"),
            std::string::npos)
      << text;
}

TEST(NcclFailure, BadUseNamesFieldAndValue) {
  const std::string text = failure_of([](NcclWorld& w) {
    const ncclGin gin{w.dev, 0};
    gin.signal(ncclTeamWorld(w.dev), 5, ncclGin_SignalInc{0});
  });
  EXPECT_NE(text.find("code 4: "), std::string::npos) << text;
  EXPECT_NE(text.find("peer 5"), std::string::npos) << text;
}

TEST(NcclFailure, ABarrierThatWasNotRequiredIsBadUse) {
  const std::string text = failure_of([](NcclWorld& w) {
    const ncclGin gin{w.dev, 0};
    ncclGinBarrier(ncclCoopThread{}, gin, ncclTeamTagRail(), 1);  // there is one: 0
  });
  EXPECT_NE(text.find("code 4: "), std::string::npos) << text;
  EXPECT_NE(text.find("barrier"), std::string::npos) << text;
}

TEST(NcclFailure, AContextThatIsNotThereIsToldAndTouchesNothing) {
  const std::string text = failure_of([](NcclWorld& w) {
    const ncclGin gin{w.dev, 99};
    expect(gin.readSignal(0) == 0, "0");
    expect(gin.getSignalShadowPtr(0) == nullptr, "null");
  });
  EXPECT_NE(text.find("code 4: "), std::string::npos) << text;
  EXPECT_NE(text.find("on context 99"), std::string::npos) << text;
}

TEST(NcclFailure, ALoadStoreBarrierWithOthersIsRefused) {
  const std::string text = failure_of([](NcclWorld& w) {
    const ncclLsaBarrierSession<ncclCoopThread> b{ncclCoopThread{}, w.dev, ncclTeam{2, 0, 1},
                                                  w.dev.lsaBarrier, 0};
  });
  EXPECT_NE(text.find("code 5: "), std::string::npos) << text;
  EXPECT_NE(text.find("load/store barrier"), std::string::npos) << text;
}

bool told(const std::string& what) {
  return std::string(ncclGetLastError(nullptr)).find(what) != std::string::npos;
}

TEST(NcclHost, CommunicatorsAndTheirMemory) {
  EXPECT_EQ(
      run_on(
          {"", "loopback", {2}, {}},
          [](Rank& rank) {
            void* p = nullptr;
            expect(ncclMemAlloc(&p, 4096) == ncclInvalidUsage && told("ncclCommInitRank"),
                   "no memory without a communicator");
            NcclWorld w(rank, kBytes);
            int count = 0, me = -1, version = 0, device = 0;
            nccl_check(ncclCommCount(w.comm, &count), "count");
            nccl_check(ncclCommUserRank(w.comm, &me), "rank");
            nccl_check(ncclGetVersion(&version), "version");
            nccl_check(ncclCommCuDevice(w.comm, &device), "device");
            expect(count == 2 && me == rank.rank() && version == NCCL_VERSION_CODE && device == -1,
                   "2 ranks, no GPU");
            ncclCommProperties_t props = NCCL_COMM_PROPERTIES_INITIALIZER;
            nccl_check(ncclCommQueryProperties(w.comm, &props), "properties");
            expect(props.deviceApiSupport && props.ginType == NCCL_GIN_TYPE_PROXY &&
                       props.nLsaTeams == 2 && !props.multimemSupport,
                   "properties");
            expect(w.dev.lsaSize == 1 && w.dev.ginContextCount == 4, "device communicator");
            expect(ncclGetPeerPointer(w.window[0], 8, me) == static_cast<char*>(w.memory[0]) + 8 &&
                       ncclGetPeerPointer(w.window[0], 8, 1 - me) == nullptr,
                   "pointers to the own part only");
            expect(ncclMemFree(&count) == ncclInvalidArgument, "not of ncclMemAlloc");
            expect(ncclMemFree(w.memory[0]) == ncclInvalidUsage, "a window lies in it");
            nccl_check(ncclMemAlloc(&p, 4096), "memory that nobody frees before its end");
            w.end();
            nccl_check(ncclMemFree(p), "memory that went with its communicator");
            expect(ncclMemFree(p) == ncclInvalidArgument, "once");
          }),
      "");
}

TEST(NcclHost, RequirementsThatGindDoesNotMeetAreRefusedByName) {
  EXPECT_EQ(
      run_on({"", "loopback", {1}, {}},
             [](Rank& rank) {
               ncclComm_t comm = nccl_init(rank);
               const auto refused = [&](const auto& change, const std::string& what) {
                 ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
                 change(reqs);
                 ncclDevComm dev;
                 expect(ncclDevCommCreate(comm, &reqs, &dev) == ncclInvalidUsage && told(what),
                        what + " refused: " + ncclGetLastError(comm));
               };
               refused([](auto& r) { r.lsaMultimem = true; }, "lsaMultimem");
               refused([](auto& r) { r.lsaLLA2ASlotCount = 1; }, "lsaLLA2ASlotCount");
               refused([](auto& r) { r.ginSignalCount = -1; }, "negative");
               ncclDevResourceRequirements_t list{};
               list.bufferSize = 1;
               refused([&](auto& r) { r.resourceRequirementsList = &list; }, "bufferSize");
               ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
               reqs.magic = 0;
               ncclDevComm dev;
               expect(ncclDevCommCreate(comm, &reqs, &dev) == ncclInvalidArgument, "no magic");
               ncclDevCommRequirements zero{};  // as before 2.29
               zero.ginSignalCount = 2;
               ncclGinSignal_t first = 0;
               list = {};
               list.ginSignalCount = 3;
               list.outGinSignalStart = &first;
               zero.resourceRequirementsList = &list;
               nccl_check(ncclDevCommCreate(comm, &zero, &dev), "zeroed requirements");
               expect(first == 2 && dev.ginSignalCount == 5 && dev.ginStrongLegacySignals,
                      "signals behind the application's, strong");
               ncclDevComm other{};
               expect(ncclDevCommDestroy(comm, &other) == ncclInvalidArgument, "not comm's");
               nccl_check(ncclDevCommDestroy(comm, &dev), "destroy");
               nccl_check(ncclCommAbort(comm), "abort");
             }),
      "");
}

}  // namespace
}  // namespace gind::test
