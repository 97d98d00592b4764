// SPDX-License-Identifier: Apache-2.0
// Strong signals never overtake the data they vouch for: histories of real traffic.
#include "cluster.h"
#include "history.h"
#include "ranks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace gind::test {
namespace {

constexpr std::uint64_t kSlots = 16;
constexpr std::uint64_t kEvery = 3;
constexpr std::uint32_t kAck = 1000;  // signal: index of the one that returns credit

struct Case {
  const char* name;
  std::string provider;
  std::vector<int> ranks;
  std::vector<std::string> set;
  std::uint64_t messages = 6000;
};

std::uint64_t load(const char* at) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(const_cast<char*>(at)))
      .load(std::memory_order_relaxed);
}

// Sizes from one word to several pieces, so that large and small overtake each other if they can.
std::uint64_t size_of(std::uint64_t message) {
  switch (message % 7) {
    case 0:
      return 100 * 1024;
    case 3:
      return 4096;
    case 5:
      return 16;
    default:
      return 64 + 8 * (message % 5);
  }
}

constexpr std::uint64_t kSlotBytes = 128 << 10;

struct Stream {
  World& w;
  const ginContext ctx;
  int rank;
  int to;
  int from;
  bool broken;  // posts the signal before the data, on purpose
  ginWaitOptions wait{kWaitNs, nullptr};

  void post(std::uint64_t k) {
    const ginTeam_t world = ginTeamWorld(w.dev);
    const std::uint64_t slot = (k % kSlots) * kSlotBytes;
    // A slot is written again only when the target has seen its last message.
    if (k > kSlots / 2) {
      check(ctx.waitSignal(ginCoopThread{}, kAck, (k - kSlots / 2) / kEvery, 64, wait), "ack");
    }
    const std::uint64_t bytes = size_of(k);
    char* source = w.memory + slot;
    std::memcpy(source, &k, 8);
    std::memcpy(source + bytes - 8, &k, 8);
    // The reader looks at a fixed place for the last word, so a second put brings it there.
    const std::uint64_t base = kSlots * kSlotBytes + slot;
    const auto put = [&](std::uint64_t at, std::uint64_t from_at, std::uint64_t n, auto action) {
      check(ctx.put(world, to, w.window, base + at, w.window, slot + from_at, n, action,
                    ginNoLocalAction{}, ginCoopThread{}, ginFenceDefault, wait),
            "put");
    };
    if (broken && k % kEvery == 0) {
      check(ctx.signal(world, to, ginSignalInc{0}, ginCoopThread{}, wait), "signal");
    }
    put(0, 0, bytes, ginNoRemoteAction{});
    if (k % kEvery == 0 && !broken) {
      put(kSlotBytes - 8, bytes - 8, 8, ginSignalInc{0});
    } else {
      put(kSlotBytes - 8, bytes - 8, 8, ginNoRemoteAction{});
    }
  }

  Observation observe() const {
    Observation seen;
    seen.signal = ctx.readSignal(0);
    for (std::uint64_t s = 0; s < kSlots; ++s) {
      const char* slot = w.memory + (kSlots + s) * kSlotBytes;
      seen.first.push_back(load(slot));
      seen.last.push_back(load(slot + kSlotBytes - 8));
    }
    return seen;
  }
};

// Every rank sends to the next and watches the one before.
void run_stream(Rank& rank, std::uint64_t messages, bool broken, std::uint64_t seconds = 100) {
  ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  need.signals = kAck + 1;
  World w = make_world(rank, 2 * kSlots * kSlotBytes, &need);
  const int n = rank.nranks();
  Stream s{
      w,     ginContext{w.dev, 0}, rank.rank(), (rank.rank() + 1) % n, (rank.rank() + n - 1) % n,
      broken};
  HistoryChecker checker(kSlots, kEvery);
  std::uint64_t acked = 0;
  std::uint64_t posted = 0;
  const std::uint64_t increments = messages / kEvery;
  const std::uint64_t give_up = gin::queues::now_ns() + seconds * 1'000'000'000;
  std::string violation;
  while ((posted < messages || acked < increments) && violation.empty()) {
    expect(gin::queues::now_ns() < give_up, "the stream to end in time");
    const bool may_post =
        posted < messages &&
        (posted + 1 <= kSlots / 2 || s.ctx.readSignal(kAck) >= (posted + 1 - kSlots / 2) / kEvery);
    if (may_post) s.post(++posted);
    const Observation seen = s.observe();
    // The source posts at most so far ahead of what it was told we have seen.
    violation = checker.check(seen, (acked + 1) * kEvery + kSlots);
    if (seen.signal > acked) {
      check(s.ctx.signal(ginTeamWorld(w.dev), s.from, ginSignalAdd{kAck, seen.signal - acked},
                         ginCoopThread{}, s.wait),
            "ack");
      acked = seen.signal;
    }
  }
  expect(violation.empty(), violation + " to be kept in order");
  check(s.ctx.waitSignal(ginCoopThread{}, kAck, increments, 64, s.wait), "last ack");
  const std::string end = checker.check_end(s.ctx.readSignal(0), messages);
  expect(end.empty(), end);
  check(s.ctx.flush(ginCoopThread{}, s.wait), "flush");
  std::printf("rank %d: %llu messages, %llu observations checked\n", rank.rank(),
              static_cast<unsigned long long>(messages),
              static_cast<unsigned long long>(checker.observations()));
  std::fflush(stdout);
  rank.barrier();
  end_world(w);
}

class Order : public testing::TestWithParam<Case> {};

TEST_P(Order, StrongSignalsNeverOvertakeTheirData) {
  const Case& c = GetParam();
  Cluster cluster({.nodes = static_cast<int>(c.ranks.size()),
                   .provider = c.provider,
                   .namespaces = false,
                   .set = c.set});
  const std::string failures = run_ranks(
      cluster.place(c.ranks), [&](Rank& r) { run_stream(r, c.messages, false); }, 170);
  EXPECT_EQ(failures, "") << cluster.logs();
}

const char* const kSequence = "transport.signal_mode=sequence";
std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Everywhere, Order,
    testing::Values(
        Case{"Tcp", "tcp;ofi_rxm", {1, 1}, {}},
        Case{"TcpSequence", "tcp;ofi_rxm", {1, 1}, {kSequence}},
        Case{"TcpSequenceFromTheEdge",
             "tcp;ofi_rxm",
             {1, 1},
             {kSequence, "debug.sequence_start=65000"}},
        Case{"TcpSmallPieces", "tcp;ofi_rxm", {1, 1}, {kSequence, "proxy.piece_bytes=4KiB"}},
        Case{"SocketsAtomic", "sockets", {1, 1}, {"transport.signal_mode=atomic"}, 2000},
        Case{"Shm", "shm", {1, 1}, {}}, Case{"Loopback", "loopback", {2}, {}},
        Case{"Mixed", "tcp;ofi_rxm", {2, 1}, {}}),
    case_name);

// The same traffic with the signal posted before its data: the checker must see it.
TEST(OrderBrokenOnPurpose, IsSeenByTheChecker) {
  Cluster cluster({.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = {}});
  const std::string failures = run_ranks(
      cluster.place({1, 1}), [](Rank& r) { run_stream(r, 30000, true, 20); }, 60);
  EXPECT_NE(failures.find("vouches for message"), std::string::npos) << failures;
}

}  // namespace
}  // namespace gind::test
