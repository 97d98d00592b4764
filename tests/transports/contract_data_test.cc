// SPDX-License-Identifier: Apache-2.0
// What arrives is what was sent, and each request completes once.
#include "fabrics.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace gind::test {
namespace {

class DataContract : public FabricTest {};
INSTANTIATE_TEST_SUITE_P(Fabrics, DataContract, ::testing::ValuesIn(fabrics()), fabric_name);

const std::size_t kSizes[] = {
    0, 1, 7, 8, 63, 64, 65, 4095, 4097, 65536, 65539, 1024 * 1024 + 1, 4 * 1024 * 1024};
constexpr std::size_t kGuard = 61;  // odd: neither side is aligned

TEST_P(DataContract, WritesArriveBitExactAndTouchNothingElse) {
  Buffer from(*a.transport, kSizes[std::size(kSizes) - 1] + 2 * kGuard);
  Buffer to(*b.transport, from.bytes.size());
  std::uint32_t seed = 0;
  for (const std::size_t size : kSizes) {
    from.fill(++seed);
    std::fill(to.bytes.begin(), to.bytes.end(), 0xee);
    const std::size_t before = b.count(CompletionKind::kImmediate);
    WorkRequest r = write_request(from, 3, to, kGuard, size, seed);
    r.op = WorkOp::kWriteImmediate;
    post_all(a, {r});
    until([&] { return a.finished() == seed && b.count(CompletionKind::kImmediate) > before; },
          "the write");
    ASSERT_EQ(a.events.back().error, "") << size;
    ASSERT_EQ(std::memcmp(to.bytes.data() + kGuard, from.bytes.data() + 3, size), 0) << size;
    const auto other = [](std::uint8_t v) { return v != 0xee; };
    ASSERT_TRUE(std::none_of(to.bytes.begin(), to.bytes.begin() + kGuard, other)) << size;
    ASSERT_TRUE(std::none_of(to.bytes.begin() + kGuard + size, to.bytes.end(), other)) << size;
  }
}

TEST_P(DataContract, ReadsBringBitExactData) {
  Buffer to(*a.transport, kSizes[std::size(kSizes) - 1] + 2 * kGuard);
  Buffer from(*b.transport, to.bytes.size());
  std::uint32_t seed = 0;
  for (const std::size_t size : kSizes) {
    if (size == 0) continue;  // allowed for writes only
    from.fill(++seed);
    std::fill(to.bytes.begin(), to.bytes.end(), 0xee);
    WorkRequest r = write_request(to, kGuard, from, 5, size, seed);
    r.op = WorkOp::kRead;
    post_all(a, {r});
    until([&] { return a.finished() == seed; }, "the read");
    ASSERT_EQ(a.events.back().error, "") << size;
    ASSERT_EQ(std::memcmp(to.bytes.data() + kGuard, from.bytes.data() + 5, size), 0) << size;
    ASSERT_EQ(to.bytes[kGuard - 1], 0xee);
    ASSERT_EQ(to.bytes[kGuard + size], 0xee);
  }
}

TEST_P(DataContract, InlineDataIsTakenAtPostTime) {
  Buffer to(*b.transport, 65536);
  const std::uint32_t most = a.transport->caps().inline_bytes;
  ASSERT_GE(most, kMaxSendBytes);
  std::uint64_t id = 0;
  for (std::uint32_t size = 1; size <= most;
       size = size < most ? std::min(size * 3, most) : most + 1) {
    std::vector<std::uint8_t> source = pattern(size, size);
    const auto expected = source;
    WorkRequest r;
    r.op = WorkOp::kWriteImmediate;
    r.peer = a.peer;
    r.inline_data = true;
    r.local = source.data();
    r.bytes = size;
    r.remote_address = to.at(9);
    r.remote_key = to.region->remote_key();
    r.id = ++id;
    until([&] { return a.endpoint->post({&r, 1}) == 1; }, "room");
    std::fill(source.begin(), source.end(), 0);
    until([&] { return a.finished() == id && b.count(CompletionKind::kImmediate) == id; }, "write");
    ASSERT_EQ(a.events.back().error, "");
    ASSERT_EQ(std::memcmp(to.bytes.data() + 9, expected.data(), size), 0) << size;
  }
}

TEST_P(DataContract, SendsDeliverTheirBytesInOrder) {
  constexpr std::uint32_t kSends = 3000;  // more than the receives that are posted
  std::vector<std::vector<std::uint8_t>> payloads;
  std::vector<WorkRequest> requests;
  for (std::uint32_t i = 0; i < kSends; ++i) payloads.push_back(pattern(1 + i % kMaxSendBytes, i));
  for (std::uint32_t i = 0; i < kSends; ++i)
    requests.push_back(
        send_request(payloads[i].data(), static_cast<std::uint32_t>(payloads[i].size()), i));
  post_all(a, requests);
  until([&] { return b.count(CompletionKind::kReceived) == kSends && a.finished() == kSends; },
        "all sends");
  std::uint32_t next = 0;
  for (const Event& e : b.events) {
    if (e.kind != CompletionKind::kReceived) continue;
    ASSERT_EQ(e.data, payloads[next]) << next;
    ++next;
  }
  EXPECT_EQ(a.count(CompletionKind::kFailed), 0U);
}

TEST_P(DataContract, ThousandsOfBatchedRequestsCompleteOnceEach) {
  constexpr std::size_t kRequests = 8000;
  constexpr std::size_t kBytes = 24;
  Buffer from(*a.transport, kRequests * kBytes);
  Buffer to(*b.transport, kRequests * kBytes);
  from.fill(7);
  std::vector<WorkRequest> requests;
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests.push_back(write_request(from, i * kBytes, to, i * kBytes, kBytes, 1000 + i));
    requests.back().inline_data = i % 3 == 0;
    if (i % 5 == 0) requests.back().op = WorkOp::kWriteImmediate;
  }
  post_all(a, requests);
  until([&] { return a.finished() >= kRequests; }, "all completions");
  until([&] { return b.count(CompletionKind::kImmediate) >= kRequests / 5; }, "all immediates");
  for (int i = 0; i < 100; ++i) a.poll();  // a second completion would come now
  std::map<std::uint64_t, int> seen;
  for (const Event& e : a.events) {
    ASSERT_EQ(e.kind, CompletionKind::kDone) << e.error;
    ++seen[e.id];
  }
  EXPECT_EQ(seen.size(), kRequests);
  EXPECT_EQ(a.events.size(), kRequests);
  EXPECT_EQ(seen.begin()->first, 1000U);
  // A plain completion does not say that the data is visible at the target yet.
  until([&] { return to.bytes == from.bytes; }, "all data");
}

TEST_P(DataContract, PostTakesNoMoreThanFitsAndTheRestLater) {
  Buffer from(*a.transport, 64);
  Buffer to(*b.transport, 64);
  std::vector<WorkRequest> requests(20000, write_request(from, 0, to, 0, 8, 1));
  for (auto& r : requests) r.peer = a.peer;
  // Without a poll in between the queue has an end.
  std::size_t taken = 0;
  for (int i = 0; i < 1000; ++i) taken += a.endpoint->post(std::span(requests).subspan(taken));
  EXPECT_LT(taken, requests.size());
  until([&] { return a.finished() == taken; }, "what was taken");
  post_all(a, {requests[0]});
  until([&] { return a.finished() == taken + 1; }, "one more");
}

TEST_P(DataContract, AnEndpointReachesItself) {
  auto self = a.endpoint->add_peer(a.endpoint->address());
  ASSERT_TRUE(self.ok()) << self.error().message;
  Buffer from(*a.transport, 1000);
  Buffer to(*a.transport, 1000);
  from.fill(3);
  WorkRequest write = write_request(from, 0, to, 0, 1000, 1);
  WorkRequest send = send_request(from.bytes.data(), 16, 2);
  write.peer = send.peer = self.value();
  for (WorkRequest* r : {&write, &send})
    until([&] { return a.endpoint->post({r, 1}) == 1; }, "room");
  until([&] { return a.finished() == 2 && a.count(CompletionKind::kReceived) == 1; }, "both");
  EXPECT_EQ(a.count(CompletionKind::kFailed), 0U);
  until([&] { return to.bytes == from.bytes; }, "the data");
}

TEST_P(DataContract, FetchAddsAreAllAppliedAndGiveTheOldValue) {
  if (!a.transport->caps().atomics) GTEST_SKIP() << "opened without atomics";
  constexpr std::uint64_t kAdds = 500;
  Buffer word(*b.transport, 64);
  std::uint64_t fetched = 0;
  std::vector<WorkRequest> requests(kAdds);
  for (auto& r : requests) {
    r.op = WorkOp::kFetchAdd;
    r.bytes = 8;
    r.remote_address = word.at(16);
    r.remote_key = word.region->remote_key();
    r.operand = (std::uint64_t{1} << 40) + 1;
  }
  post_all(a, requests);
  until([&] { return a.finished() == kAdds; }, "the adds");
  requests.resize(1);
  requests[0].local = &fetched;
  post_all(a, requests);
  until([&] { return a.finished() == kAdds + 1; }, "the last add");
  EXPECT_EQ(a.count(CompletionKind::kFailed), 0U);
  EXPECT_EQ(fetched, kAdds * ((std::uint64_t{1} << 40) + 1));
  std::uint64_t value = 0;
  std::memcpy(&value, word.bytes.data() + 16, sizeof value);
  EXPECT_EQ(value, (kAdds + 1) * ((std::uint64_t{1} << 40) + 1));
}

}  // namespace
}  // namespace gind::test
