// SPDX-License-Identifier: Apache-2.0
#include "loopback/loopback_endpoint.h"

#include "loopback/loopback_region.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace gind {
namespace {

std::uint32_t remote_access(WorkOp op) {
  switch (op) {
    case WorkOp::kRead:
      return kAccessRemoteRead;
    case WorkOp::kFetchAdd:
    case WorkOp::kCompareSwap:
      return kAccessRemoteAtomic;
    default:
      return kAccessRemoteWrite;
  }
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

Result<std::unique_ptr<Endpoint>> LoopbackEndpoint::open(std::shared_ptr<LoopbackShared> shared) {
  auto mailbox = std::make_shared<Mailbox>(shared->options.queue_depth);
  if (mailbox->wait_fd() < 0) return system_error("loopback: eventfd", errno);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(shared->mutex);
    number = shared->next_endpoint++;
    shared->endpoints.emplace(number, mailbox);
  }
  return std::unique_ptr<Endpoint>(
      new LoopbackEndpoint(std::move(shared), number, std::move(mailbox)));
}

LoopbackEndpoint::LoopbackEndpoint(std::shared_ptr<LoopbackShared> shared, std::uint64_t number,
                                   std::shared_ptr<Mailbox> mailbox)
    : shared_(std::move(shared)),
      number_(number),
      mailbox_(std::move(mailbox)),
      finished_(shared_->options.queue_depth),
      self_(shared_->options.queue_depth) {}

LoopbackEndpoint::~LoopbackEndpoint() {
  mailbox_->close();
  const std::lock_guard lock(shared_->mutex);
  shared_->endpoints.erase(number_);
}

std::vector<std::uint8_t> LoopbackEndpoint::address() const {
  const std::uint64_t words[2] = {shared_->instance, number_};
  std::vector<std::uint8_t> out(sizeof words);
  std::memcpy(out.data(), words, sizeof words);
  return out;
}

Result<PeerHandle> LoopbackEndpoint::add_peer(std::span<const std::uint8_t> address) {
  std::uint64_t words[2] = {};
  if (address.size() != sizeof words)
    return Error{
        ginInvalidArgument,
        fmt::format("loopback: peer address of {} bytes; an address of a loopback endpoint "
                    "has {}",
                    address.size(), sizeof words)};
  std::memcpy(words, address.data(), sizeof words);
  if (words[0] != shared_->instance)
    return Error{ginInvalidArgument,
                 "loopback: the peer address is another process's or another transport's; the "
                 "loopback reaches endpoints of its own transport only"};
  const std::lock_guard lock(shared_->mutex);
  const auto it = shared_->endpoints.find(words[1]);
  auto mailbox = it == shared_->endpoints.end() ? nullptr : it->second.lock();
  if (!mailbox)
    return Error{ginRemoteError, fmt::format("loopback: endpoint {} is gone", words[1])};
  peers_.push_back(std::move(mailbox));
  return static_cast<PeerHandle>(peers_.size() - 1);
}

void LoopbackEndpoint::remove_peer(PeerHandle peer) {
  if (peer < peers_.size()) peers_[peer].reset();
}

const char* LoopbackEndpoint::check(const WorkRequest& r) const {
  if (r.peer >= peers_.size() || !peers_[r.peer]) return "loopback: no such peer";
  if (peers_[r.peer]->gone()) return "loopback: the peer's endpoint is gone";
  if (r.op == WorkOp::kSend)
    return r.bytes <= kMaxSendBytes ? nullptr : "loopback: a send is larger than 64 bytes";
  if (r.inline_data && r.bytes > kLoopbackInlineBytes)
    return "loopback: inline data is larger than inline_bytes";
  if (r.op == WorkOp::kFetchAdd || r.op == WorkOp::kCompareSwap) {
    if (r.remote_address % sizeof(std::uint64_t) != 0)
      return "loopback: the address of an atomic is not a multiple of 8";
    return shared_->regions.check(r.remote_key, r.remote_address, sizeof(std::uint64_t),
                                  kAccessRemoteAtomic);
  }
  if (r.local_region && r.bytes != 0) {
    const auto* region = static_cast<const LoopbackRegion*>(r.local_region);
    if (!region->covers(r.local, r.bytes))
      return "loopback: the local range is outside its memory region";
  }
  if (r.bytes == 0) return nullptr;  // touches no memory, like on a fabric
  return shared_->regions.check(r.remote_key, r.remote_address, r.bytes, remote_access(r.op));
}

LoopbackEndpoint::Step LoopbackEndpoint::deliver(Mailbox& target, const LoopbackMessage& message,
                                                 const char** error) {
  if (&target == mailbox_.get()) {
    if (self_.full()) return Step::kFull;
    self_.push(message);
    return Step::kDone;
  }
  switch (target.deliver(message)) {
    case Mailbox::Delivery::kTaken:
      return Step::kDone;
    case Mailbox::Delivery::kFull:
      return Step::kFull;
    case Mailbox::Delivery::kGone:
      break;
  }
  *error = "loopback: the peer's endpoint is gone";
  return Step::kFailed;
}

LoopbackEndpoint::Step LoopbackEndpoint::execute(const WorkRequest& r, const char** error) {
  *error = check(r);
  if (*error) return Step::kFailed;
  Mailbox& target = *peers_[r.peer];
  const bool copy = r.bytes != 0 && !shared_->options.null_memory;
  switch (r.op) {
    case WorkOp::kWriteImmediate: {
      // A full mailbox makes the caller post this again and the copy repeat, with the same result.
      if (copy) std::memmove(pointer(r.remote_address), r.local, r.bytes);
      LoopbackMessage message;
      message.immediate_only = true;
      message.immediate = r.immediate;
      return deliver(target, message, error);
    }
    case WorkOp::kWrite:
      if (copy) std::memmove(pointer(r.remote_address), r.local, r.bytes);
      return Step::kDone;
    case WorkOp::kRead:
      if (copy) std::memmove(const_cast<void*>(r.local), pointer(r.remote_address), r.bytes);
      return Step::kDone;
    case WorkOp::kFetchAdd: {
      std::atomic_ref<std::uint64_t> word(*static_cast<std::uint64_t*>(pointer(r.remote_address)));
      // acq_rel: pairs with the acquire load of whoever waits for the word.
      const std::uint64_t old = word.fetch_add(r.operand, std::memory_order_acq_rel);
      if (r.local) std::memcpy(const_cast<void*>(r.local), &old, sizeof old);
      return Step::kDone;
    }
    case WorkOp::kCompareSwap: {
      std::atomic_ref<std::uint64_t> word(*static_cast<std::uint64_t*>(pointer(r.remote_address)));
      std::uint64_t old = r.compare;
      // acq_rel: as above.
      word.compare_exchange_strong(old, r.operand, std::memory_order_acq_rel);
      if (r.local) std::memcpy(const_cast<void*>(r.local), &old, sizeof old);
      return Step::kDone;
    }
    case WorkOp::kSend: {
      LoopbackMessage message;
      message.bytes = static_cast<std::uint32_t>(r.bytes);
      if (r.bytes != 0) std::memcpy(message.data.data(), r.local, r.bytes);
      return deliver(target, message, error);
    }
  }
  *error = "loopback: unknown operation";
  return Step::kFailed;
}

std::size_t LoopbackEndpoint::post(std::span<const WorkRequest> requests) {
  std::size_t taken = 0;
  for (const WorkRequest& request : requests) {
    if (finished_count_ == finished_.size()) break;
    const char* error = nullptr;
    if (execute(request, &error) == Step::kFull) break;
    finished_[(finished_head_ + finished_count_) % finished_.size()] = {request.id, error};
    ++finished_count_;
    ++taken;
  }
  return taken;
}

std::size_t LoopbackEndpoint::poll_finished(std::span<Completion> completions) {
  std::size_t n = 0;
  while (n < completions.size() && finished_count_ != 0) {
    const Finished& f = finished_[finished_head_];
    Completion& c = completions[n++];
    c = Completion{};
    c.id = f.id;
    if (f.error) {
      c.kind = CompletionKind::kFailed;
      c.code = ginRemoteError;
      c.error = f.error;
    }
    finished_head_ = (finished_head_ + 1) % finished_.size();
    --finished_count_;
  }
  return n;
}

std::size_t LoopbackEndpoint::poll(std::span<Completion> completions) {
  std::size_t n = poll_finished(completions);
  const std::size_t room = std::min(completions.size() - n, kBatch);
  std::size_t messages = mailbox_->take(batch_.data(), room);
  for (; messages < room && !self_.empty(); self_.pop()) batch_[messages++] = self_.front();
  for (std::size_t i = 0; i < messages; ++i) {
    Completion& c = completions[n++];
    c = Completion{};
    if (batch_[i].immediate_only) {
      c.kind = CompletionKind::kImmediate;
      c.immediate = batch_[i].immediate;
    } else {
      c.kind = CompletionKind::kReceived;
      c.data = batch_[i].data.data();
      c.bytes = batch_[i].bytes;
    }
  }
  return n;
}

bool LoopbackEndpoint::prepare_wait() {
  return finished_count_ == 0 && self_.empty() && mailbox_->prepare_wait();
}

}  // namespace gind
