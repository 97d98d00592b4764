// SPDX-License-Identifier: Apache-2.0
// Requests, from ours to libfabric's.
#include "ofi_endpoint.h"

#include <fmt/format.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include <cstring>

namespace gind {
namespace {

// What was wrong with a request itself is told by a static text.
constexpr std::size_t kMostFailures = 4096;  // then post() takes no more before a poll()

void* descriptor_of(const WorkRequest& request) {
  return request.local_region ? static_cast<OfiRegion*>(request.local_region)->descriptor()
                              : nullptr;
}

}  // namespace

const char* OfiEndpoint::check(const WorkRequest& r) const {
  if (r.peer >= peers_.size()) return "no such peer";
  if (peers_[r.peer].removed) return "the peer was removed";
  if (r.bytes > domain_->max_write) return "larger than max_write_bytes";
  const bool small = r.bytes <= kMaxSendBytes;
  switch (r.op) {
    case WorkOp::kSend:
      if (!small) return "a send is larger than 64 bytes";
      break;
    case WorkOp::kWrite:
    case WorkOp::kWriteImmediate:
      if (r.inline_data && !small && r.bytes > domain_->inject_write)
        return "inline data is larger than inline_bytes";
      if (!r.inline_data && !r.local_region && domain_->local_mr && r.bytes != 0)
        return "the source of a write needs a memory region";
      break;
    case WorkOp::kRead:
      if (!r.local_region && domain_->local_mr && r.bytes != 0)
        return "the destination of a read needs a memory region";
      break;
    case WorkOp::kFetchAdd:
    case WorkOp::kCompareSwap:
      if (!domain_->atomics) return "this transport was opened without atomics";
      break;
  }
  return nullptr;
}

std::int64_t OfiEndpoint::submit_write(const WorkRequest& r, RequestSlot& slot, fi_addr_t to) {
  std::uint64_t flags = FI_COMPLETION;
  iovec local{const_cast<void*>(r.local), r.bytes};
  void* descriptor = descriptor_of(r);
  if (r.bytes == 0 || (r.inline_data && r.bytes > domain_->inject_write)) {
    // Nothing to send, or more than the provider copies: ours to keep until the completion.
    if (r.bytes != 0) std::memcpy(slot.data.data(), r.local, r.bytes);
    local.iov_base = slot.data.data();
    descriptor = requests_.descriptor();
  } else if (r.inline_data) {
    flags |= FI_INJECT;
  }
  fi_rma_iov remote{r.remote_address, r.bytes, r.remote_key};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = to;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.context = &slot.context;
  if (r.op == WorkOp::kWriteImmediate) {
    message.data = r.immediate;
    flags |= FI_REMOTE_CQ_DATA;
  }
  return fi_writemsg(endpoint_.get(), &message, flags);
}

std::int64_t OfiEndpoint::submit_read(const WorkRequest& r, RequestSlot& slot, fi_addr_t to) {
  iovec local{const_cast<void*>(r.local), r.bytes};
  void* descriptor = descriptor_of(r);
  fi_rma_iov remote{r.remote_address, r.bytes, r.remote_key};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = to;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.context = &slot.context;
  return fi_readmsg(endpoint_.get(), &message, FI_COMPLETION);
}

std::int64_t OfiEndpoint::submit_send(const WorkRequest& r, RequestSlot& slot, fi_addr_t to) {
  std::uint64_t flags = FI_COMPLETION;
  iovec local{const_cast<void*>(r.local), r.bytes};
  void* descriptor = descriptor_of(r);
  if (r.bytes <= domain_->inject_send && r.inline_data) {
    flags |= FI_INJECT;
  } else if (r.inline_data || !r.local_region) {
    std::memcpy(slot.data.data(), r.local, r.bytes);
    local.iov_base = slot.data.data();
    descriptor = requests_.descriptor();
  }
  fi_msg message{};
  message.msg_iov = &local;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = to;
  message.context = &slot.context;
  return fi_sendmsg(endpoint_.get(), &message, flags);
}

std::int64_t OfiEndpoint::submit_atomic(const WorkRequest& r, RequestSlot& slot, fi_addr_t to) {
  std::memcpy(slot.data.data(), &r.operand, sizeof r.operand);
  slot.result_to = const_cast<void*>(r.local);
  fi_ioc operand{slot.data.data(), 1};
  void* descriptor = requests_.descriptor();
  fi_rma_ioc remote{r.remote_address, 1, r.remote_key};
  fi_msg_atomic message{};
  message.msg_iov = &operand;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = to;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.datatype = FI_UINT64;
  message.op = r.op == WorkOp::kFetchAdd ? FI_SUM : FI_CSWAP;
  message.context = &slot.context;
  if (!slot.result_to && r.op == WorkOp::kFetchAdd)
    return fi_atomicmsg(endpoint_.get(), &message, FI_COMPLETION);
  fi_ioc result{&slot.result, 1};
  if (r.op == WorkOp::kCompareSwap) {
    std::memcpy(slot.data.data() + sizeof r.operand, &r.compare, sizeof r.compare);
    fi_ioc compare{slot.data.data() + sizeof r.operand, 1};
    return fi_compare_atomicmsg(endpoint_.get(), &message, &compare, &descriptor, 1, &result,
                                &descriptor, 1, FI_COMPLETION);
  }
  return fi_fetch_atomicmsg(endpoint_.get(), &message, &result, &descriptor, 1, FI_COMPLETION);
}

std::int64_t OfiEndpoint::submit(const WorkRequest& r, RequestSlot& slot) {
  const fi_addr_t to = peers_[r.peer].address;
  switch (r.op) {
    case WorkOp::kWrite:
    case WorkOp::kWriteImmediate:
      return submit_write(r, slot, to);
    case WorkOp::kRead:
      return submit_read(r, slot, to);
    case WorkOp::kSend:
      return submit_send(r, slot, to);
    case WorkOp::kFetchAdd:
    case WorkOp::kCompareSwap:
      return submit_atomic(r, slot, to);
  }
  return -FI_EINVAL;
}

// A provider that connects on demand (ofi_rxm) says "again" as long as it has no connection, also
// when nobody will ever answer.
bool OfiEndpoint::gave_up_on(Peer& peer) {
  if (peer.outstanding != 0) return false;
  const auto now = Clock::now();
  if (!peer.stalled) {
    peer.stalled = true;
    peer.stalled_since = now;
  }
  return now - peer.stalled_since >= domain_->options.connect_timeout;
}

void OfiEndpoint::fail(std::uint64_t id, ginResult_t code, std::string text) {
  failures_.push_back({id, code, std::move(text)});
}

std::size_t OfiEndpoint::post(std::span<const WorkRequest> requests) {
  std::size_t taken = 0;
  for (const WorkRequest& r : requests) {
    if (failures_.size() >= kMostFailures) break;
    if (const char* wrong = check(r)) {
      fail(r.id, ginInvalidArgument, fmt::format("{}: {}", domain_->name(), wrong));
      ++taken;
      continue;
    }
    RequestSlot* slot = requests_.take();
    if (!slot) break;
    slot->id = r.id;
    slot->peer = r.peer;
    slot->result_to = nullptr;
    Peer& peer = peers_[r.peer];
    const std::int64_t rc = submit(r, *slot);
    if (rc == 0) {
      ++peer.outstanding;
      peer.stalled = false;
      ++taken;
      continue;
    }
    requests_.put(*slot);
    if (rc == -FI_EAGAIN) {
      if (!gave_up_on(peer)) break;
      fail(r.id, ginRemoteError,
           fmt::format("{}: the peer has taken no request for {} ms", domain_->name(),
                       domain_->options.connect_timeout.count()));
    } else {
      fail(r.id, ginRemoteError, fmt::format("{}: {}", domain_->name(), ofi_text(rc)));
    }
    ++taken;
  }
  return taken;
}

}  // namespace gind
