// SPDX-License-Identifier: Apache-2.0
// What the signal modes stand on.
#include "fabrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

namespace gind::test {
namespace {

class OrderContract : public FabricTest {
 protected:
  static constexpr std::uint32_t kRounds = 4000;
  static constexpr std::uint32_t kSlots = 16;
  static constexpr std::size_t kSlotBytes = 48 * 1024;

  // Round `i` fills the first size(i) bytes of its slot with mark(i).
  static std::size_t size(std::uint32_t i) {
    std::minstd_rand random(i + 1);
    random();
    return i % 4 == 0 ? 1 + random() % kSlotBytes : 1 + random() % 256;
  }
  static std::uint8_t mark(std::uint32_t i) {
    return static_cast<std::uint8_t>(1 + i / kSlots % 255);
  }
  static std::size_t offset(std::uint32_t i) { return i % kSlots * kSlotBytes; }

  static std::vector<std::uint8_t>::iterator slot(Buffer& buffer, std::uint32_t i) {
    return buffer.bytes.begin() + static_cast<std::ptrdiff_t>(offset(i));
  }

  // Node a posts requests_of(i) for each round, never more than kSlots rounds ahead of what node b
  // has seen, in a thread of its own, so that b looks at any moment.  look() is called after each
  // poll of b and returns how many rounds have arrived without a gap.
  void run(std::uint32_t rounds,
           const std::function<std::vector<WorkRequest>(std::uint32_t)>& requests_of,
           const std::function<std::uint32_t()>& look) {
    std::atomic<std::uint32_t> arrived{0};
    std::atomic<bool> stop{false}, through{false};
    std::size_t posted = 0;
    std::thread sender([&] {
      for (std::uint32_t i = 0; i < rounds; ++i) {
        while (i >= arrived.load() + kSlots && !stop.load()) a.poll();
        std::vector<WorkRequest> requests = requests_of(i);
        for (WorkRequest& r : requests) r.peer = a.peer;
        for (std::size_t at = 0; at < requests.size() && !stop.load(); a.poll())
          at += a.endpoint->post(std::span(requests).subspan(at));
        posted += requests.size();
      }
      while ((arrived.load() < rounds || a.finished() < posted) && !stop.load()) a.poll();
      through = true;
    });
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    // The sender's last completions may need b's progress, too.
    while (!through.load() && !stop.load()) {
      b.poll();
      arrived = look();
      stop = HasFatalFailure() || std::chrono::steady_clock::now() > deadline;
    }
    sender.join();
    EXPECT_EQ(arrived.load(), rounds);
    EXPECT_EQ(a.count(CompletionKind::kFailed), 0U);
  }

  void expect_landed(const Buffer& to, std::uint32_t i) {
    const auto begin = to.bytes.begin() + static_cast<std::ptrdiff_t>(offset(i));
    const auto end = begin + static_cast<std::ptrdiff_t>(size(i));
    const auto missing = std::find_if(begin, end, [&](std::uint8_t v) { return v != mark(i); });
    ASSERT_EQ(missing, end) << "round " << i << ": byte " << missing - begin << " of " << size(i)
                            << " was not there yet";
  }
};
INSTANTIATE_TEST_SUITE_P(Fabrics, OrderContract, ::testing::ValuesIn(fabrics()), fabric_name);

TEST_P(OrderContract, ASendIsNeverDeliveredBeforeAnEarlierWrite) {
  if (!a.transport->caps().ordered_sends) GTEST_SKIP() << "does not claim ordered sends";
  Buffer from(*a.transport, kSlots * kSlotBytes);
  Buffer to(*b.transport, kSlots * kSlotBytes);
  std::uint32_t received = 0;
  std::size_t looked_at = 0;
  const auto look_at = [&](const Event& e) {
    if (e.kind != CompletionKind::kReceived) return;
    std::uint32_t round = 0;
    ASSERT_EQ(e.data.size(), sizeof round);
    std::memcpy(&round, e.data.data(), sizeof round);
    ASSERT_EQ(round, received);
    expect_landed(to, round);
    ++received;
  };
  std::array<std::uint32_t, kRounds> numbers{};
  run(
      kRounds,
      [&](std::uint32_t i) {
        std::fill_n(slot(from, i), size(i), mark(i));
        numbers[i] = i;
        return std::vector{write_request(from, offset(i), to, offset(i), size(i), i),
                           send_request(&numbers[i], sizeof i, i)};
      },
      [&] {
        while (looked_at < b.events.size() && !HasFatalFailure()) look_at(b.events[looked_at++]);
        return received;
      });
}

TEST_P(OrderContract, AnImmediateIsDeliveredAfterItsData) {
  Buffer from(*a.transport, kSlots * kSlotBytes);
  Buffer to(*b.transport, kSlots * kSlotBytes);
  std::vector<bool> seen(kRounds);
  std::uint32_t below = 0;  // every round < below has arrived
  std::size_t looked_at = 0;
  const auto look_at = [&](const Event& e) {
    if (e.kind != CompletionKind::kImmediate) return;
    ASSERT_LT(e.immediate, kRounds);
    ASSERT_FALSE(seen[e.immediate]) << "round " << e.immediate << " came twice";
    seen[e.immediate] = true;
    expect_landed(to, e.immediate);
  };
  run(
      kRounds,
      [&](std::uint32_t i) {
        std::fill_n(slot(from, i), size(i), mark(i));
        WorkRequest r = write_request(from, offset(i), to, offset(i), size(i), i);
        r.op = WorkOp::kWriteImmediate;
        r.immediate = i;
        return std::vector{r};
      },
      [&] {
        while (looked_at < b.events.size() && !HasFatalFailure()) look_at(b.events[looked_at++]);
        while (below < kRounds && seen[below]) ++below;
        return below;
      });
}

// The word that a fetch-add behind the write changes is looked at by the target's CPU.
TEST_P(OrderContract, AFetchAddIsNeverAppliedBeforeAnEarlierWrite) {
  if (!a.transport->caps().ordered_atomics) GTEST_SKIP() << "does not claim ordered atomics";
  Buffer from(*a.transport, kSlots * kSlotBytes);
  Buffer to(*b.transport, kSlots * kSlotBytes);
  std::uint64_t word = 0;
  auto region = b.transport->register_memory(&word, sizeof word, kAccessRemoteAtomic);
  ASSERT_TRUE(region.ok()) << region.error().message;
  std::uint32_t applied = 0;
  run(
      kRounds,
      [&](std::uint32_t i) {
        std::fill_n(slot(from, i), size(i), mark(i));
        WorkRequest add;
        add.op = WorkOp::kFetchAdd;
        add.bytes = sizeof word;
        add.remote_address = region.value()->remote_address();
        add.remote_key = region.value()->remote_key();
        add.operand = 1;
        return std::vector{write_request(from, offset(i), to, offset(i), size(i), i), add};
      },
      [&] {
        const auto now = std::atomic_ref(word).load(std::memory_order_acquire);
        EXPECT_LE(now, kRounds);
        for (; applied < now && !HasFatalFailure(); ++applied) expect_landed(to, applied);
        return applied;
      });
}

}  // namespace
}  // namespace gind::test
