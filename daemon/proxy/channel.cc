// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/channel.h"

#include <algorithm>
#include <cstring>

namespace gind {

static_assert((PeerChannel::kStaged & (PeerChannel::kStaged - 1)) == 0);

WorkRequest& PeerChannel::next() {
  WorkRequest& slot = staged_->request[tail_ % kStaged];
  slot.peer = peer_;
  return slot;
}

void PeerChannel::stage_write(const WorkRequest& request) {
  WorkRequest& slot = next();
  slot = request;
  slot.peer = peer_;
  ++tail_;
}

void PeerChannel::stage_inline(WorkRequest request, const void* payload, std::uint32_t bytes) {
  Payload& copy = staged_->payload[tail_ % kStaged];
  std::memcpy(copy.data(), payload, bytes);
  request.inline_data = true;
  request.local = copy.data();
  request.local_region = nullptr;
  request.bytes = bytes;
  stage_write(request);
}

void PeerChannel::stage_record(const WireRecord& record, std::uint64_t id) {
  WorkRequest request;
  request.op = WorkOp::kSend;
  request.id = id;
  stage_inline(request, &record, sizeof record);
}

void PeerChannel::stage_word(const WireRecord& record, const WireWord& word, std::uint64_t id) {
  const WireMessage message{record, word};
  WorkRequest request;
  request.op = WorkOp::kSend;
  request.id = id;
  stage_inline(request, &message, sizeof message);
}

void PeerChannel::stage_small_put(const WireRecord& record, const void* data, std::uint64_t id) {
  std::array<std::uint8_t, kMaxSendBytes> message;
  std::memcpy(message.data(), &record, sizeof record);
  std::memcpy(message.data() + sizeof record, data, record.bytes);
  WorkRequest request;
  request.op = WorkOp::kSend;
  request.id = id;
  stage_inline(request, message.data(), sizeof record + record.bytes);
}

bool PeerChannel::flush() {
  bool any = false;
  while (head_ != tail_) {
    const std::uint32_t at = head_ % kStaged;
    const std::uint32_t run = std::min(tail_ - head_, kStaged - at);
    const std::size_t taken = endpoint_.post({&staged_->request[at], run});
    for (std::size_t i = 0; i < taken; ++i) in_flight_bytes_ += staged_->request[at + i].bytes;
    in_flight_ += static_cast<std::uint32_t>(taken);
    head_ += static_cast<std::uint32_t>(taken);
    any |= taken != 0;
    if (taken < run) break;
  }
  return any;
}

void PeerChannel::purge(const std::function<bool(std::uint64_t)>& drop) {
  std::uint32_t to = head_;
  for (std::uint32_t from = head_; from != tail_; ++from) {
    const WorkRequest& request = staged_->request[from % kStaged];
    if (drop(request.id)) continue;
    if (to != from) {
      staged_->payload[to % kStaged] = staged_->payload[from % kStaged];
      WorkRequest& kept = staged_->request[to % kStaged];
      kept = request;
      if (kept.inline_data) kept.local = staged_->payload[to % kStaged].data();
    }
    ++to;
  }
  tail_ = to;
}

}  // namespace gind
