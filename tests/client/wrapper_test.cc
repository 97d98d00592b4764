// SPDX-License-Identifier: Apache-2.0
#include "fake_gind.h"
#include "gin/gin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace gind::test {
namespace {

using protocol::MessageType;

TEST(Wrapper, HandlesGiveBackWhatTheyOwnInOrder) {
  FakeGind gind;
  {
    gin::Communicator comm;
    ASSERT_EQ(comm.init(1, ginUniqueId{}, 0), ginSuccess) << ginGetLastError();
    EXPECT_EQ(comm.init(1, ginUniqueId{}, 0), ginInvalidUsage) << "it is not empty";
    gin::Memory memory;
    ASSERT_EQ(memory.allocate(comm, 4096), ginSuccess);
    gin::Window window;
    ASSERT_EQ(window.enter(comm, memory.data(), memory.size()), ginSuccess);
    gin::DeviceCommunicator device;
    ASSERT_EQ(device.create(comm), ginSuccess) << ginGetLastError();
    gin::DeviceCommunicator moved(std::move(device));
    EXPECT_EQ(moved.get().contexts, 4u);
    EXPECT_EQ(comm.async_error(), ginSuccess);
  }
  const auto all = gind.received();
  const std::vector<MessageType> end(all.end() - 4, all.end());
  EXPECT_EQ(end, (std::vector{MessageType::kDevCommDestroy, MessageType::kWindowDeregister,
                              MessageType::kMemoryFree, MessageType::kGoodbye}));
}

}  // namespace
}  // namespace gind::test
