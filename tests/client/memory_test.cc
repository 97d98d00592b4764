// SPDX-License-Identifier: Apache-2.0
#include "fake_gind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace gind::test {
namespace {

using protocol::MessageType;

class Memory : public ::testing::Test {
 protected:
  char* allocate(std::size_t bytes) {
    void* ptr = nullptr;
    EXPECT_EQ(ginMemAlloc(c.comm, &ptr, bytes, ginMemHost), ginSuccess) << ginGetLastError();
    return static_cast<char*>(ptr);
  }
  ginResult_t enter(void* ptr, std::size_t bytes, unsigned flags = GIN_WIN_DEFAULT) {
    return ginCommWindowRegister(c.comm, ptr, bytes, &window, flags);
  }
  FakeGind gind;
  TestComm c;
  ginWindow_t window{};
};

TEST_F(Memory, IsZeroedAndOnAPage) {
  char* p = allocate(10'001);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 4096, 0u);
  EXPECT_TRUE(std::all_of(p, p + 10'001, [](char b) { return b == 0; }));
  p[10'000] = 1;
  EXPECT_EQ(ginMemFree(c.comm, p), ginSuccess);
}

TEST_F(Memory, BadAllocationsAreRefused) {
  void* ptr = &ptr;
  EXPECT_EQ(ginMemAlloc(c.comm, nullptr, 1, ginMemHost), ginInvalidArgument);
  EXPECT_EQ(ginMemAlloc(c.comm, &ptr, 0, ginMemHost), ginInvalidArgument);
  EXPECT_EQ(ptr, nullptr);
  EXPECT_EQ(ginMemAlloc(c.comm, &ptr, std::size_t{1} << 47, ginMemHost), ginInvalidArgument);
  EXPECT_EQ(ginMemAlloc(c.comm, &ptr, std::size_t{1} << 46, ginMemHost), ginLimitExceeded);
  EXPECT_EQ(ginMemAlloc(c.comm, &ptr, 4096, ginMemDevice), ginNotSupported);
  EXPECT_EQ(ginMemAlloc(c.comm, &ptr, 4096, static_cast<ginMemKind_t>(9)), ginInvalidArgument);
}

TEST_F(Memory, WindowCarriesItsOffsetInTheMemoryToGind) {
  char* p = allocate(3 * 4096);
  ASSERT_EQ(enter(p + 4100, 77, GIN_WIN_STRICT_ORDERING), ginSuccess) << ginGetLastError();
  EXPECT_EQ(window.id, 1u);
  EXPECT_EQ(gind.last_window().offset, 4100u);
  EXPECT_EQ(gind.last_window().bytes, 77u);
  EXPECT_EQ(gind.last_window().flags, GIN_WIN_STRICT_ORDERING);
}

TEST_F(Memory, SeveralWindowsMayLieInOneAllocation) {
  char* p = allocate(4096);
  ASSERT_EQ(enter(p, 100), ginSuccess);
  ASSERT_EQ(enter(p + 50, 4046), ginSuccess) << ginGetLastError();
  EXPECT_EQ(window.id, 2u);
}

TEST_F(Memory, WindowOutsideAnAllocationNamesTheNearest) {
  char* p = allocate(4096);
  EXPECT_EQ(enter(p + 1, 4096), ginInvalidArgument);
  char text[64];
  std::snprintf(text, sizeof text, "nearest is 0x%llx (4096 bytes)",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(p)));
  EXPECT_TRUE(last_error_has(text)) << ginGetLastError();
  EXPECT_EQ(window.id, 0u);
  int local = 0;
  EXPECT_EQ(enter(&local, sizeof local), ginInvalidArgument);
  EXPECT_EQ(enter(p, ~std::size_t{0}), ginInvalidArgument);
  EXPECT_EQ(enter(nullptr, 8), ginInvalidArgument);
  EXPECT_EQ(enter(p, 8, 6), ginInvalidArgument);
  EXPECT_EQ(ginCommWindowRegister(c.comm, p, 8, nullptr, 0), ginInvalidArgument);
  const auto received = gind.received();
  EXPECT_EQ(std::count(received.begin(), received.end(), MessageType::kWindowRegister), 0);
}

TEST_F(Memory, WindowOfAnotherCommunicatorsMemoryIsRefused) {
  TestComm other;
  void* theirs = nullptr;
  ASSERT_EQ(ginMemAlloc(other.comm, &theirs, 4096, ginMemHost), ginSuccess);
  EXPECT_EQ(enter(theirs, 4096), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("it has none")) << ginGetLastError();
}

TEST_F(Memory, EmptyWindowNeedsNoMemory) {
  EXPECT_EQ(enter(nullptr, 0), ginSuccess) << ginGetLastError();
  const ginWindow_t first = window;
  EXPECT_EQ(enter(nullptr, 0), ginSuccess) << ginGetLastError();
  EXPECT_EQ(ginCommWindowDeregister(c.comm, first), ginSuccess);
}

TEST_F(Memory, CannotBeFreedWhileAWindowLiesInIt) {
  char* p = allocate(4096);
  ASSERT_EQ(enter(p, 4096), ginSuccess);
  EXPECT_EQ(ginMemFree(c.comm, p), ginInvalidUsage);
  EXPECT_TRUE(last_error_has("1 windows")) << ginGetLastError();
  ASSERT_EQ(ginCommWindowDeregister(c.comm, window), ginSuccess) << ginGetLastError();
  EXPECT_EQ(ginMemFree(c.comm, p), ginSuccess) << ginGetLastError();
  EXPECT_EQ(gind.received().back(), MessageType::kMemoryFree);
}

TEST_F(Memory, FreeOfWhatWasNotAllocatedIsRefused) {
  char* p = allocate(4096);
  EXPECT_EQ(ginMemFree(c.comm, nullptr), ginInvalidArgument);
  EXPECT_EQ(ginMemFree(c.comm, p + 1), ginInvalidArgument);
  EXPECT_EQ(ginMemFree(c.comm, p), ginSuccess);
  EXPECT_EQ(ginMemFree(c.comm, p), ginInvalidArgument);
}

TEST_F(Memory, UnknownWindowsCannotBeDeregistered) {
  EXPECT_EQ(ginCommWindowDeregister(c.comm, ginWindow_t{0}), ginInvalidArgument);
  EXPECT_EQ(ginCommWindowDeregister(c.comm, ginWindow_t{5}), ginInvalidArgument);
  EXPECT_TRUE(last_error_has("window handle 5")) << ginGetLastError();
}

}  // namespace
}  // namespace gind::test
