// SPDX-License-Identifier: Apache-2.0
// Rules 1 to 9 of the device API under a seeded adversary, in every signal mode.  $SIMULATION_SEED
// runs one seed only; $SIMULATION_OPERATIONS changes how many operations each stream has.
#include "run.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace gind::sim {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

struct Case {
  const char* name;
  SignalMode mode;
  std::vector<int> ranks;
  std::uint64_t ring_start = 0;
  std::uint64_t sequence_start = 0;
  bool adverse_loopback = false;
};

class Simulation : public testing::TestWithParam<Case> {};

RunOptions options_of(const Case& c, std::uint64_t seed) {
  RunOptions options;
  options.seed = seed;
  options.operations = from_environment("SIMULATION_OPERATIONS", 2000);
  options.world.ranks = c.ranks;
  options.world.ring_start = c.ring_start;
  options.world.sequence_start = c.sequence_start;
  options.world.adverse_loopback = c.adverse_loopback;
  options.world.adversary.mode = c.mode;
  options.world.adversary.seed = seed;
  return options;
}

TEST_P(Simulation, KeepsAllRules) {
  const std::uint64_t one = from_environment("SIMULATION_SEED", 0);
  std::uint64_t operations = 0;
  std::uint64_t observations = 0;
  for (std::uint64_t seed = one != 0 ? one : 1; seed <= (one != 0 ? one : 6); ++seed) {
    const RunResult result = run(options_of(GetParam(), seed));
    operations += result.operations;
    observations += result.observations;
    ASSERT_TRUE(result.good()) << "SIMULATION_SEED=" << seed << ": " << result.text();
  }
  std::printf("%llu operations, %llu observations checked\n",
              static_cast<unsigned long long>(operations),
              static_cast<unsigned long long>(observations));
}

INSTANTIATE_TEST_SUITE_P(
    Modes, Simulation,
    testing::Values(
        Case{"Record", SignalMode::kRecord, {1, 1}},
        Case{"Sequence", SignalMode::kSequence, {1, 1}},
        Case{"Atomic", SignalMode::kAtomic, {1, 1}},
        Case{"SequenceThreeNodes", SignalMode::kSequence, {1, 2, 1}},
        Case{"RecordAdverseLoopback", SignalMode::kRecord, {2, 1}, 0, 0, true},
        Case{"RingPositionsPass32Bits",
             SignalMode::kRecord,
             {1, 1},
             (std::uint64_t{1} << 32) - 8192},
        Case{"SequenceNumbersWrap", SignalMode::kSequence, {1, 1}, 0, ~std::uint64_t{0} - 700}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(SimulationItself, IsRepeatedByItsSeedAndByNoOther) {
  const Case c{"", SignalMode::kSequence, {1, 1}};
  const RunResult first = run(options_of(c, 3));
  const RunResult again = run(options_of(c, 3));
  const RunResult other = run(options_of(c, 4));
  ASSERT_TRUE(first.good()) << first.text();
  EXPECT_EQ(first.fingerprint, again.fingerprint);
  EXPECT_EQ(first.steps, again.steps);
  EXPECT_NE(first.fingerprint, other.fingerprint);
}

}  // namespace
}  // namespace gind::sim
