// SPDX-License-Identifier: Apache-2.0
// What is the loopback's own; the rest is in contract_*_test.cc.
#include "gind/transports/loopback.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace gind {
namespace {

struct Loop {
  explicit Loop(const LoopbackOptions& options = {}) : transport(make_loopback_transport(options)) {
    endpoint = transport->open_endpoint().value().release();
    owner.reset(endpoint);
    peer = endpoint->add_peer(endpoint->address()).value();
    region = transport->register_memory(memory.data(), memory.size(), kAccessRemoteWrite)
                 .value()
                 .release();
    region_owner.reset(region);
  }
  WorkRequest write(std::uint64_t bytes) {
    WorkRequest r;
    r.peer = peer;
    r.local = source.data();
    r.bytes = bytes;
    r.remote_address = region->remote_address();
    r.remote_key = region->remote_key();
    return r;
  }
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(256);
  std::vector<std::uint8_t> source = std::vector<std::uint8_t>(256, 7);
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Endpoint> owner;
  std::unique_ptr<MemoryRegion> region_owner;
  Endpoint* endpoint = nullptr;
  MemoryRegion* region = nullptr;
  PeerHandle peer = 0;
};

TEST(Loopback, TakesAsManyRequestsAsItsQueueIsDeep) {
  Loop loop({.queue_depth = 5});
  const std::vector<WorkRequest> requests(12, loop.write(8));
  EXPECT_EQ(loop.endpoint->post(requests), 5U);
  EXPECT_EQ(loop.endpoint->post(requests), 0U);
  std::array<Completion, 3> completions;
  EXPECT_EQ(loop.endpoint->poll(completions), 3U);
  EXPECT_EQ(loop.endpoint->post(requests), 3U);
}

TEST(Loopback, ASlowReceiverHoldsItsSenderBackAndLosesNothing) {
  Loop loop({.queue_depth = 8});
  auto other = loop.transport->open_endpoint().value();
  WorkRequest send;
  send.op = WorkOp::kSend;
  send.peer = loop.endpoint->add_peer(other->address()).value();
  send.local = loop.source.data();
  send.bytes = 4;
  std::array<Completion, 64> completions;
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) {
    sent += loop.endpoint->post({&send, 1});
    loop.endpoint->poll(completions);
  }
  EXPECT_EQ(sent, 8U);
  std::size_t received = 0;
  for (int i = 0; i < 10; ++i) received += other->poll(completions);
  EXPECT_EQ(received, 8U);
  EXPECT_EQ(loop.endpoint->post({&send, 1}), 1U);
}

TEST(Loopback, NullMemoryCompletesWithoutCopying) {
  Loop loop({.null_memory = true});
  const WorkRequest r = loop.write(64);
  ASSERT_EQ(loop.endpoint->post({&r, 1}), 1U);
  std::array<Completion, 1> completions;
  ASSERT_EQ(loop.endpoint->poll(completions), 1U);
  EXPECT_EQ(completions[0].kind, CompletionKind::kDone);
  EXPECT_EQ(loop.memory, std::vector<std::uint8_t>(256));
}

TEST(Loopback, RefusesAnAddressOfAnotherTransport) {
  Loop one, two;
  auto peer = one.endpoint->add_peer(two.endpoint->address());
  ASSERT_FALSE(peer.ok());
  EXPECT_NE(peer.error().message.find("another"), std::string::npos) << peer.error().message;
}

TEST(Loopback, AMisalignedFetchAddFails) {
  Loop loop;
  auto region = loop.transport->register_memory(loop.memory.data(), 256, kAccessRemoteAtomic);
  WorkRequest r = loop.write(8);
  r.op = WorkOp::kFetchAdd;
  r.remote_key = region.value()->remote_key();
  r.remote_address = region.value()->remote_address() / 8 * 8 + 12;
  r.operand = 1;
  ASSERT_EQ(loop.endpoint->post({&r, 1}), 1U);
  std::array<Completion, 1> completions;
  ASSERT_EQ(loop.endpoint->poll(completions), 1U);
  EXPECT_EQ(completions[0].kind, CompletionKind::kFailed);
}

TEST(Loopback, RegionsBeyondTheLimitAreRefusedByName) {
  auto transport = make_loopback_transport();
  std::vector<std::unique_ptr<MemoryRegion>> regions;
  std::uint8_t byte = 0;
  for (int i = 0; i < 65536; ++i) {
    auto region = transport->register_memory(&byte, 1, 0);
    ASSERT_TRUE(region.ok()) << i;
    regions.push_back(std::move(region).value());
  }
  auto refused = transport->register_memory(&byte, 1, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ginLimitExceeded);
  regions.pop_back();
  EXPECT_TRUE(transport->register_memory(&byte, 1, 0).ok());
}

}  // namespace
}  // namespace gind
