// SPDX-License-Identifier: Apache-2.0
// One context of one local rank: its ring, its operations, its completion words, and, as a target,
// its signals.  Owned and called by one proxy thread.
#pragma once

#include "daemon/proxy/descriptor_check.h"
#include "daemon/proxy/op_slots.h"
#include "daemon/proxy/proxy_env.h"
#include "daemon/proxy/record.h"
#include "daemon/proxy/sequence_flow.h"
#include "gin/queues/consumer.h"
#include "gin/queues/segment.h"
#include "gin/queues/wait.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gind {

struct ContextSpec {
  RankView* view = nullptr;
  gin::queues::SegmentView segment;
  gin::queues::SegmentShape shape;
  std::uint32_t context = 0;
  std::uint32_t dev_comm = 0;        // the client's id, for reports
  std::uint32_t handle = 0;          // gind's, in peers' records
  std::uint32_t outstanding = 1024;  // operations copied out and not complete, at most
  std::uint64_t ring_start = 0;
  std::uint64_t sequence_start = 0;  // of our own flows
};

// The way from this context to the same context of a peer.
struct ContextRoute {
  PeerChannel* channel = nullptr;
  std::uint32_t remote_handle = 0;
  std::uint32_t remote_flow = 0;      // the flow id it gave us (signal mode "sequence")
  std::uint64_t remote_sequence = 0;  // where its own flow towards us starts
  std::uint64_t signal_address = 0;   // signal mode "atomic"
  std::uint64_t signal_key = 0;
};

class ContextQueue {
 public:
  ContextQueue(const ContextSpec& spec, std::uint32_t queue_index);

  // Publishes the start positions and begins to serve the ring.
  void activate(std::vector<ContextRoute> routes);

  // One turn: takes records, stages requests.  Returns how many things it did.
  std::size_t service(ProxyEnv& env);
  // A cheap look whether service() would find a record.
  bool pending() const { return active_ && !closing_ && consumer_.pending(); }
  bool has_unstaged() const { return !blocked_.empty(); }

  // Answers and acknowledgements that found no room.
  bool has_replies() const { return !unanswered_.empty(); }
  void send_replies(ProxyEnv& env);

  // A request of ours ended.
  void completed(ProxyEnv& env, std::uint32_t slot, std::uint32_t bytes, bool failed,
                 ginResult_t code, std::string_view error);

  // A peer's record or immediate for this context.  False: it makes no sense (counted above).
  // `data`: what stands behind the record.
  bool received(ProxyEnv& env, const WireRecord& record, std::span<const std::byte> data,
                bool sequenced);
  bool immediate(ProxyEnv& env, std::uint32_t source, std::uint16_t low_bits);

  // Operations to `peer` fail from now on.  While its gind is reachable what was staged still goes
  // out, with a fence behind it, so that nothing of ours is under way when that gind unmaps the
  // peer's memory; else what was not handed over ends at once and no answer is waited for.
  void peer_gone(ProxyEnv& env, std::uint32_t peer, ginResult_t code, bool reachable);
  // Starts a fence towards `peer` if it was written to since the last one; it is an operation like
  // any other and retires when the peer's gind has answered.  False: no room, try again.
  bool fence(ProxyEnv& env, std::uint32_t peer);
  // No more records are taken; drained() tells when everything has ended, all peers' answers
  // included.  `forced`: without waiting for those.
  void close(ProxyEnv& env, bool forced);
  bool drained() const { return slots_.empty(); }
  // True when every operation numbered below `order` is retired.
  bool retired(std::uint64_t order) const { return slots_.retired() >= order; }
  std::uint64_t order() const { return slots_.tail(); }

  // The slow timer: deadlines of operations, holes.
  void check_deadlines(ProxyEnv& env);

  RankView& view() const { return *spec_.view; }
  const ContextSpec& spec() const { return spec_; }
  const std::vector<ContextRoute>& routes() const { return routes_; }
  std::uint64_t last_active_ns = 0;

 private:
  struct Peer {
    std::uint32_t oldest = OpSlots::kNone;  // operations to it, in order
    std::uint32_t newest = OpSlots::kNone;
    std::uint32_t unstaged = OpSlots::kNone;  // the first that is not staged whole
    bool latched = false;                     // done[peer] carries an error
    bool dirty = false;                       // written to since the last fence
    bool blocked = false;                     // is in blocked_
    FlowSender flow;
    std::unique_ptr<FlowReceiver> receiver;
  };

  void accept(ProxyEnv& env, const gin::queues::Unit* units, std::uint32_t n);
  void fault(ProxyEnv& env, ginResult_t code, gin::queues::Field field, std::uint64_t value,
             RejectReason reason, const std::string& text);
  std::uint32_t add_op(ProxyEnv& env, const gin::queues::Descriptor& d, bool internal);
  void stage_peer(ProxyEnv& env, std::uint32_t peer);
  bool stage(ProxyEnv& env, std::uint32_t index, OpSlot& slot);
  bool stage_small_put(ProxyEnv& env, std::uint32_t index, OpSlot& slot);
  bool stage_data(ProxyEnv& env, std::uint32_t index, OpSlot& slot);
  bool stage_get(ProxyEnv& env, std::uint32_t index, OpSlot& slot);
  bool stage_atomic(ProxyEnv& env, std::uint32_t index, OpSlot& slot);
  bool stage_reset(ProxyEnv& env, std::uint32_t index, OpSlot& slot);
  WireRecord record_to(std::uint32_t peer, RecordKind kind) const;
  WireRecord signal_record(const gin::queues::Descriptor& d) const;
  bool has_room(std::uint32_t peer) const;
  bool stage_signal(ProxyEnv& env, std::uint32_t index, OpSlot& slot);
  bool stage_fence(ProxyEnv& env, std::uint32_t index, OpSlot& slot);
  void finish(ProxyEnv& env, std::uint32_t index);
  void latch(std::uint32_t peer, ginResult_t code);
  void abandon_unstaged(ProxyEnv& env, std::uint32_t peer, FailReason reason, bool keep_fence);
  void act(ProxyEnv& env, const WireMessage& message);
  void act_on_word(ProxyEnv& env, const WireMessage& message);
  bool answered(ProxyEnv& env, const WireRecord& record);
  bool store_old_value(const gin::queues::Descriptor& d, const WireRecord& reply);
  void reply(ProxyEnv& env, std::uint32_t peer, const WireRecord& record);
  FlowReceiver& receiver(std::uint32_t peer);
  void acknowledge(ProxyEnv& env, std::uint32_t peer, FlowReceiver& flow);
  void publish_consumed();
  std::uint64_t request_id(std::uint32_t slot, std::uint64_t bytes) const {
    return static_cast<std::uint64_t>(queue_index_) << 48 | static_cast<std::uint64_t>(slot) << 32 |
           bytes;
  }

  ContextSpec spec_;
  std::uint32_t queue_index_;
  ContextLimits limits_;
  gin::queues::RingConsumer consumer_;
  gin::queues::ContextControl* control_;
  std::uint64_t* done_words_;
  std::uint64_t* signal_words_;
  std::uint64_t* counter_words_;
  std::vector<std::uint64_t> signals_;  // the truth; the words are only published
  std::vector<std::uint64_t> counters_;
  std::vector<ContextRoute> routes_;
  std::vector<Peer> peers_;
  std::vector<std::uint32_t> blocked_;   // peers with unstaged operations
  std::vector<std::uint32_t> retrying_;  // blocked_ of this turn
  OpSlots slots_;
  std::deque<std::pair<std::uint32_t, WireRecord>> unanswered_;
  std::uint64_t published_ = 0;
  std::uint64_t byte_budget_ = 0;
  std::uint64_t stuck_since_ns_ = 0;
  std::uint64_t stuck_at_ = 0;
  bool active_ = false;
  bool in_error_ = false;
  bool frozen_ = false;  // an operation failed: done_all stays, flush asks the peers one by one
  bool closing_ = false;
};

}  // namespace gind
