// SPDX-License-Identifier: Apache-2.0
// Signal mode "sequence" against a fabric that reorders: a seeded adversary delivers in any order.
#include "daemon/proxy/sequence_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace gind {
namespace {

struct Arrival {
  bool is_record = false;
  std::uint64_t sequence = 0;
  WireMessage record;
};

WireMessage record_at(std::uint64_t sequence, std::uint16_t pieces) {
  WireMessage m;
  m.record.sequence = sequence;
  m.record.pieces = pieces;
  return m;
}

// `puts` puts of 1 to 5 pieces, each with a weak or a strong signal behind it, from `start` on.
std::vector<Arrival> traffic(std::uint64_t start, int puts, std::mt19937& random) {
  std::vector<Arrival> all;
  std::uint64_t next = start;
  for (int i = 0; i < puts; ++i) {
    const auto pieces = static_cast<std::uint16_t>(1 + random() % 5);
    for (int p = 0; p < pieces; ++p) all.push_back({false, next++, {}});
    const bool weak = random() % 2 == 0;
    all.push_back({true, next, record_at(next, weak ? pieces : 0)});
    ++next;
  }
  return all;
}

class Reordered : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Reordered, EachSignalIsAppliedOnceAndNotBeforeWhatItVouchesFor) {
  const std::uint64_t start = GetParam();
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<Arrival> all = traffic(start, 60, random);
    const std::uint64_t end = start + all.size();
    std::shuffle(all.begin(), all.end(), random);
    FlowReceiver flow(start);
    std::map<std::uint64_t, bool> arrived;  // by distance from the start
    std::map<std::uint64_t, int> applied;
    for (const Arrival& a : all) {
      arrived[a.sequence - start] = true;
      const auto act = [&](const WireMessage& m) {
        const WireRecord& r = m.record;
        ++applied[r.sequence - start];
        const std::uint64_t at = r.sequence - start;
        for (std::uint64_t s = r.pieces != 0 ? at - r.pieces : 0; s < at; ++s) {
          EXPECT_TRUE(arrived[s]) << "record " << at << " before " << s;
          // A strong one also follows every earlier signal.
          if (r.pieces == 0 && std::any_of(all.begin(), all.end(), [&](const Arrival& b) {
                return b.is_record && b.sequence - start == s;
              })) {
            EXPECT_EQ(applied[s], 1) << "record " << at << " before signal " << s;
          }
        }
      };
      EXPECT_TRUE(a.is_record ? flow.arrived(a.record, act)
                              : flow.arrived(static_cast<std::uint16_t>(a.sequence), act));
    }
    EXPECT_EQ(flow.below(), end);
    for (const Arrival& a : all) {
      EXPECT_EQ(applied[a.sequence - start], a.is_record ? 1 : 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Starts, Reordered,
                         testing::Values(0u, 65500u, 4294967200u, ~std::uint64_t{0} - 50));

TEST(FlowReceiver, RefusesWhatItHasSeenAndWhatIsOutsideTheWindow) {
  FlowReceiver flow(10);
  const auto act = [](const WireMessage&) {};
  EXPECT_TRUE(flow.arrived(std::uint16_t{11}, act));
  EXPECT_FALSE(flow.arrived(std::uint16_t{11}, act)) << "twice";
  EXPECT_TRUE(flow.arrived(std::uint16_t{10}, act));
  EXPECT_FALSE(flow.arrived(std::uint16_t{10}, act)) << "below the window";
  EXPECT_FALSE(flow.arrived(record_at(12 + kSequenceWindow, 0), act)) << "above the window";
  EXPECT_TRUE(flow.arrived(record_at(12 + kSequenceWindow - 1, 0), act));
  EXPECT_EQ(flow.below(), 12u);
}

TEST(FlowReceiver, AWeakSignalWithoutDataWaitsForNothing) {
  FlowReceiver flow(0);
  int applied = 0;
  const auto act = [&](const WireMessage&) { ++applied; };
  EXPECT_TRUE(flow.arrived(record_at(5, kNothing), act));
  EXPECT_EQ(applied, 1);
  EXPECT_TRUE(flow.arrived(record_at(6, 0), act));
  EXPECT_EQ(applied, 1) << "a strong one does";
  for (std::uint16_t i = 0; i < 5; ++i) flow.arrived(i, act);
  EXPECT_EQ(applied, 2);
}

TEST(FlowReceiver, AsksForAnAcknowledgementEveryQuarterOfTheWindow) {
  FlowReceiver flow(0);
  const auto act = [](const WireMessage&) {};
  for (std::uint16_t i = 0; i < kSequenceWindow / 4 - 1; ++i) flow.arrived(i, act);
  EXPECT_FALSE(flow.ack_due());
  flow.arrived(std::uint16_t{kSequenceWindow / 4 - 1}, act);
  EXPECT_TRUE(flow.ack_due());
  flow.acked();
  EXPECT_FALSE(flow.ack_due());
}

TEST(FlowSender, StopsAtTheWindowAndGoesOnWithAnAcknowledgement) {
  FlowSender flow{100, 100};
  flow.next += kSequenceWindow - 1;
  EXPECT_TRUE(flow.has_room(1));
  EXPECT_FALSE(flow.has_room(2));
  EXPECT_FALSE(flow.acknowledge(flow.next + 1)) << "of what was never sent";
  EXPECT_FALSE(flow.acknowledge(99)) << "of the past";
  EXPECT_TRUE(flow.acknowledge(200));
  EXPECT_TRUE(flow.has_room(101));
  EXPECT_FALSE(flow.has_room(102));
}

}  // namespace
}  // namespace gind
