// SPDX-License-Identifier: Apache-2.0
// What a hostile client can put into a ring: any bits.  The consumer and the decoder must neither
// read past the units they were given nor invent a value outside a field's encoding.
#include "test_ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>

namespace gin::queues::testing {
namespace {

// Memory that ends at an inaccessible page: one byte too far is a fault.
class GuardedUnits {
 public:
  explicit GuardedUnits(std::size_t units) : units_(units) {
    base_ = static_cast<char*>(
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base_ + kPage, kPage, PROT_NONE);
  }
  GuardedUnits(const GuardedUnits&) = delete;
  GuardedUnits& operator=(const GuardedUnits&) = delete;
  ~GuardedUnits() { ::munmap(base_, 2 * kPage); }
  Unit* data() { return reinterpret_cast<Unit*>(base_ + kPage) - units_; }

 private:
  char* base_ = nullptr;
  std::size_t units_;
};

// Random bits, with an operation and a unit count that often agree, so that the deep paths are met.
void fill(std::mt19937_64& random, Unit* unit, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) {
    unit[i].lo = random() & random();
    unit[i].hi = random() & random();
  }
  const std::uint64_t op = random() % 16;
  unit[0].lo = (unit[0].lo & ~std::uint64_t{0x3f}) | op | std::uint64_t{n - 1} << 4;
}

TEST(DescriptorFuzz, DecodeStaysInsideItsUnitsAndItsFields) {
  std::mt19937_64 random(20240229);
  std::uint64_t accepted = 0;
  for (std::uint32_t n = 1; n <= kMaxUnits; ++n) {
    GuardedUnits memory(n);
    Unit* unit = memory.data();
    for (int round = 0; round < 200'000; ++round) {
      fill(random, unit, n);
      if (round % 2 == 0) {  // sparse: reserved bits mostly zero
        for (std::uint32_t i = 0; i < n; ++i) {
          unit[i].lo &= i == 0 ? ~std::uint64_t{0} : random() & random();
          unit[i].hi &= random() & random() & random();
        }
        unit[0].lo &= ~(std::uint64_t{3} << 61);
      }
      Descriptor d{};
      if (decode(unit, n, &d) != Field::kNone) continue;
      ++accepted;
      ASSERT_LT(static_cast<int>(d.bad_field), static_cast<int>(Field::kCount_));
      if (d.op == Op::kBadUse) continue;
      ASSERT_EQ(first_unencodable(d), Field::kNone);
      // What was accepted means the same after another trip.
      const Record r = encode(d);
      Descriptor again{};
      ASSERT_EQ(decode(r.unit, r.units, &again), Field::kNone);
      ASSERT_TRUE(equal(d, again));
    }
  }
  EXPECT_GT(accepted, 1000u);
}

TEST(DescriptorFuzz, ConsumerCopesWithARingOfNoise) {
  std::mt19937_64 random(7);
  constexpr std::uint32_t kLog2 = 6;
  for (int round = 0; round < 20'000; ++round) {
    GuardedUnits memory(1u << kLog2);
    for (std::uint32_t i = 0; i < 1u << kLog2; ++i) {
      memory.data()[i] = Unit{random() | kParityMask, random() | kParityMask};
      if (random() % 8 == 0) memory.data()[i].hi &= kPayloadMask;
    }
    RingConsumer consumer(memory.data(), kLog2);
    GuardedUnits copy(kMaxUnits);
    while (true) {
      const std::uint64_t before = consumer.position();
      const std::uint32_t n = consumer.copy_out(copy.data());
      ASSERT_LE(n, kMaxUnits);
      ASSERT_EQ(consumer.position(), before + n);
      if (n == 0) break;
      Descriptor d{};
      (void)decode(copy.data(), n, &d);
    }
    (void)consumer.has_hole();
    ASSERT_LE(consumer.position(), 1u << kLog2);  // a lap at most: nothing was rewritten
  }
}

}  // namespace
}  // namespace gin::queues::testing
