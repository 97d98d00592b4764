// SPDX-License-Identifier: Apache-2.0
// Operations on a word of a window: fetchAdd, compareSwap, VA signals and their reset.  Where
// signals are records, the target's gind applies them, by its CPU's atomics: contexts on several
// proxy threads may share a word.  In signal mode "atomic" the NIC does.
#include "daemon/proxy/context_queue.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace gind {

using gin::queues::Descriptor;
using gin::queues::Op;

bool ContextQueue::stage_atomic(ProxyEnv& env, std::uint32_t index, OpSlot& slot) {
  const Descriptor& d = slot.d;
  PeerChannel& channel = *routes_[d.peer].channel;
  const WindowView* remote = view().windows[d.dst_window];
  const WindowView* result = view().windows[d.src_window];
  if (!has_room(d.peer)) return false;
  if (remote == nullptr || result == nullptr) {  // withdrawn while it waited
    slot.failed = true;
    return true;
  }
  const bool add = d.op == Op::kFetchAdd;
  if (channel.signal_mode() == SignalMode::kAtomic) {
    WorkRequest request;
    request.op = add ? WorkOp::kFetchAdd : WorkOp::kCompareSwap;
    request.bytes = sizeof(std::uint64_t);
    request.remote_address = remote->part[d.peer].address + d.dst_offset;
    request.remote_key = remote->part[d.peer].key;
    request.operand = d.value;
    request.compare = d.compare;
    request.local = result->base + d.src_offset;
    request.id = request_id(index, request.bytes);
    channel.stage_write(request);
    slot.pending = 1;
    peers_[d.peer].dirty = true;
  } else {
    WireRecord record = record_to(d.peer, add ? RecordKind::kFetchAdd : RecordKind::kCompareSwap);
    record.signal = d.dst_window;
    if (channel.signal_mode() == SignalMode::kSequence) {
      record.sequence = peers_[d.peer].flow.next++;
    }
    const WireWord word{d.dst_offset, d.value, d.compare, slot.order};
    channel.stage_word(record, word, request_id(index, sizeof record + sizeof word));
    slot.pending = 2;  // the request's completion and the peer's answer
    slot.awaiting = true;
  }
  env.mark(channel);
  return true;
}

// The window may have been withdrawn meanwhile, and its index given to another.
bool ContextQueue::store_old_value(const Descriptor& d, const WireRecord& reply) {
  const WindowView* window = view().windows[d.src_window];
  if (reply.bytes != 0 || window == nullptr || window->bytes < sizeof(std::uint64_t) ||
      d.src_offset > window->bytes - sizeof(std::uint64_t)) {
    return false;
  }
  // Plain memory of the client; done[peer] releases it to who has flushed.
  std::memcpy(window->base + d.src_offset, &reply.addend, sizeof reply.addend);
  return true;
}

// To 0, by the word's own applier.  Nothing may race with it.
bool ContextQueue::stage_reset(ProxyEnv& env, std::uint32_t index, OpSlot& slot) {
  const Descriptor& d = slot.d;
  const WindowView* window = view().windows[d.dst_window];
  if (window == nullptr) {
    slot.failed = true;
    return true;
  }
  std::atomic_ref<std::uint64_t> word(
      *reinterpret_cast<std::uint64_t*>(window->base + d.dst_offset));
  PeerChannel& channel = *routes_[d.peer].channel;
  if (channel.signal_mode() != SignalMode::kAtomic) {
    word.store(0, std::memory_order_release);  // pairs with the acquire of readSignal
    return true;
  }
  if (!has_room(d.peer)) return false;
  WorkRequest request;
  request.op = WorkOp::kFetchAdd;
  request.bytes = sizeof(std::uint64_t);
  request.remote_address = window->part[d.peer].address + d.dst_offset;
  request.remote_key = window->part[d.peer].key;
  request.operand = 0 - word.load(std::memory_order_acquire);  // pairs with the NIC's write
  request.id = request_id(index, request.bytes);
  channel.stage_write(request);
  env.mark(channel);
  slot.pending = 1;
  return true;
}

// As the target.
void ContextQueue::act_on_word(ProxyEnv& env, const WireMessage& message) {
  const WireRecord& record = message.record;
  std::uint64_t* const target = word_target(view(), message);
  if (target == nullptr) env.counters.records_refused.add(1);
  std::uint64_t old = 0;
  if (target != nullptr) {
    // acq_rel: whoever acquires the word sees what was written before it; pairs with readSignal.
    std::atomic_ref<std::uint64_t> word(*target);
    switch (record.kind) {
      case RecordKind::kVaSignal:
        word.fetch_add(record.addend, std::memory_order_acq_rel);
        env.counters.signals_applied.add(1);
        break;
      case RecordKind::kFetchAdd:
        old = word.fetch_add(message.word.operand, std::memory_order_acq_rel);
        break;
      default:
        old = message.word.compare;
        word.compare_exchange_strong(old, message.word.operand, std::memory_order_acq_rel);
        break;
    }
  }
  if (record.kind == RecordKind::kVaSignal) return;
  WireRecord answer = record_to(record.source_rank, RecordKind::kAtomicReply);
  answer.addend = old;
  answer.sequence = message.word.token;
  answer.bytes = target == nullptr ? 1 : 0;
  reply(env, record.source_rank, answer);
}

}  // namespace gind
