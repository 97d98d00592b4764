// SPDX-License-Identifier: Apache-2.0
// The adversary does what its mode allows, by its seed, and its faults are real.
#include "gind/transports/adversary.h"

#include "gind/transports/loopback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

namespace gind {
namespace {

constexpr std::uint64_t kSends = 400;
constexpr std::uint64_t kSlot = 4096;

// One endpoint writes a slot and sends its number, again and again, to another one.
struct Seen {
  std::vector<std::uint64_t> order;  // of the sends, as they came
  std::set<std::uint64_t> before_their_data;
  std::map<std::uint64_t, int> completions;  // by id
  std::set<std::uint64_t> stale;             // writes whose source was changed after "done"
};

Seen play(const AdversaryOptions& options) {
  const auto inner = make_loopback_transport();
  const auto transport = make_adversary_transport(*inner, options);
  auto from = std::move(transport->open_endpoint()).value();
  auto to = std::move(transport->open_endpoint()).value();
  const PeerHandle peer = from->add_peer(to->address()).value();
  std::vector<std::uint64_t> source(kSends * kSlot / 8);
  std::vector<std::uint64_t> target(source.size());
  auto source_region =
      std::move(transport->register_memory(source.data(), kSends * kSlot, kAccessLocal)).value();
  auto target_region =
      std::move(transport->register_memory(target.data(), kSends * kSlot, kAccessRemoteWrite))
          .value();
  Seen seen;
  std::uint64_t next = 0;
  bool write_posted = false;
  for (int polls = 0; polls < 20'000; ++polls) {
    if (next < kSends) {
      WorkRequest r;
      r.peer = peer;
      if (!write_posted) {
        std::fill_n(&source[next * kSlot / 8], kSlot / 8, next + 1);
        r.op = WorkOp::kWrite;
        r.id = 2 * next;
        r.local = &source[next * kSlot / 8];
        r.local_region = source_region.get();
        r.bytes = kSlot;
        r.remote_address = target_region->remote_address() + next * kSlot;
        r.remote_key = target_region->remote_key();
        write_posted = from->post({&r, 1}) == 1;
      } else {
        r.op = WorkOp::kSend;
        r.id = 2 * next + 1;
        r.local = &next;
        r.bytes = sizeof next;
        r.inline_data = true;
        if (from->post({&r, 1}) == 1) write_posted = false, ++next;
      }
    }
    std::array<Completion, 16> c;
    for (std::size_t n = from->poll(c), i = 0; i < n; ++i) {
      EXPECT_EQ(c[i].kind, CompletionKind::kDone) << c[i].error;
      ++seen.completions[c[i].id];
      // A completed write's source is the caller's again.
      if (c[i].id % 2 == 0) source[c[i].id / 2 * kSlot / 8] = ~std::uint64_t{0};
    }
    for (std::size_t n = to->poll(c), i = 0; i < n; ++i) {
      std::uint64_t number = 0;
      std::memcpy(&number, c[i].data, sizeof number);
      seen.order.push_back(number);
      const auto* slot = &target[number * kSlot / 8];
      if (std::any_of(slot, slot + kSlot / 8, [](std::uint64_t w) { return w == 0; })) {
        seen.before_their_data.insert(number);
      }
    }
  }
  for (std::uint64_t i = 0; i < kSends; ++i) {
    if (target[i * kSlot / 8] == ~std::uint64_t{0}) seen.stale.insert(i);
  }
  return seen;
}

AdversaryOptions with(SignalMode mode, AdversaryFault fault = AdversaryFault::kNone) {
  AdversaryOptions options;
  options.mode = mode;
  options.fault = fault;
  options.fault_one_in = 10;
  return options;
}

void expect_each_completed_once(const Seen& seen) {
  EXPECT_EQ(seen.completions.size(), 2 * kSends);
  for (const auto& [id, times] : seen.completions) EXPECT_EQ(times, 1) << id;
}

TEST(Adversary, WithoutOrderSendsOvertakeEachOtherAndTheirDataAndNothingIsLost) {
  const Seen seen = play(with(SignalMode::kSequence));
  EXPECT_EQ(seen.order.size(), kSends);
  EXPECT_FALSE(std::is_sorted(seen.order.begin(), seen.order.end()));
  EXPECT_FALSE(seen.before_their_data.empty());
  EXPECT_TRUE(seen.stale.empty());
  expect_each_completed_once(seen);
}

TEST(Adversary, InModeRecordSendsKeepTheirPlaceBehindDataAndEachOther) {
  const Seen seen = play(with(SignalMode::kRecord));
  EXPECT_EQ(seen.order.size(), kSends);
  EXPECT_TRUE(std::is_sorted(seen.order.begin(), seen.order.end()));
  EXPECT_TRUE(seen.before_their_data.empty());
  EXPECT_TRUE(seen.stale.empty());
  expect_each_completed_once(seen);
}

TEST(Adversary, IsRepeatedByItsSeedAndByNoOther) {
  AdversaryOptions options = with(SignalMode::kSequence);
  const Seen first = play(options);
  EXPECT_EQ(first.order, play(options).order);
  options.seed = 2;
  EXPECT_NE(first.order, play(options).order);
}

TEST(Adversary, ItsFaultsHappen) {
  EXPECT_FALSE(
      play(with(SignalMode::kRecord, AdversaryFault::kSendBeforeWrites)).before_their_data.empty());
  const Seen lost = play(with(SignalMode::kRecord, AdversaryFault::kLoseSend));
  EXPECT_LT(lost.order.size(), kSends);
  expect_each_completed_once(lost);
  EXPECT_GT(play(with(SignalMode::kRecord, AdversaryFault::kDoubleSend)).order.size(), kSends);
  EXPECT_FALSE(play(with(SignalMode::kRecord, AdversaryFault::kDoneBeforeRead)).stale.empty());
  const Seen counted = play(with(SignalMode::kRecord, AdversaryFault::kDoneByCount));
  EXPECT_FALSE(counted.stale.empty());
  expect_each_completed_once(counted);
}

TEST(Adversary, ChangesPayloadsWhenAsked) {
  AdversaryOptions options = with(SignalMode::kRecord);
  options.tamper = [](std::span<std::byte> payload) {
    std::uint64_t number = 0;
    std::memcpy(&number, payload.data(), sizeof number);
    number = kSends - 1 - number;
    std::memcpy(payload.data(), &number, sizeof number);
  };
  const Seen seen = play(options);
  EXPECT_TRUE(std::is_sorted(seen.order.rbegin(), seen.order.rend()));
}

}  // namespace
}  // namespace gind
