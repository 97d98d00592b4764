// SPDX-License-Identifier: Apache-2.0
// Data arrives bit-exact, at the right place and nowhere else, on every fabric and layout of ranks.
#include "cluster.h"
#include "ranks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gind::test {
namespace {

constexpr unsigned char kGuard = 0xa5;

// A byte that depends on who sends, which message, and where in it.
unsigned char pattern(int source, std::uint64_t message, std::uint64_t at) {
  std::uint64_t x = (static_cast<std::uint64_t>(source) << 48) ^ (message << 32) ^ at;
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  return static_cast<unsigned char>(x >> 56);
}

struct Layout {
  const char* name;
  std::string provider;
  std::vector<int> ranks;  // on each node
  bool namespaces = false;
  std::vector<std::string> set;
};

// In each round every rank puts one message into every rank's window (its own included), into the
// slot that belongs to the sender, and waits for the messages of all.
void exchange(Rank& rank, const std::vector<std::uint64_t>& sizes, std::uint64_t slot_bytes) {
  const int n = rank.nranks();
  const auto slots = static_cast<std::uint64_t>(n);
  // sources: one slot a destination; then where the messages of each source land
  World w = make_world(rank, 2 * slots * slot_bytes);
  const ginContext ctx{w.dev, 1};
  const ginTeam_t world = ginTeamWorld(w.dev);
  const ginWaitOptions wait{kWaitNs, nullptr};
  std::uint64_t round = 0;
  for (const std::uint64_t bytes : sizes) {
    const std::uint64_t from_at = round % 8;           // unaligned on both sides,
    const std::uint64_t to_at = 16 + (round * 3) % 8;  // differently
    std::memset(w.memory, kGuard, 2 * slots * slot_bytes);
    rank.barrier();  // nobody writes into a slot that is being cleared
    for (int to = 0; to < n; ++to) {
      const std::uint64_t from = static_cast<std::uint64_t>(to) * slot_bytes + from_at;
      for (std::uint64_t i = 0; i < bytes; ++i) {
        w.memory[from + i] = static_cast<char>(pattern(rank.rank(), round * 64 + to, i));
      }
      const std::uint64_t at =
          (slots + static_cast<std::uint64_t>(rank.rank())) * slot_bytes + to_at;
      check(ctx.put(world, to, w.window, at, w.window, from, bytes, ginSignalInc{5},
                    ginCounterInc{3}, ginCoopThread{}, ginFenceDefault, wait),
            "put");
    }
    ++round;
    check(ctx.waitSignal(ginCoopThread{}, 5, round * slots, 64, wait), "waitSignal");
    for (int source = 0; source < n; ++source) {
      const char* slot = w.memory + (slots + static_cast<std::uint64_t>(source)) * slot_bytes;
      for (std::uint64_t i = 0; i < slot_bytes; ++i) {
        const bool inside = i >= to_at && i < to_at + bytes;
        const unsigned char want =
            inside ? pattern(source, (round - 1) * 64 + rank.rank(), i - to_at) : kGuard;
        const auto got = static_cast<unsigned char>(slot[i]);
        if (got == want) continue;
        throw RankFailure("byte " + std::to_string(i) + " of " + std::to_string(bytes) +
                          " from rank " + std::to_string(source) + " is " + std::to_string(got) +
                          ", expected " + std::to_string(want));
      }
    }
    check(ctx.flush(ginCoopThread{}, wait), "flush");
    check(ctx.waitCounter(ginCoopThread{}, 3, round * slots, 56, wait), "waitCounter");
    rank.barrier();
  }
  expect(ctx.readSignal(5) == round * slots, "every increment exactly once");
  end_world(w);
}

class Data : public testing::TestWithParam<Layout> {};

TEST_P(Data, ArrivesBitExactInEveryRank) {
  const Layout& layout = GetParam();
  std::string reason;
  if (layout.namespaces && !namespaces_allowed(&reason)) GTEST_SKIP() << reason;
  Cluster cluster({.nodes = static_cast<int>(layout.ranks.size()),
                   .provider = layout.provider,
                   .namespaces = layout.namespaces,
                   .set = layout.set});
  const std::vector<std::uint64_t> sizes = {1,  0,    2,    7,    8,     9,     63,    64,
                                            65, 4095, 4096, 4097, 65535, 65536, 65537, 200001};
  const std::string failures = run_ranks(
      cluster.place(layout.ranks), [&](Rank& r) { exchange(r, sizes, 256 << 10); }, 150);
  EXPECT_EQ(failures, "") << cluster.logs();
}

std::string case_name(const testing::TestParamInfo<Layout>& info) { return info.param.name; }

const char* const kSequence = "transport.signal_mode=sequence";
INSTANTIATE_TEST_SUITE_P(
    Everywhere, Data,
    testing::Values(
        Layout{"Tcp1and1", "tcp;ofi_rxm", {1, 1}}, Layout{"Tcp3and1", "tcp;ofi_rxm", {3, 1}},
        Layout{"Tcp5and3", "tcp;ofi_rxm", {5, 3}}, Layout{"Tcp4Nodes", "tcp;ofi_rxm", {1, 2, 1, 1}},
        Layout{"TcpSequence", "tcp;ofi_rxm", {2, 1}, false, {kSequence}},
        Layout{
            "TcpLocalRanksOverTheFabric", "tcp;ofi_rxm", {2, 1}, false, {"transport.local=fabric"}},
        Layout{"Shm1and1", "shm", {1, 1}}, Layout{"Shm3and1", "shm", {3, 1}},
        Layout{"LoopbackAlone", "loopback", {1}}, Layout{"Loopback4", "loopback", {4}},
        Layout{"LoopbackTwoProxies", "loopback", {3}, false, {"proxy.threads=2"}},
        Layout{"TcpTwoProxies", "tcp;ofi_rxm", {2, 2}, false, {"proxy.threads=2"}},
        Layout{"Namespaces2", "tcp;ofi_rxm", {1, 1}, true},
        Layout{"Namespaces4", "tcp;ofi_rxm", {2, 1, 1, 1}, true}),
    case_name);

// Ring positions and sequence numbers that wrap their fields on the way.
INSTANTIATE_TEST_SUITE_P(
    NearTheEdge, Data,
    testing::Values(
        Layout{"RingAt2To32", "tcp;ofi_rxm", {1, 1}, false, {"debug.ring_start=4294959104"}},
        Layout{"RingAt2To47", "loopback", {2}, false, {"debug.ring_start=140737488347136"}},
        Layout{"SequenceAt2To16",
               "tcp;ofi_rxm",
               {1, 1},
               false,
               {kSequence, "debug.sequence_start=65530"}},
        Layout{"SequenceAt2To32",
               "tcp;ofi_rxm",
               {2, 1},
               false,
               {kSequence, "debug.sequence_start=4294967290"}},
        Layout{"SequenceAt2To64",
               "tcp;ofi_rxm",
               {1, 1},
               false,
               {kSequence, "debug.sequence_start=18446744073709551610"}}),
    case_name);

TEST(LargeData, From1To64MiB) {
  for (const char* provider : {"tcp;ofi_rxm", "shm", "loopback"}) {
    SCOPED_TRACE(provider);
    const bool one = std::string(provider) == "loopback";
    Cluster cluster({.nodes = one ? 1 : 2, .provider = provider, .namespaces = false, .set = {}});
    const std::vector<std::uint64_t> sizes = {1 << 20, (1 << 20) + 1, 64 << 20};
    const std::string failures = run_ranks(
        cluster.place(one ? std::vector<int>{2} : std::vector<int>{1, 1}),
        [&](Rank& r) { exchange(r, sizes, (64 << 20) + 4096); }, 150);
    EXPECT_EQ(failures, "") << cluster.logs();
  }
}

TEST(Values, OfEverySizeArriveWithTheirSignal) {
  Cluster cluster({.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = {}});
  const std::string failures = run_ranks(cluster.place({1, 1}), [](Rank& rank) {
    World w = make_world(rank, 4096);
    const ginContext ctx{w.dev, 0};
    const int peer = 1 - rank.rank();
    const ginWaitOptions wait{kWaitNs, nullptr};
    std::uint64_t sum = 0;
    for (int bytes = 1; bytes <= 8; ++bytes) {
      const std::uint64_t value = 0x1122334455667788ULL;
      const std::uint64_t addend = bytes == 8 ? std::uint64_t{1} << 40 : 3;  // the wide form, too
      check(ginPutValue(&w.dev, 0, peer, w.window, static_cast<std::uint64_t>(bytes * 16 + bytes),
                        value, bytes, ginSignalStrongAdd, 0, addend),
            "ginPutValue");
      sum += addend;
      check(ctx.waitSignal(ginCoopThread{}, 0, sum, 64, wait), "waitSignal");
      expect(std::memcmp(w.memory + bytes * 17, &value, static_cast<std::size_t>(bytes)) == 0,
             "the value's low " + std::to_string(bytes) + " bytes");
      expect(w.memory[bytes * 17 + bytes] == 0, "nothing behind them");
    }
    rank.barrier();
    ctx.resetSignal(0);
    expect(ctx.readSignal(0) == 0, "a signal of 0 after its reset");
    rank.barrier();
    check(ginSignal(&w.dev, 0, peer, ginSignalWeakAdd, 0, 7), "ginSignal");
    check(ctx.waitSignal(ginCoopThread{}, 0, 7, 64, wait), "waitSignal after reset");
    end_world(w);
  });
  EXPECT_EQ(failures, "") << cluster.logs();
}

}  // namespace
}  // namespace gind::test
