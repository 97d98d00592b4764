// SPDX-License-Identifier: Apache-2.0
// Taking records, completion, and teardown.  Staging is in context_staging.cc, the target's side in
// context_target.cc.
#include "daemon/proxy/context_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gind {

using gin::queues::Descriptor;
using gin::queues::Field;
using gin::queues::kDoneError;
using gin::queues::Op;
using gin::queues::store_release_sys;

// The largest list of operations (limits.outstanding and one fence a peer) fits a request id.
static_assert((1u << 15) + gin::queues::kMaxRanks <= 1u << 16);
using gin::queues::Unit;

// Of one ring and turn; what is copied and not taken is copied again.
constexpr std::uint32_t kCopiedUnits = 128;

ContextQueue::ContextQueue(const ContextSpec& spec, std::uint32_t queue_index)
    : spec_(spec),
      queue_index_(queue_index),
      limits_{spec.shape.signals, spec.shape.counters},
      consumer_(spec.segment.ring(spec.context),
                static_cast<std::uint32_t>(std::countr_zero(spec.shape.ring_units)),
                spec.ring_start),
      control_(spec.segment.control(spec.context)),
      done_words_(spec.segment.done(spec.context)),
      signal_words_(spec.segment.signals(spec.context)),
      counter_words_(spec.segment.counters(spec.context)),
      signals_(spec.shape.signals),
      counters_(spec.shape.counters),
      peers_(spec.shape.ranks),
      slots_(std::bit_ceil(spec.outstanding + spec.shape.ranks)),
      published_(spec.ring_start) {
  store_release_sys(&control_->consumed, spec.ring_start);
  store_release_sys(&control_->done_all, spec.ring_start);
}

void ContextQueue::activate(std::vector<ContextRoute> routes) {
  routes_ = std::move(routes);
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    peers_[p].flow = FlowSender{spec_.sequence_start, spec_.sequence_start};
    if (spec_.view->peers[p].gone) latch(p, spec_.view->peers[p].code);
  }
  active_ = true;
}

void ContextQueue::publish_consumed() {
  // Pairs with the poster's acquire in has_credit: the copies above happen before the overwrite.
  published_ = consumer_.position();
  store_release_sys(&control_->consumed, published_);
}

std::size_t ContextQueue::service(ProxyEnv& env) {
  if (!active_) return 0;
  byte_budget_ = env.options.burst_bytes;
  std::size_t work = 0;
  if (!blocked_.empty()) {
    retrying_.swap(blocked_);
    for (const std::uint32_t peer : retrying_) {
      peers_[peer].blocked = false;
      const std::uint32_t before = peers_[peer].unstaged;
      const std::uint64_t budget = byte_budget_;
      stage_peer(env, peer);
      work += before != peers_[peer].unstaged || budget != byte_budget_;
    }
    retrying_.clear();
  }
  if (closing_) return work;
  if (slots_.outstanding() < spec_.outstanding && byte_budget_ != 0) {
    Unit copies[kCopiedUnits];  // what is checked below is this, not the ring
    const std::uint32_t most =
        std::min<std::uint32_t>(env.options.burst, spec_.outstanding - slots_.outstanding());
    work += consumer_.drain(copies, kCopiedUnits, most, [&](const Unit* units, std::uint32_t n) {
      accept(env, units, n);
      if (consumer_.position() - published_ >= consumer_.depth() / 4) publish_consumed();
      return byte_budget_ != 0;
    });
  }
  if (consumer_.position() != published_) publish_consumed();
  if (work != 0) last_active_ns = env.now_ns;
  return work;
}

void ContextQueue::accept(ProxyEnv& env, const Unit* units, std::uint32_t n) {
  if (in_error_) {
    env.counters.rejected[static_cast<std::size_t>(RejectReason::kContextInError)].add(1);
    return;
  }
  Descriptor d;
  const Field malformed = gin::queues::decode(units, n, &d);
  Rejection rejection;
  if (malformed != Field::kNone) {
    rejection = {malformed, RejectReason::kMalformed, units[0].lo & gin::queues::kPayloadMask};
  } else {
    rejection = check_descriptor(d, view(), limits_);
  }
  if (rejection) {
    const bool unsupported = rejection.reason == RejectReason::kNotSupported;
    fault(env, unsupported ? ginNotSupported : ginInvalidArgument, rejection.field, rejection.value,
          rejection.reason, describe(rejection, d, view(), limits_));
    return;
  }
  env.counters.descriptors[static_cast<std::size_t>(d.op)].add(1);
  add_op(env, d, false);
}

std::uint32_t ContextQueue::add_op(ProxyEnv& env, const Descriptor& d, bool internal) {
  const std::uint32_t index = slots_.push();
  OpSlot& slot = slots_[index];
  slot.d = d;
  slot.end = consumer_.position();
  slot.seen_ns = env.now_ns;
  slot.internal = internal;
  Peer& peer = peers_[d.peer];
  if (peer.newest == OpSlots::kNone) {
    peer.oldest = index;
  } else {
    slots_[peer.newest].next_of_peer = index;
  }
  peer.newest = index;
  ++view().peers[d.peer].outstanding;
  env.counters.outstanding.add(1);
  if (view().peers[d.peer].gone && !internal) {
    slot.failed = true;
    slot.staged = true;
    env.counters.failed[static_cast<std::size_t>(FailReason::kPeerGone)].add(1);
    finish(env, index);
    return index;
  }
  if (peer.unstaged == OpSlots::kNone) {
    peer.unstaged = index;
    stage_peer(env, d.peer);
  }
  return index;
}

void ContextQueue::completed(ProxyEnv& env, std::uint32_t index, std::uint32_t bytes, bool failed,
                             ginResult_t code, std::string_view error) {
  OpSlot& slot = slots_[index];
  const std::uint32_t peer = slot.d.peer;
  if (bytes != 0) routes_[peer].channel->completed(bytes);
  --slot.pending;
  if (failed) {
    if (!slot.failed) {
      slot.failed = true;
      env.counters.failed[static_cast<std::size_t>(FailReason::kTransport)].add(1);
      if (!view().peers[peer].gone) {
        env.failures.push_back(
            {&view(), peer, code,
             fmt::format("{} to rank {} failed: {}", op_name(slot.d.op), peer, error)});
      }
    }
    if (!slot.staged) abandon_unstaged(env, peer, FailReason::kPeerGone, true);
  }
  if (slot.pending == 0 && slot.staged && !slot.finished) finish(env, index);
}

void ContextQueue::finish(ProxyEnv& env, std::uint32_t index) {
  OpSlot& slot = slots_[index];
  slot.finished = true;
  const std::uint32_t p = slot.d.peer;
  Peer& peer = peers_[p];
  --view().peers[p].outstanding;
  env.counters.outstanding.set(env.counters.outstanding.get() - 1);
  // A flush that looks at done_all only must not take a failure for a completion.
  if (slot.failed && !slot.internal) frozen_ = true;
  if (!slot.failed) {
    if (slot.d.has_counter) {
      const std::uint64_t value = ++counters_[slot.d.counter];
      store_release_sys(&counter_words_[slot.d.counter], value);
    }
    if (!slot.internal) {
      env.counters.duration[static_cast<std::size_t>(slot.d.op)].observe(env.now_ns - slot.seen_ns);
    }
  } else if (!peer.latched) {
    const PeerState& state = view().peers[p];
    latch(p, state.gone ? state.code : ginRemoteError);
  }
  bool moved = false;
  std::uint64_t done = 0;
  while (peer.oldest != OpSlots::kNone && slots_[peer.oldest].finished) {
    done = slots_[peer.oldest].end;
    peer.oldest = slots_[peer.oldest].next_of_peer;
    moved = true;
  }
  if (peer.oldest == OpSlots::kNone) peer.newest = OpSlots::kNone;
  if (moved && !peer.latched) store_release_sys(&done_words_[p], done);
  moved = false;
  // Retired slots are reused, so the per-peer lists above must have let go of them: they have, as
  // a finished slot is off its list unless an earlier one of the same peer is unfinished.
  while (!slots_.empty() && slots_.oldest().finished) {
    done = slots_.oldest().end;
    slots_.retire();
    moved = true;
  }
  if (moved && !frozen_) store_release_sys(&control_->done_all, done);
}

void ContextQueue::latch(std::uint32_t peer, ginResult_t code) {
  if (peers_[peer].latched) return;
  peers_[peer].latched = true;
  store_release_sys(&done_words_[peer], kDoneError | static_cast<std::uint64_t>(code));
}

void ContextQueue::fault(ProxyEnv& env, ginResult_t code, Field field, std::uint64_t value,
                         RejectReason reason, const std::string& text) {
  env.counters.rejected[static_cast<std::size_t>(reason)].add(1);
  if (in_error_) return;
  in_error_ = true;
  store_release_sys(&control_->error,
                    gin::queues::make_error_word(code, static_cast<std::uint8_t>(field), value));
  env.events->context_fault(view().id, spec_.dev_comm, spec_.context, code, text);
}

void ContextQueue::peer_gone(ProxyEnv& env, std::uint32_t peer, ginResult_t code, bool reachable) {
  latch(peer, code);
  if (!active_) return;
  abandon_unstaged(env, peer, closing_ ? FailReason::kTeardown : FailReason::kPeerGone, reachable);
  if (reachable) {
    fence(env, peer);
    return;
  }
  std::vector<std::uint32_t> dropped;
  routes_[peer].channel->purge([&](std::uint64_t id) {
    if (id >> 48 != queue_index_) return false;
    const auto index = static_cast<std::uint32_t>(id >> 32 & 0xffff);
    if (slots_[index].d.peer != peer) return false;
    dropped.push_back(index);
    return true;
  });
  for (const std::uint32_t index : dropped) {
    slots_[index].failed = true;  // the failure of the peer is known already
    completed(env, index, 0, true, code, {});
  }
  // No answer will come to those that wait for one.
  const std::uint64_t tail = slots_.tail();
  for (std::uint64_t o = slots_.retired(); o != tail; ++o) {
    OpSlot& slot = slots_.at_order(o);
    if (slot.d.peer != peer || !slot.awaiting) continue;
    slot.awaiting = false;
    slot.failed = true;
    if (--slot.pending == 0) finish(env, slots_.index_of(o));
  }
}

void ContextQueue::abandon_unstaged(ProxyEnv& env, std::uint32_t peer, FailReason reason,
                                    bool keep_fence) {
  std::uint32_t index = peers_[peer].unstaged;
  peers_[peer].unstaged = OpSlots::kNone;
  while (index != OpSlots::kNone) {
    OpSlot& slot = slots_[index];
    const std::uint32_t next = slot.next_of_peer;
    // A fence that waits for room must go out all the same: without its answer the peer's gind
    // would unmap memory that writes of ours are still under way to, and the connection would end.
    if (keep_fence && slot.d.op == Op::kQuiet && !slot.staged) {
      if (peers_[peer].unstaged == OpSlots::kNone) peers_[peer].unstaged = index;
      index = next;
      continue;
    }
    if (slot.staged) {
      index = next;
      continue;
    }
    slot.staged = true;
    if (!slot.failed) {
      slot.failed = true;
      env.counters.failed[static_cast<std::size_t>(reason)].add(1);
    }
    if (slot.pending == 0 && !slot.finished) finish(env, index);
    index = next;
  }
}

void ContextQueue::close(ProxyEnv& env, bool forced) {
  closing_ = true;
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    const bool reachable = !forced && !view().peers[p].unreachable;
    peer_gone(env, p, ginAborted, reachable);
  }
}

}  // namespace gind
