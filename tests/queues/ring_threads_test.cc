// SPDX-License-Identifier: Apache-2.0
// Many posters, many laps: every record arrives once, whole, and in its poster's order.
#include "test_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace gin::queues::testing {
namespace {

struct Plan {
  std::uint32_t log2_depth;
  std::uint32_t posters;
  std::uint64_t records;     // of each poster
  std::uint64_t start_laps;  // start = start_laps * 2 * depth
  std::uint32_t credit_batch;
  Sharing sharing;
};

std::string name_of(const ::testing::TestParamInfo<Plan>& info) {
  const Plan& r = info.param;
  const char* sharing[] = {"Shared", "Block", "Exclusive"};
  return std::string(sharing[int(r.sharing)]) + "Depth" + std::to_string(1u << r.log2_depth) +
         "Posters" + std::to_string(r.posters) + "Batch" + std::to_string(r.credit_batch) + "Run" +
         std::to_string(info.index);
}

#if defined(GIN_TSAN)
constexpr std::uint64_t kScale = 1;
#else
constexpr std::uint64_t kScale = 2;
#endif
const WaitLimits kBound{100'000'000'000, nullptr, nullptr, nullptr};  // only a broken ring meets it

// Laps that put an edge of the position's bits into the run's middle.
std::uint64_t near(unsigned bit, std::uint32_t log2_depth, std::uint64_t laps_before) {
  return ((1ull << bit) >> (log2_depth + 1)) - laps_before;
}

class ManyPosters : public ::testing::TestWithParam<Plan> {};

TEST_P(ManyPosters, EveryRecordArrivesOnceWholeAndInItsPostersOrder) {
  const Plan& run = GetParam();
  const std::uint64_t start = run.start_laps << (run.log2_depth + 1);
  TestRing ring(run.log2_depth, start, run.sharing, run.posters);
  const std::uint64_t each = run.records * kScale;
  std::atomic<std::uint32_t> failed{0};
  std::uint32_t stop = 0;  // ends the posters' waits once something went wrong
  const WaitLimits limits{kBound.timeout_ns, &stop, nullptr, nullptr};
  std::mutex block;  // one-producer rings: posters take turns, as the threads of a block do

  std::vector<std::thread> threads;
  for (std::uint32_t who = 0; who < run.posters; ++who) {
    threads.emplace_back([&, who] {
      for (std::uint64_t s = 0; s < each; ++s) {
        const Record r = encode(numbered_descriptor(who, s));
        std::uint64_t end = 0;
        ginResult_t result = ginSuccess;
        if (run.sharing == Sharing::kShared) {
          result = post(ring.producer(), who, r, limits, &end);
        } else {
          const std::lock_guard<std::mutex> turn(block);
          result = post(ring.producer(), who, r, limits, &end);
        }
        if (result != ginSuccess) {
          failed.fetch_add(1);
          return;
        }
      }
    });
  }

  std::vector<std::uint64_t> next(run.posters);
  std::uint64_t left = each * run.posters;
  std::uint64_t since_credit = 0;
  std::uint64_t faults = 0;
  std::optional<Waiter> idle(std::in_place, kBound);
  while (left != 0 && failed.load() == 0 && faults == 0) {
    Unit copy[kMaxUnits];
    const std::uint32_t n = ring.consumer().copy_out(copy);
    if (n == 0) {
      ring.return_credit();
      since_credit = 0;
      if (idle->step() != ginSuccess) break;
      continue;
    }
    idle.emplace(kBound);
    since_credit += n;
    if (since_credit >= run.credit_batch) {
      ring.return_credit();
      since_credit = 0;
    }
    Descriptor d{};
    const Field fault = decode(copy, n, &d);
    if (fault != Field::kNone || d.peer >= run.posters ||
        !equal(d, numbered_descriptor(d.peer, next[d.peer]))) {
      ++faults;
      ADD_FAILURE() << "record before position " << ring.consumer().position() << ": field "
                    << int(fault) << ", poster " << d.peer << ", sequence " << d.dst_offset;
      break;
    }
    ++next[d.peer];
    --left;
  }
  store_relaxed_sys(&stop, std::uint32_t{left != 0});
  for (std::thread& t : threads) t.join();

  ASSERT_EQ(failed.load(), 0u);
  ASSERT_EQ(faults, 0u);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(ring.consumer().position(), ring.state().head);
  EXPECT_FALSE(ring.consumer().pending());
  EXPECT_FALSE(ring.consumer().has_hole());
  std::uint64_t last = 0;
  for (std::uint64_t p : ring.last_posted()) last = std::max(last, p);
  EXPECT_EQ(last, ring.state().head);  // flush waits for the very last record
}

INSTANTIATE_TEST_SUITE_P(Shared, ManyPosters,
                         ::testing::Values(Plan{2, 4, 1000, 0, 1, Sharing::kShared},
                                           Plan{3, 4, 2000, 0, 1, Sharing::kShared},
                                           Plan{3, 8, 1000, near(32, 3, 100), 3, Sharing::kShared},
                                           Plan{4, 2, 8000, near(31, 4, 100), 4, Sharing::kShared},
                                           Plan{6, 8, 4000, near(32, 6, 20), 16, Sharing::kShared},
                                           Plan{6, 3, 8000, near(62, 6, 20), 48, Sharing::kShared},
                                           Plan{8, 16, 2000, near(40, 8, 5), 32, Sharing::kShared}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(
    OneProducer, ManyPosters,
    ::testing::Values(Plan{2, 1, 8000, 0, 1, Sharing::kExclusive},
                      Plan{3, 1, 16000, near(32, 3, 100), 2, Sharing::kExclusive},
                      Plan{6, 1, 16000, near(62, 6, 20), 32, Sharing::kExclusive},
                      Plan{3, 4, 4000, near(32, 3, 100), 1, Sharing::kBlock},
                      Plan{6, 8, 2000, 0, 16, Sharing::kBlock}),
    name_of);

}  // namespace
}  // namespace gin::queues::testing
