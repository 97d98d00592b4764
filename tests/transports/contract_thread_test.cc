// SPDX-License-Identifier: Apache-2.0
// An endpoint a thread, regions from any thread, and waking up.
#include "fabrics.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

namespace gind::test {
namespace {

class ThreadContract : public FabricTest {};
INSTANTIATE_TEST_SUITE_P(Fabrics, ThreadContract, ::testing::ValuesIn(fabrics()), fabric_name);

// Two proxy threads a node, everyone writes to everyone of the other node with immediates.
TEST_P(ThreadContract, EndpointsInTheirOwnThreadsDoNotDisturbEachOther) {
  constexpr int kThreads = 4;
  constexpr std::uint32_t kWrites = 500;
  constexpr std::size_t kBytes = 512;
  std::array<Node*, 2> node{&a, &b};
  std::array<std::unique_ptr<Endpoint>, kThreads> endpoints;
  std::vector<std::unique_ptr<Buffer>> targets, sources;
  for (int t = 0; t < kThreads; ++t) {
    auto opened = node[t % 2]->transport->open_endpoint();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    endpoints[t] = std::move(opened).value();
    targets.push_back(std::make_unique<Buffer>(*node[t % 2]->transport, kThreads * kBytes));
    sources.push_back(std::make_unique<Buffer>(*node[t % 2]->transport, kBytes));
    sources.back()->fill(static_cast<std::uint32_t>(t));
  }
  std::atomic<int> finished{0};
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Endpoint& endpoint = *endpoints[t];
      std::vector<WorkRequest> requests;
      for (int to = 0; to < kThreads; ++to) {
        if (to % 2 == t % 2) continue;
        auto peer = endpoint.add_peer(endpoints[to]->address());
        if (!peer) {
          failed = true;
          ADD_FAILURE() << peer.error().message;
          continue;
        }
        for (std::uint32_t i = 0; i < kWrites; ++i) {
          WorkRequest r = write_request(*sources[t], 0, *targets[to], t * kBytes, kBytes, i);
          r.op = WorkOp::kWriteImmediate;
          r.immediate = static_cast<std::uint32_t>(t);
          r.peer = peer.value();
          requests.push_back(r);
        }
      }
      const auto deadline = std::chrono::steady_clock::now() + kPatience;
      std::size_t posted = 0, done = 0, arrived = 0;
      bool counted = false;
      // Others may need this endpoint's progress until all are through.
      while (finished.load() < kThreads && !failed.load()) {
        posted += endpoint.post(std::span(requests).subspan(posted));
        std::array<Completion, 32> completions;
        const std::size_t n = endpoint.poll(completions);
        for (std::size_t i = 0; i < n; ++i) {
          done += completions[i].kind == CompletionKind::kDone;
          arrived += completions[i].kind == CompletionKind::kImmediate;
          if (completions[i].kind == CompletionKind::kFailed) {
            failed = true;
            ADD_FAILURE() << completions[i].error;
          }
        }
        if (!counted && done == requests.size() && arrived == 2 * kWrites) {
          counted = true;
          ++finished;
        }
        // Registering from a proxy thread disturbs nobody.
        if (done % 64 == 1) Buffer(*node[t % 2]->transport, 4096);
        if (std::chrono::steady_clock::now() > deadline) failed = true;
        if (n == 0) std::this_thread::yield();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(failed.load());
  EXPECT_EQ(finished.load(), kThreads);
  for (int to = 0; to < kThreads; ++to) {
    for (int t = 1 - to % 2; t < kThreads; t += 2) {
      const auto* arrived = targets[to]->bytes.data() + t * kBytes;
      EXPECT_EQ(std::memcmp(arrived, sources[t]->bytes.data(), kBytes), 0) << t << " to " << to;
    }
  }
}

TEST_P(ThreadContract, ASleeperIsWokenByAnArrival) {
  if (!b.transport->caps().waitable) {
    EXPECT_EQ(b.endpoint->wait_fd(), -1);
    GTEST_SKIP() << "has no descriptor to wait on";
  }
  ASSERT_GE(b.endpoint->wait_fd(), 0);
  constexpr std::uint32_t kRounds = 50;
  std::atomic<std::uint32_t> seen{0};
  std::atomic<bool> stop{false};
  std::atomic<int> in_vain{0};
  std::thread sleeper([&] {
    while (!stop.load() && seen.load() < kRounds) {
      std::array<Completion, 8> completions;
      const std::size_t n = b.endpoint->poll(completions);
      for (std::size_t i = 0; i < n; ++i)
        if (completions[i].kind == CompletionKind::kReceived) ++seen;
      if (n != 0 || seen.load() == kRounds || !b.endpoint->prepare_wait()) continue;
      pollfd waiter{b.endpoint->wait_fd(), POLLIN, 0};
      if (::poll(&waiter, 1, 5000) == 0) ++in_vain;
    }
  });
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (std::uint32_t i = 0; i < kRounds && std::chrono::steady_clock::now() < deadline; ++i) {
    WorkRequest r = send_request(&i, sizeof i, i);
    r.peer = a.peer;
    while (a.endpoint->post({&r, 1}) == 0 && std::chrono::steady_clock::now() < deadline) a.poll();
    while (seen.load() <= i && std::chrono::steady_clock::now() < deadline) a.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // let it fall asleep
  }
  stop = true;
  sleeper.join();
  EXPECT_EQ(seen.load(), kRounds);
  EXPECT_EQ(in_vain.load(), 0) << "slept for 5 s although something had arrived";
}

}  // namespace
}  // namespace gind::test
