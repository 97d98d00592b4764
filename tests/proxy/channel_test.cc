// SPDX-License-Identifier: Apache-2.0
// Staging towards one peer: order, back-pressure, the peer's share, taking requests back.
#include "daemon/proxy/channel.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gind {
namespace {

// Takes as many requests as it is told to.
class FakeEndpoint final : public Endpoint {
 public:
  std::vector<std::uint8_t> address() const override { return {1}; }
  Result<PeerHandle> add_peer(std::span<const std::uint8_t>) override { return PeerHandle{9}; }
  void remove_peer(PeerHandle) override {}
  std::size_t post(std::span<const WorkRequest> requests) override {
    std::size_t n = 0;
    for (; n < requests.size() && takes != 0; ++n, --takes) {
      taken.push_back(requests[n].id);
      if (requests[n].inline_data) {
        std::uint64_t value = 0;
        std::memcpy(&value, requests[n].local, 8);
        values.push_back(value);
      }
    }
    return n;
  }
  std::size_t poll(std::span<Completion>) override { return 0; }

  std::size_t takes = 0;
  std::vector<std::uint64_t> taken;
  std::vector<std::uint64_t> values;
};

class Channel : public testing::Test {
 protected:
  void stage(std::uint64_t id) {
    WorkRequest request;
    request.id = id;
    channel.stage_inline(request, &id, sizeof id);
  }
  FakeEndpoint endpoint;
  PeerChannel channel{endpoint, 9, SignalMode::kRecord, false, 4};
};

TEST_F(Channel, KeepsOrderAndLosesNothingUnderBackPressure) {
  std::vector<std::uint64_t> expected;
  std::uint64_t next = 0;
  while (next < 1000) {
    while (channel.has_room(1) && next < 1000) {
      expected.push_back(next);
      stage(next++);
    }
    endpoint.takes = 7;
    channel.flush();
    for (std::size_t done = channel.in_flight(); done != 0; --done) channel.completed(8);
  }
  endpoint.takes = 1000;
  channel.flush();
  EXPECT_TRUE(channel.idle());
  EXPECT_EQ(endpoint.taken, expected);
  EXPECT_EQ(endpoint.values, expected);
}

TEST_F(Channel, BoundsWhatOnePeerMayHaveInFlight) {
  endpoint.takes = 10000;
  std::uint64_t staged = 0;
  for (; channel.has_room(1); ++staged) {
    stage(staged);
    channel.flush();
  }
  EXPECT_EQ(staged, PeerChannel::kInFlight);
  channel.completed(8);
  EXPECT_TRUE(channel.has_room(1));
  EXPECT_FALSE(channel.has_room(2));
}

TEST_F(Channel, BoundsTheBytesInFlight) {
  endpoint.takes = 10000;
  WorkRequest request;
  request.bytes = 4 << 20;
  int staged = 0;
  for (; channel.has_room(1); ++staged) {
    channel.stage_write(request);
    channel.flush();
  }
  EXPECT_EQ(staged, 4);
}

TEST_F(Channel, PurgeTakesOutWhatItIsToldAndKeepsTheRestInOrder) {
  for (std::uint64_t i = 0; i < 100; ++i) stage(i);
  endpoint.takes = 10;
  channel.flush();
  channel.purge([](std::uint64_t id) { return id % 3 == 0; });
  endpoint.takes = 1000;
  channel.flush();
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 100; ++i) {
    if (i < 10 || i % 3 != 0) expected.push_back(i);
  }
  EXPECT_EQ(endpoint.taken, expected);
  EXPECT_EQ(endpoint.values, expected) << "payloads move with their requests";
}

}  // namespace
}  // namespace gind
