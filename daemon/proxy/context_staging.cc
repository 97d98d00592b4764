// SPDX-License-Identifier: Apache-2.0
// Turning operations into requests: pieces of data, the signal behind them, fences.
#include "daemon/proxy/context_queue.h"

#include <fmt/format.h>

#include <algorithm>

namespace gind {

using gin::queues::Descriptor;
using gin::queues::Op;
using gin::queues::RemoteAction;

namespace {

// A put of a few bytes with a signal that the target's gind applies: it can write the data as well.
bool travels_in_record(const Descriptor& d, const PeerChannel& channel) {
  const bool indexed = d.action == RemoteAction::kAddStrong || d.action == RemoteAction::kAddWeak;
  return (d.op == Op::kPut || d.op == Op::kPutValue) && indexed && d.bytes != 0 &&
         d.bytes <= kSmallPutBytes && channel.signal_mode() == SignalMode::kRecord;
}

}  // namespace

WireRecord ContextQueue::record_to(std::uint32_t peer, RecordKind kind) const {
  WireRecord record;
  record.kind = kind;
  record.source_rank = static_cast<std::uint16_t>(view().rank);
  record.context = static_cast<std::uint16_t>(spec_.context);
  record.dev_comm = routes_[peer].remote_handle;
  return record;
}

WireRecord ContextQueue::signal_record(const Descriptor& d) const {
  const bool va = gin::queues::is_va(d.action);
  WireRecord record = record_to(d.peer, va ? RecordKind::kVaSignal : RecordKind::kSignal);
  record.signal = va ? d.va_window : d.signal;
  record.addend = d.addend;
  return record;
}

// Room for one request more, and for its sequence number.
bool ContextQueue::has_room(std::uint32_t peer) const {
  const PeerChannel& channel = *routes_[peer].channel;
  return channel.has_room(1) &&
         (channel.signal_mode() != SignalMode::kSequence || peers_[peer].flow.has_room(1));
}

void ContextQueue::stage_peer(ProxyEnv& env, std::uint32_t p) {
  Peer& peer = peers_[p];
  while (peer.unstaged != OpSlots::kNone) {
    const std::uint32_t index = peer.unstaged;
    OpSlot& slot = slots_[index];
    if (slot.staged) {  // given up behind a fence that was kept
      peer.unstaged = slot.next_of_peer;
      continue;
    }
    if (!stage(env, index, slot)) {
      env.counters.backpressure.add(1);
      if (!peer.blocked) {
        peer.blocked = true;
        blocked_.push_back(p);
      }
      return;
    }
    slot.staged = true;
    peer.unstaged = slot.next_of_peer;
    if (slot.pending == 0) finish(env, index);  // nothing to send
  }
}

bool ContextQueue::stage(ProxyEnv& env, std::uint32_t index, OpSlot& slot) {
  switch (slot.d.op) {
    case Op::kQuiet:
      return stage_fence(env, index, slot);
    case Op::kGet:
      return stage_get(env, index, slot);
    case Op::kFetchAdd:
    case Op::kCompareSwap:
      return stage_atomic(env, index, slot);
    case Op::kResetVa:
      return stage_reset(env, index, slot);
    default:
      break;
  }
  if (travels_in_record(slot.d, *routes_[slot.d.peer].channel)) {
    return stage_small_put(env, index, slot);
  }
  return stage_data(env, index, slot) && stage_signal(env, index, slot);
}

// One message in place of two.
bool ContextQueue::stage_small_put(ProxyEnv& env, std::uint32_t index, OpSlot& slot) {
  const Descriptor& d = slot.d;
  PeerChannel& channel = *routes_[d.peer].channel;
  if (!channel.has_room(1) || byte_budget_ == 0) return false;
  const WindowView* src = d.op == Op::kPut ? view().windows[d.src_window] : nullptr;
  if (view().windows[d.dst_window] == nullptr || (d.op == Op::kPut && src == nullptr)) {
    slot.failed = true;
    return true;
  }
  WireRecord record = signal_record(d);
  record.kind = RecordKind::kPut;
  record.bytes = static_cast<std::uint8_t>(d.bytes);
  record.pieces = static_cast<std::uint16_t>(d.dst_window);
  record.sequence = d.dst_offset;
  const void* data = d.op == Op::kPut ? static_cast<const void*>(src->base + d.src_offset)
                                      : static_cast<const void*>(&d.value);
  channel.stage_small_put(record, data, request_id(index, sizeof record + d.bytes));
  env.mark(channel);
  slot.moved = d.bytes;
  ++slot.pending;
  byte_budget_ -= std::min(byte_budget_, d.bytes);
  env.counters.bytes_out.add(d.bytes);
  if (channel.local()) env.counters.bytes_local.add(d.bytes);
  peers_[d.peer].dirty = true;
  return true;
}

bool ContextQueue::stage_data(ProxyEnv& env, std::uint32_t index, OpSlot& slot) {
  if (slot.d.op == Op::kSignal) return true;
  const Descriptor& d = slot.d;
  ContextRoute& route = routes_[d.peer];
  PeerChannel& channel = *route.channel;
  const bool sequenced = channel.signal_mode() == SignalMode::kSequence;
  FlowSender& flow = peers_[d.peer].flow;
  // A window may have been withdrawn while the operation waited for room.
  const WindowView* dst = view().windows[d.dst_window];
  const WindowView* src = d.op == Op::kPut ? view().windows[d.src_window] : nullptr;
  if (dst == nullptr || (d.op == Op::kPut && src == nullptr)) {
    if (slot.moved < d.bytes) slot.failed = true;
    return true;
  }
  while (slot.moved < d.bytes) {
    if (!has_room(d.peer) || byte_budget_ == 0) return false;
    WorkRequest request;
    request.bytes = std::min(d.bytes - slot.moved, env.options.piece_bytes);
    request.op = sequenced ? WorkOp::kWriteImmediate : WorkOp::kWrite;
    request.remote_address = dst->part[d.peer].address + d.dst_offset + slot.moved;
    request.remote_key = dst->part[d.peer].key;
    request.id = request_id(index, request.bytes);
    if (sequenced) request.immediate = make_immediate(route.remote_flow, flow.next++);
    if (d.op == Op::kPutValue) {
      channel.stage_inline(request, &d.value, static_cast<std::uint32_t>(d.bytes));
    } else {
      request.local = src->base + d.src_offset + slot.moved;
      request.local_region = channel.local() ? src->loopback : src->fabric;
      channel.stage_write(request);
    }
    env.mark(channel);
    slot.moved += request.bytes;
    ++slot.pending;
    ++slot.pieces;
    byte_budget_ -= std::min(byte_budget_, request.bytes);
    env.counters.bytes_out.add(request.bytes);
    if (channel.local()) env.counters.bytes_local.add(request.bytes);
    peers_[d.peer].dirty = true;
  }
  return true;
}

bool ContextQueue::stage_get(ProxyEnv& env, std::uint32_t index, OpSlot& slot) {
  const Descriptor& d = slot.d;
  PeerChannel& channel = *routes_[d.peer].channel;
  const WindowView* remote = view().windows[d.dst_window];
  const WindowView* local = view().windows[d.src_window];
  if (remote == nullptr || local == nullptr) {
    if (slot.moved < d.bytes) slot.failed = true;
    return true;
  }
  while (slot.moved < d.bytes) {
    if (!channel.has_room(1) || byte_budget_ == 0) return false;
    WorkRequest request;
    request.op = WorkOp::kRead;
    request.bytes = std::min(d.bytes - slot.moved, env.options.piece_bytes);
    request.remote_address = remote->part[d.peer].address + d.dst_offset + slot.moved;
    request.remote_key = remote->part[d.peer].key;
    request.local = local->base + d.src_offset + slot.moved;
    request.local_region = channel.local() ? local->loopback : local->fabric;
    request.id = request_id(index, request.bytes);
    channel.stage_write(request);
    env.mark(channel);
    slot.moved += request.bytes;
    ++slot.pending;
    byte_budget_ -= std::min(byte_budget_, request.bytes);
    env.counters.bytes_in.add(request.bytes);
  }
  return true;
}

bool ContextQueue::stage_signal(ProxyEnv& env, std::uint32_t index, OpSlot& slot) {
  const Descriptor& d = slot.d;
  if (d.action == RemoteAction::kNone || slot.failed) return true;
  ContextRoute& route = routes_[d.peer];
  PeerChannel& channel = *route.channel;
  FlowSender& flow = peers_[d.peer].flow;
  const bool sequenced = channel.signal_mode() == SignalMode::kSequence;
  const bool va = gin::queues::is_va(d.action);
  if (!has_room(d.peer)) return false;
  if (va && view().windows[d.va_window] == nullptr) {  // withdrawn while it waited
    slot.failed = true;
    return true;
  }
  if (channel.signal_mode() == SignalMode::kAtomic) {
    WorkRequest request;
    request.op = WorkOp::kFetchAdd;
    request.bytes = sizeof(std::uint64_t);
    if (va) {
      const WindowPart& part = view().windows[d.va_window]->part[d.peer];
      request.remote_address = part.address + d.va_offset;
      request.remote_key = part.key;
    } else {
      request.remote_address = route.signal_address + d.signal * sizeof(std::uint64_t);
      request.remote_key = route.signal_key;
    }
    request.operand = d.addend;
    request.id = request_id(index, request.bytes);
    channel.stage_write(request);
  } else {
    WireRecord record = signal_record(d);
    if (sequenced) {
      record.sequence = flow.next++;
      // A weak signal names its own put's writes; too many to name makes it a strong one.
      const bool weak = !gin::queues::is_strong(d.action) && slot.pieces <= kSequenceWindow / 2;
      record.pieces = !weak              ? std::uint16_t{0}
                      : slot.pieces == 0 ? kNothing
                                         : static_cast<std::uint16_t>(slot.pieces);
    }
    if (va) {
      channel.stage_word(record, WireWord{.offset = d.va_offset},
                         request_id(index, sizeof record + sizeof(WireWord)));
    } else {
      channel.stage_record(record, request_id(index, sizeof record));
    }
  }
  env.mark(channel);
  ++slot.pending;
  peers_[d.peer].dirty = true;
  return true;
}

bool ContextQueue::stage_fence(ProxyEnv& env, std::uint32_t index, OpSlot& slot) {
  const std::uint32_t peer = slot.d.peer;
  PeerChannel& channel = *routes_[peer].channel;
  if (!has_room(peer)) return false;
  WireRecord record = record_to(peer, RecordKind::kFence);
  record.addend = slot.order;
  if (channel.signal_mode() == SignalMode::kSequence) record.sequence = peers_[peer].flow.next++;
  channel.stage_record(record, request_id(index, sizeof record));
  env.mark(channel);
  slot.pending = 2;  // the request's completion and the peer's answer
  slot.awaiting = true;
  return true;
}

bool ContextQueue::fence(ProxyEnv& env, std::uint32_t peer) {
  if (!active_ || !peers_[peer].dirty || view().peers[peer].unreachable) return true;
  if (slots_.full()) return false;
  peers_[peer].dirty = false;
  Descriptor d;
  d.op = Op::kQuiet;
  d.peer = peer;
  byte_budget_ = env.options.burst_bytes;
  add_op(env, d, true);
  return true;
}

void ContextQueue::check_deadlines(ProxyEnv& env) {
  if (!active_) return;
  const std::uint64_t limit = env.options.operation_timeout_ns;
  for (std::uint64_t o = slots_.retired(); o != slots_.tail(); ++o) {
    OpSlot& slot = slots_.at_order(o);
    if (env.now_ns - slot.seen_ns < limit) break;  // younger ones follow
    const std::uint32_t peer = slot.d.peer;
    if (slot.finished || view().peers[peer].unreachable) continue;
    env.counters.failed[static_cast<std::size_t>(FailReason::kTimeout)].add(1);
    env.failures.push_back(
        {&view(), peer, ginTimeout,
         fmt::format("{} of {} bytes to rank {} has not completed within {} s (timeouts.operation)",
                     op_name(slot.d.op), slot.d.bytes, peer, static_cast<double>(limit) / 1e9)});
  }
  if (closing_ || in_error_) return;
  if (consumer_.position() != stuck_at_ || stuck_since_ns_ == 0) {
    stuck_at_ = consumer_.position();
    stuck_since_ns_ = env.now_ns;
    return;
  }
  if (env.now_ns - stuck_since_ns_ < env.options.hole_timeout_ns) return;
  if (slots_.outstanding() >= spec_.outstanding || !blocked_.empty() || !consumer_.has_hole()) {
    stuck_since_ns_ = env.now_ns;
    return;
  }
  fault(env, ginContextError, gin::queues::Field::kHole, consumer_.position(), RejectReason::kHole,
        fmt::format("ring position {} was reserved and never written within {} s "
                    "(timeouts.hole): its poster was killed or gave up waiting",
                    consumer_.position(), static_cast<double>(env.options.hole_timeout_ns) / 1e9));
}

}  // namespace gind
