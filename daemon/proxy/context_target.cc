// SPDX-License-Identifier: Apache-2.0
// The target's side: signals are applied, fences answered, sequence numbers counted.
#include "daemon/proxy/context_queue.h"

#include <cstring>
#include <string>

namespace gind {

using gin::queues::Op;

FlowReceiver& ContextQueue::receiver(std::uint32_t peer) {
  auto& flow = peers_[peer].receiver;
  if (!flow) flow = std::make_unique<FlowReceiver>(routes_[peer].remote_sequence);
  return *flow;
}

void ContextQueue::act(ProxyEnv& env, const WireMessage& message) {
  const WireRecord& record = message.record;
  if (is_word_operation(record.kind)) return act_on_word(env, message);
  if (record.kind != RecordKind::kFence) {
    // Release: pairs with the waiter's acquire, so that the data is visible with the signal.
    const std::uint64_t value = signals_[record.signal] += record.addend;
    gin::queues::store_release_sys(&signal_words_[record.signal], value);
    env.counters.signals_applied.add(1);
    return;
  }
  // A fence: everything before it has landed, since records keep their place behind the writes.
  WireRecord answer = record_to(record.source_rank, RecordKind::kFenceAck);
  answer.addend = record.addend;
  reply(env, record.source_rank, answer);
}

void ContextQueue::reply(ProxyEnv& env, std::uint32_t peer, const WireRecord& record) {
  PeerChannel& channel = *routes_[peer].channel;
  if (!unanswered_.empty() || !channel.has_room_for_ack()) {
    env.counters.backpressure.add(1);
    unanswered_.push_back({peer, record});
    return;
  }
  channel.stage_record(record, channel.ack_id(sizeof record));
  env.mark(channel);
}

bool ContextQueue::received(ProxyEnv& env, const WireRecord& record,
                            std::span<const std::byte> data, bool sequenced) {
  if (!active_ || record.source_rank >= peers_.size()) return false;
  WireMessage message{record, {}};
  if (is_word_operation(record.kind)) {
    if (data.size() != sizeof message.word) return false;
    std::memcpy(&message.word, data.data(), sizeof message.word);
  } else if (record.kind != RecordKind::kPut && !data.empty()) {
    return false;
  }
  Peer& peer = peers_[record.source_rank];
  switch (record.kind) {
    case RecordKind::kPut: {
      char* const to = small_put_target(view(), record, data.size());
      if (to == nullptr || record.signal >= limits_.signals || sequenced) return false;
      std::memcpy(to, data.data(), data.size());
      act(env, message);
      return true;
    }
    case RecordKind::kSignal:
      if (record.signal >= limits_.signals) return false;
      [[fallthrough]];
    case RecordKind::kVaSignal:
    case RecordKind::kFetchAdd:
    case RecordKind::kCompareSwap:
    case RecordKind::kFence: {
      if (!sequenced) {
        act(env, message);
        return true;
      }
      FlowReceiver& flow = receiver(record.source_rank);
      const bool fine = flow.arrived(message, [&](const WireMessage& m) { act(env, m); });
      acknowledge(env, record.source_rank, flow);
      return fine;
    }
    case RecordKind::kSequenceAck:
      return peer.flow.acknowledge(record.sequence);
    case RecordKind::kFenceAck:
    case RecordKind::kAtomicReply:
      return answered(env, record);
  }
  return false;
}

// An answer to a fence or an atomic of ours.
bool ContextQueue::answered(ProxyEnv& env, const WireRecord& record) {
  const bool fence = record.kind == RecordKind::kFenceAck;
  const std::uint64_t order = fence ? record.addend : record.sequence;
  if (order - slots_.retired() >= slots_.outstanding()) return false;
  OpSlot& slot = slots_.at_order(order);
  if (!slot.awaiting || slot.d.peer != record.source_rank || fence != (slot.d.op == Op::kQuiet)) {
    return false;
  }
  if (!fence && !store_old_value(slot.d, record)) {
    slot.failed = true;
    env.counters.failed[static_cast<std::size_t>(FailReason::kTransport)].add(1);
    env.events->peer_fault(view().id, slot.d.peer, ginRemoteError,
                           std::string(op_name(slot.d.op)) + " to rank " +
                               std::to_string(slot.d.peer) +
                               " was refused there, or its result has no place here any more: a "
                               "window was deregistered meanwhile");
  }
  slot.awaiting = false;
  if (--slot.pending == 0) finish(env, slots_.index_of(order));
  return true;
}

bool ContextQueue::immediate(ProxyEnv& env, std::uint32_t source, std::uint16_t low_bits) {
  if (!active_ || source >= peers_.size()) return false;
  FlowReceiver& flow = receiver(source);
  const bool fine = flow.arrived(low_bits, [&](const WireMessage& m) { act(env, m); });
  acknowledge(env, source, flow);
  return fine;
}

void ContextQueue::acknowledge(ProxyEnv& env, std::uint32_t peer, FlowReceiver& flow) {
  if (!flow.ack_due()) return;
  WireRecord record = record_to(peer, RecordKind::kSequenceAck);
  record.sequence = flow.below();
  flow.acked();
  reply(env, peer, record);
}

void ContextQueue::send_replies(ProxyEnv& env) {
  while (!unanswered_.empty()) {
    const auto& [peer, record] = unanswered_.front();
    PeerChannel& channel = *routes_[peer].channel;
    if (!channel.has_room_for_ack()) return;
    channel.stage_record(record, channel.ack_id(sizeof record));
    env.mark(channel);
    unanswered_.pop_front();
  }
}

}  // namespace gind
