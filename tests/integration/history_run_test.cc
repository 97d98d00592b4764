// SPDX-License-Identifier: Apache-2.0
// Rules 1 to 9 of the device API between real ginds, on every fabric, with and without an
// adversary.  $HISTORY_OPERATIONS: operations of each stream; $HISTORY_SEED.
#include "history_run.h"

#include "fabric_cases.h"

#include <gtest/gtest.h>

namespace gind::test {
namespace {

struct Case {
  FabricCase fabric;
  bool threads = false;
  int ring_units = 0;
};

class History : public testing::TestWithParam<Case> {};

HistoryOptions options_of(const Case& c) {
  HistoryOptions options;
  options.operations = from_environment("HISTORY_OPERATIONS", 1500);
  options.seed = from_environment("HISTORY_SEED", 1);
  options.threads = c.threads;
  options.ring_units = c.ring_units;
  options.seconds = 60 + static_cast<int>(options.operations / 400);
  return options;
}

TEST_P(History, KeepsAllRules) {
  const HistoryOptions options = options_of(GetParam());
  const FabricCase& fabric = GetParam().fabric;
  Cluster cluster(cluster_of(fabric));
  const std::string failures = run_ranks(
      cluster.place(fabric.ranks), [&](Rank& rank) { run_history(rank, options); },
      options.seconds + 30);
  EXPECT_EQ(failures, "") << "HISTORY_SEED=" << options.seed << "\n" << cluster.logs();
}

const char* const kSequence = "transport.signal_mode=sequence";
const char* const kAtomic = "transport.signal_mode=atomic";
const char* const kAdversary = "debug.adversary_seed=11";
const char* const kSmall = "proxy.piece_bytes=4KiB";

INSTANTIATE_TEST_SUITE_P(
    Fabrics, History,
    testing::Values(
        Case{{"Tcp", "tcp;ofi_rxm", {1, 1}, {kSmall}}},
        Case{{"TcpSequence", "tcp;ofi_rxm", {1, 1}, {kSmall, kSequence}}},
        Case{{"TcpTwoProxies", "tcp;ofi_rxm", {2, 1}, {"proxy.threads=2"}}},
        Case{{"TcpThreadsSmallRing", "tcp;ofi_rxm", {1, 1}, {kSmall}}, true, 64},
        Case{{"SocketsAtomic", "sockets", {1, 1}, {kSmall, kAtomic}}},
        Case{{"Shm", "shm", {1, 1}, {kSmall}}}, Case{{"Loopback", "loopback", {2}, {kSmall}}},
        Case{{"Rxd", "udp;ofi_rxd", {1, 1}, {kSmall}}},
        Case{{"TcpAdversary", "tcp;ofi_rxm", {1, 1}, {kSmall, kAdversary}}},
        Case{{"TcpSequenceAdversary", "tcp;ofi_rxm", {1, 1}, {kSmall, kSequence, kAdversary}}},
        Case{{"ShmAdversary", "shm", {1, 1}, {kSmall, kAdversary}}},
        Case{{"LoopbackAdversary", "loopback", {2}, {kSmall, kAdversary}}},
        Case{{"SocketsAtomicAdversary", "sockets", {1, 1}, {kSmall, kAtomic, kAdversary}}}),
    [](const auto& one) { return std::string(one.param.fabric.name); });

// Over a network that delays, loses and reorders packets.
struct Network {
  const char* name;
  std::string provider;
  std::vector<std::string> set;
  std::string netem;
};
class HistoryNetem : public testing::TestWithParam<Network> {};

TEST_P(HistoryNetem, KeepsAllRules) {
  std::string reason;
  if (!netem_allowed(&reason)) GTEST_SKIP() << reason;
  const Network& network = GetParam();
  HistoryOptions options;
  options.operations = from_environment("HISTORY_OPERATIONS", 300);
  options.seconds = static_cast<int>(from_environment("HISTORY_SECONDS", 250));
  Cluster cluster({.nodes = 2,
                   .provider = network.provider,
                   .namespaces = true,
                   .set = network.set,
                   .netem = network.netem});
  const std::string failures = run_ranks(
      cluster.place({1, 1}), [&](Rank& rank) { run_history(rank, options); }, options.seconds + 30);
  EXPECT_EQ(failures, "") << cluster.logs();
}

INSTANTIATE_TEST_SUITE_P(
    Networks, HistoryNetem,
    testing::Values(
        Network{"Tcp", "tcp;ofi_rxm", {kSmall}, "delay 1ms 500us loss 0.2% reorder 10%"},
        Network{"TcpSequence",
                "tcp;ofi_rxm",
                {kSmall, kSequence},
                "delay 1ms 500us loss 0.2% reorder 10%"},
        Network{"Rxd", "udp;ofi_rxd", {kSmall}, "delay 1ms 500us reorder 20%"},
        Network{"RxdLoss", "udp;ofi_rxd", {kSmall}, "delay 1ms 500us loss 0.2% reorder 20%"}),
    [](const auto& one) { return std::string(one.param.name); });

// The same between senders that are wrong on purpose: it must not pass.
TEST(BrokenHistory, IsSeenBetweenRealGinds) {
  for (const order::Flaw flaw : {order::Flaw::kSignalFirst, order::Flaw::kEagerReuse}) {
    HistoryOptions options;
    options.operations = 20000;
    options.flaw = flaw;
    options.seconds = 60;
    Cluster cluster({.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = {}});
    const std::string failures = run_ranks(
        cluster.place({1, 1}), [&](Rank& rank) { run_history(rank, options); }, 90);
    const char* const says = flaw == order::Flaw::kSignalFirst ? "data" : "not free yet";
    EXPECT_NE(failures.find(says), std::string::npos) << failures;
  }
}

}  // namespace
}  // namespace gind::test
