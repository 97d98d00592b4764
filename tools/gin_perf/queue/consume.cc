// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/queue/consume.h"

#include "gin/queues/consumer.h"

#include <vector>

namespace gind::perf {
namespace {

namespace q = gin::queues;
namespace k = gin::kernels;

constexpr std::uint32_t kBatchUnits = 256;    // of one ring and turn; credit returns after it
constexpr std::uint32_t kTurnsPerLook = 256;  // between two looks at the clock

struct Drained {
  q::RingConsumer ring;
  q::ContextControl* control;
};

// What every thread posts next: the first half of its first unit, from which the rest follows.
// Little work, for it is done on the core whose speed is measured.
class Checker {
 public:
  explicit Checker(const QueueCase& what) : units_(what.units) {
    for (std::uint32_t t = 0; t < what.posters(); ++t) {
      next_.push_back(k::stream_unit(t, 0, units_, 0).lo);
    }
    const q::Unit zero = k::stream_unit(0, 0, 1, 0);
    for (std::uint32_t i = 0; i < units_; ++i) {
      const q::Unit u = k::stream_unit(0, 0, 1, i);
      differs_[i] = {u.lo ^ zero.lo, u.hi ^ zero.lo};
    }
  }

  bool right(const q::Unit* record, std::uint32_t n) {
    const std::uint32_t thread = k::stream_thread(record[0]);
    if (n != units_ || thread >= next_.size()) return false;
    const std::uint64_t expected = next_[thread];
    next_[thread] += kNextNumber;
    std::uint64_t wrong = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      wrong |= record[i].lo ^ expected ^ differs_[i].lo;
      wrong |= record[i].hi ^ expected ^ differs_[i].hi;
    }
    return (wrong & q::kPayloadMask) == 0;
  }
  Error fault(const q::Unit* record) const {
    const std::uint32_t thread = k::stream_thread(record[0]);
    const std::string expected =
        thread < next_.size() ? std::to_string(k::stream_number({next_[thread] - kNextNumber, 0}))
                              : "no such thread";
    return {ginInternalError, "wrong record: thread " + std::to_string(thread) + ", number " +
                                  std::to_string(k::stream_number(record[0])) + ", expected " +
                                  expected};
  }

 private:
  static constexpr std::uint64_t kNextNumber = std::uint64_t{1} << 26;
  std::uint32_t units_;
  q::Unit differs_[q::kMaxUnits];  // from the first half
  std::vector<std::uint64_t> next_;
};

}  // namespace

Result<Consumed> consume(const QueueDevice& device, const QueueCase& what, std::uint32_t log2_depth,
                         bool verify, std::uint64_t timeout_ns, std::uint64_t start) {
  std::vector<Drained> rings;
  for (std::uint32_t i = 0; i < what.rings(); ++i) {
    rings.push_back({q::RingConsumer(device.units(i), log2_depth, start), device.control(i)});
  }
  Checker checker(what);
  q::Unit copies[kBatchUnits];
  const std::uint64_t total = what.total();
  const std::uint64_t deadline = q::now_ns() + timeout_ns;
  std::uint64_t taken = 0, began = 0, turns = 0;
  const q::Unit* wrong = nullptr;
  while (taken < total && wrong == nullptr) {
    for (Drained& d : rings) {
      const std::uint32_t n =
          d.ring.drain(copies, kBatchUnits, kBatchUnits, [&](const q::Unit* r, std::uint32_t u) {
            if (verify && !checker.right(r, u)) wrong = r;
            return wrong == nullptr;
          });
      if (n == 0) continue;
      // Pairs with the posters' reads of the credit: what they overwrite has been copied.
      q::store_release_sys(&d.control->consumed, d.ring.position());
      if (taken == 0) began = q::now_ns();
      taken += n;
      if (wrong != nullptr) break;
    }
    if (++turns % kTurnsPerLook == 0 && q::now_ns() > deadline) break;
  }
  if (wrong != nullptr) return checker.fault(wrong);
  if (taken < total) {
    return Error{ginTimeout, std::to_string(total - taken) + " of " + std::to_string(total) +
                                 " records have not come"};
  }
  return Consumed{taken, q::now_ns() - began};
}

double drain_rate(const QueueDevice& device, std::uint32_t log2_depth, std::uint64_t records) {
  q::RingConsumer ring(device.units(0), log2_depth);
  q::Unit copies[kBatchUnits];
  std::uint64_t taken = 0, sum = 0;
  const std::uint64_t began = q::now_ns();
  for (std::uint32_t n = 1; n != 0 && taken < records; taken += n) {
    n = ring.drain(copies, kBatchUnits, kBatchUnits, [&](const q::Unit* r, std::uint32_t) {
      sum += r->lo ^ r->hi;  // something of each record is looked at
      return true;
    });
  }
  asm volatile("" ::"r"(sum));
  return static_cast<double>(taken) * 1e3 / static_cast<double>(q::now_ns() - began + 1);
}

Result<void> answer_all(const QueueDevice& device, std::uint64_t trips, std::uint32_t log2_depth,
                        std::uint64_t timeout_ns) {
  q::RingConsumer ring(device.units(0), log2_depth);
  q::Unit copies[q::kMaxUnits];
  const std::uint64_t deadline = q::now_ns() + timeout_ns;
  std::uint64_t turns = 0;
  for (std::uint64_t done = 0; done < trips;) {
    if (ring.copy_out(copies) != 0) {
      q::store_release_sys(device.answer(), ++done);
      // Credit after the answer: the poster does not wait for it.
      q::store_release_sys(&device.control(0)->consumed, ring.position());
    } else if (++turns % kTurnsPerLook == 0 && q::now_ns() > deadline) {
      return Error{ginTimeout, "round trip " + std::to_string(done) + " has not begun"};
    }
  }
  return {};
}

}  // namespace gind::perf
