// SPDX-License-Identifier: Apache-2.0
// A put that comes in a record reaches the window it names, and nothing else.
#include "daemon/proxy/record.h"

#include <gtest/gtest.h>

#include <array>

namespace gind {
namespace {

class SmallPut : public testing::Test {
 protected:
  SmallPut() {
    window.base = memory.data() + 16;
    window.bytes = 64;
    view.windows = {nullptr, &window};
    record.kind = RecordKind::kPut;
    record.pieces = 1;
    record.bytes = 8;
  }
  char* target() const { return small_put_target(view, record, record.bytes); }

  std::array<char, 96> memory{};
  WindowView window;
  RankView view;
  WireRecord record;
};

TEST_F(SmallPut, LandsAtItsOffset) {
  for (const std::uint64_t offset : {0u, 1u, 55u, 56u}) {
    record.sequence = offset;
    EXPECT_EQ(target(), window.base + offset);
  }
  record.bytes = kSmallPutBytes;
  record.sequence = 64 - kSmallPutBytes;
  EXPECT_EQ(target(), window.base + record.sequence);
}

TEST_F(SmallPut, PastTheEndOfTheWindowIsRefused) {
  for (const std::uint64_t offset : {std::uint64_t{57}, std::uint64_t{64}, std::uint64_t{1} << 47,
                                     ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    record.sequence = offset;
    EXPECT_EQ(target(), nullptr) << offset;
  }
  record.sequence = 0;
  window.bytes = 7;
  EXPECT_EQ(target(), nullptr);
}

TEST_F(SmallPut, AWindowThatIsNotThereIsRefused) {
  for (const std::uint16_t index : {0, 2, 4095, 65535}) {
    record.pieces = index;
    EXPECT_EQ(target(), nullptr) << index;
  }
}

TEST_F(SmallPut, AnotherLengthThanItSaysIsRefused) {
  EXPECT_EQ(small_put_target(view, record, 7), nullptr);
  EXPECT_EQ(small_put_target(view, record, 9), nullptr);
  record.bytes = 0;
  EXPECT_EQ(small_put_target(view, record, 0), nullptr);
  record.bytes = kSmallPutBytes + 1;
  EXPECT_EQ(small_put_target(view, record, kSmallPutBytes + 1), nullptr);
}

}  // namespace
}  // namespace gind
