// SPDX-License-Identifier: Apache-2.0
// get, the atomics, VA signals, shadows, flushAsync and quiet do what device_api promises, on every
// fabric.
#include "fabric_cases.h"
#include "ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace gind::test {
namespace {

constexpr std::uint64_t kBytes = 4 << 20;
const ginWaitOptions kWait{kWaitNs, nullptr};

class OperationsOn : public testing::TestWithParam<FabricCase> {
 protected:
  // Runs `body` on every rank, with a window that may hold VA signals.
  void run(const std::function<void(Rank&, World&)>& body) {
    Cluster cluster(cluster_of(GetParam()));
    const std::string failures = run_ranks(
        cluster.place(GetParam().ranks),
        [&](Rank& rank) {
          World w = make_world(rank, kBytes, nullptr, GIN_WIN_STRICT_ORDERING);
          body(rank, w);
          rank.barrier();
          end_world(w);
        },
        100);
    EXPECT_EQ(failures, "") << cluster.logs();
  }
};

std::uint64_t& word(const World& w, std::uint64_t at) {
  return *reinterpret_cast<std::uint64_t*>(w.memory + at);
}

unsigned char stamp(int rank, std::uint64_t at) {
  return static_cast<unsigned char>(rank * 37 + static_cast<int>(at % 251) + 1);
}

TEST_P(OperationsOn, GetBringsThePeersBytesAndNoOthers) {
  run([](Rank& rank, World& w) {
    constexpr std::uint64_t kHalf = kBytes / 2;
    const ginContext ctx{w.dev, 1};
    for (std::uint64_t i = 0; i < kHalf; ++i) {
      w.memory[i] = static_cast<char>(stamp(rank.rank(), i));
    }
    rank.barrier();
    for (const std::uint64_t bytes : {0ul, 1ul, 7ul, 64ul, 4097ul, 70001ul, 1000003ul}) {
      for (int peer = 0; peer < rank.nranks(); ++peer) {
        std::memset(w.memory + kHalf, 0, kHalf);
        const std::uint64_t from = 3 + bytes % 5;
        const std::uint64_t to = kHalf + 8 + bytes % 3;
        check(ctx.get(ginTeamWorld(w.dev), peer, w.window, from, w.window, to, bytes), "get");
        check(ctx.flush(ginCoopThread{}, kWait), "flush");
        for (std::uint64_t i = 0; i < bytes + 16; ++i) {
          const bool inside = i >= 8 && i < bytes + 8;
          const auto got = static_cast<unsigned char>(w.memory[to - 8 + i]);
          if (got != (inside ? stamp(peer, from + i - 8) : 0)) {
            throw RankFailure("byte " + std::to_string(i) + " of a get of " +
                              std::to_string(bytes) + " from rank " + std::to_string(peer));
          }
        }
      }
    }
  });
}

// All ranks, on two contexts each: no addition is lost, and no two see the same old value.
TEST_P(OperationsOn, FetchAddIsAtomicAndReturnsWhatWasThere) {
  run([](Rank& rank, World& w) {
    constexpr std::uint64_t kEach = 200;
    constexpr std::uint64_t kWord = 64;
    constexpr std::uint64_t kResults = 4096;
    constexpr std::uint64_t kSeen = kBytes / 2;  // on rank 0: whether an old value was seen
    const auto n = static_cast<std::uint64_t>(rank.nranks());
    const ginTeam_t world = ginTeamWorld(w.dev);
    for (std::uint64_t i = 0; i < kEach; ++i) {
      for (int c = 0; c < 2; ++c) {
        const ginContext ctx{w.dev, c};
        check(ctx.fetchAdd(world, 0, w.window, kWord, 1, w.window, kResults + (2 * i + c) * 8),
              "fetchAdd");
      }
    }
    for (int c = 0; c < 2; ++c) {
      const ginContext ctx{w.dev, c};
      check(ctx.flush(ginCoopThread{}, kWait), "flush");
    }
    rank.barrier();
    const ginContext ctx{w.dev, 0};
    for (std::uint64_t i = 0; i < 2 * kEach; ++i) {
      const std::uint64_t old = word(w, kResults + i * 8);
      expect(old < 2 * kEach * n, "an old value below the total, not " + std::to_string(old));
      check(ctx.putValue(world, 0, w.window, kSeen + old, std::uint8_t{1}), "putValue");
    }
    check(ctx.quiet(ginCoopThread{}, kWait), "quiet");
    rank.barrier();
    if (rank.rank() != 0) return;
    expect(word(w, kWord) == 2 * kEach * n, "every addition exactly once");
    const char* seen = w.memory + kSeen;
    expect(std::count(seen, seen + 2 * kEach * n, 1) == static_cast<long>(2 * kEach * n),
           "every old value exactly once");
  });
}

// A lock of compareSwap around a counter that is changed by get and put.
TEST_P(OperationsOn, CompareSwapMakesALock) {
  run([](Rank& rank, World& w) {
    constexpr std::uint64_t kLock = 0;
    constexpr std::uint64_t kCounter = 128;
    constexpr std::uint64_t kOld = 256;
    constexpr std::uint64_t kMine = 264;
    constexpr std::uint64_t kTimes = 25;
    const ginContext ctx{w.dev, 0};
    const ginTeam_t world = ginTeamWorld(w.dev);
    const std::uint64_t me = static_cast<std::uint64_t>(rank.rank()) + 1;
    const auto swap = [&](std::uint64_t expected, std::uint64_t desired) {
      check(ctx.compareSwap(world, 0, w.window, kLock, expected, desired, w.window, kOld), "swap");
      check(ctx.flush(ginCoopThread{}, kWait), "flush");
      return word(w, kOld);
    };
    for (std::uint64_t i = 0; i < kTimes; ++i) {
      const std::uint64_t give_up = gin::queues::now_ns() + 60'000'000'000;
      while (swap(0, me) != 0) expect(gin::queues::now_ns() < give_up, "the lock within 60 s");
      check(ctx.get(world, 0, w.window, kCounter, w.window, kMine, 8), "get");
      check(ctx.flush(ginCoopThread{}, kWait), "flush");
      ++word(w, kMine);
      check(ctx.put(world, 0, w.window, kCounter, w.window, kMine, 8), "put");
      // The swap is in its place behind the put: who takes the lock next sees the counter.
      expect(swap(me, 0) == me, "the lock to be mine");
    }
    rank.barrier();
    if (rank.rank() == 0) {
      expect(word(w, kCounter) == kTimes * static_cast<std::uint64_t>(rank.nranks()),
             "no increment lost under the lock, not " + std::to_string(word(w, kCounter)));
    }
  });
}

TEST_P(OperationsOn, VASignalsVouchForTheirDataAndCanBeReset) {
  run([](Rank& rank, World& w) {
    constexpr std::uint64_t kStrong = 8;
    constexpr std::uint64_t kWeak = 16;
    constexpr std::uint64_t kData = 64 << 10;
    constexpr std::uint64_t kSource = 2 << 20;
    constexpr std::uint64_t kSize = 100'000;
    const ginContext ctx{w.dev, 2};
    const ginTeam_t world = ginTeamWorld(w.dev);
    const int to = (rank.rank() + 1) % rank.nranks();
    const int from = (rank.rank() + rank.nranks() - 1) % rank.nranks();
    for (std::uint64_t round = 1; round <= 20; ++round) {
      std::memset(w.memory + kSource, static_cast<int>(round) + rank.rank(), kSize);
      rank.barrier();
      const auto put = [&](std::uint64_t at, auto action) {
        check(ctx.put(world, to, w.window, kData + at, w.window, kSource, kSize, action), "put");
      };
      put(0, ginNoRemoteAction{});
      put(2 * kSize, ginWeakVASignalInc{w.window, kWeak});
      put(4 * kSize, ginVASignalAdd{w.window, kStrong, 0x1'0000'0000});
      const auto whole = [&](std::uint64_t at) {
        const char* p = w.memory + kData + at;
        const auto want = static_cast<char>(static_cast<int>(round) + from);
        return std::all_of(p, p + kSize, [want](char c) { return c == want; });
      };
      check(ctx.waitSignal(ginCoopThread{}, w.window, kWeak, round, 64, kWait), "weak");
      expect(whole(2 * kSize), "the data that the weak signal rode on");
      check(ctx.waitSignal(ginCoopThread{}, w.window, kStrong, 0x1'0000'0000 * round, 64, kWait),
            "strong");
      expect(whole(0) && whole(2 * kSize) && whole(4 * kSize), "all data before the strong signal");
      check(ctx.flush(ginCoopThread{}, kWait), "flush");
      rank.barrier();
    }
    expect(ctx.readSignal(w.window, kStrong) == 20 * 0x1'0000'0000, "the sum");
    expect(ctx.readSignal(w.window, kStrong, 32) == 0, "its low half");
    check(ctx.resetSignal(w.window, kStrong, kWait), "reset");
    expect(ctx.readSignal(w.window, kStrong) == 0, "0 after the reset");
    rank.barrier();
    check(ctx.signal(world, to, ginVASignalInc{w.window, kStrong}), "signal");
    check(ctx.waitSignal(ginCoopThread{}, w.window, kStrong, 1, 64, kWait), "after the reset");
  });
}

TEST_P(OperationsOn, ShadowsFollowTheirSignals) {
  run([](Rank& rank, World& w) {
    const ginContext ctx{w.dev, 0};
    const ginTeam_t world = ginTeamWorld(w.dev);
    const int to = (rank.rank() + 1) % rank.nranks();
    check(ctx.increaseSignalShadow(7, 3), "increase");
    expect(*ctx.getSignalShadowPtr(7) == 3, "a shadow of 3");
    check(ctx.signal(world, to, ginSignalAdd{7, 3}), "signal");
    check(ctx.waitSignalMeetShadow(ginCoopThread{}, 7, 64, kWait), "meet");
    check(ctx.signal(world, to, ginSignalAdd{7, 5}), "signal");
    std::uint32_t before = 0;
    std::uint32_t delta = 0;
    std::uint32_t sum = 0;
    while (sum < 5) {
      check(ctx.waitSignalFollowShadow(ginCoopThread{}, 7, 1u, &before, &delta, 32, kWait),
            "follow");
      expect(before == 3 + sum && delta >= 1, "before and delta");
      sum += delta;
    }
    expect(sum == 5 && *ctx.getSignalShadowPtr(7) == 8, "the shadow at its signal");
    ginWaitStatus status{};
    expect(ctx.waitSignalFollowShadow(ginCoopThread{}, 7, 1u, &before, &delta, 32,
                                      ginWaitOptions{1'000'000, nullptr, &status}) == ginTimeout,
           "a timeout");
    expect(status.kind == ginWaitKindSignal && status.index == 7 && status.wanted == 9 &&
               status.seen == 8,
           "a status that names the signal");
    check(ctx.resetSignal(7), "reset");
    expect(*ctx.getSignalShadowPtr(7) == 0, "the shadow of a reset signal is 0");
  });
}

// The source of a put may be reused when the wait of its peer's request has returned.
TEST_P(OperationsOn, FlushAsyncCompletesOnePeer) {
  run([](Rank& rank, World& w) {
    constexpr std::uint64_t kSize = 300'000;
    const ginContext ctx{w.dev, 3};
    const ginTeam_t world = ginTeamWorld(w.dev);
    const int to = (rank.rank() + 1) % rank.nranks();
    ginRequest_t nothing{};
    check(ctx.flushAsync(world, to, &nothing), "flushAsync");
    check(ctx.wait(nothing, ginCoopThread{}, kWait), "wait for nothing");
    for (std::uint64_t round = 0; round < 6; ++round) {
      std::memset(w.memory, static_cast<int>(round) + 1, kSize);
      check(ctx.put(world, to, w.window, (1 + round) * kSize, w.window, 0, kSize, ginSignalInc{1}),
            "put");
      ginRequest_t request{};
      check(ctx.flushAsync(world, to, &request), "flushAsync");
      check(ctx.wait(request, ginCoopThread{}, kWait), "wait");
      std::memset(w.memory, 0, kSize);
    }
    check(ctx.waitSignal(ginCoopThread{}, 1, 6, 64, kWait), "signal");
    for (std::uint64_t round = 0; round < 6; ++round) {
      const char* p = w.memory + (1 + round) * kSize;
      expect(std::all_of(p, p + kSize, [&](char c) { return c == static_cast<char>(round + 1); }),
             "what the source held before the wait returned");
    }
  });
}

// Nothing orders contexts but quiet: a put on one, then a signal on another.
TEST_P(OperationsOn, QuietMakesPutsVisibleToSignalsOfOtherContexts) {
  run([](Rank& rank, World& w) {
    constexpr std::uint64_t kSize = 500'000;
    const ginContext data{w.dev, 0};
    const ginContext other{w.dev, 1};
    const ginTeam_t world = ginTeamWorld(w.dev);
    const int to = (rank.rank() + 1) % rank.nranks();
    for (std::uint64_t round = 1; round <= 20; ++round) {
      std::memset(w.memory, static_cast<int>(round), kSize);
      rank.barrier();
      check(data.put(world, to, w.window, kBytes / 2, w.window, 0, kSize), "put");
      check(data.quiet(ginCoopThread{}, kWait), "quiet");
      check(other.signal(world, to, ginWeakSignalInc{2}), "signal");
      check(other.waitSignal(ginCoopThread{}, 2, round, 64, kWait), "wait");
      const char* p = w.memory + kBytes / 2;
      expect(std::all_of(p, p + kSize, [&](char c) { return c == static_cast<char>(round); }),
             "the data behind quiet");
      check(data.quiet(ginCoopThread{}, kWait), "a second quiet has nothing to do");
      rank.barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Fabrics, OperationsOn, testing::ValuesIn(all_fabrics()), fabric_name);

}  // namespace
}  // namespace gind::test
