// SPDX-License-Identifier: Apache-2.0
// A proxy thread: owns its endpoints and the contexts given to it, and polls both.  Shared with
// nothing: other threads send it commands (send) and read its counters.
#pragma once

#include "daemon/proxy/context_queue.h"
#include "daemon/proxy/mailbox.h"
#include "daemon/proxy/proxy_env.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gind {

class ProxyThread {
 public:
  // `fabric` may be null (a gind without one).  Both transports outlive the thread.
  static Result<std::unique_ptr<ProxyThread>> create(const ProxyOptions& options, Transport* fabric,
                                                     Transport& loopback, ProxyEvents& events);
  ~ProxyThread();

  void start();
  // Ends the loop after the commands sent so far; safe to call twice.
  void stop();

  // One turn of the loop at time `now_ns`, by the caller's thread instead of start(): simulations
  // decide who runs when.  Returns how many things it did.
  std::size_t step(std::uint64_t now_ns) {
    env_.now_ns = now_ns;
    return turn();
  }

  std::vector<std::uint8_t> fabric_address() const;
  const ProxyCounters& counters() const { return env_.counters; }

  // Any thread: runs `command` on the proxy thread.
  void send(std::function<void()> command) { mailbox_.send(std::move(command)); }

  // --- On the proxy thread only (from commands) ---

  void add_view(RankView* view) { views_.push_back(view); }
  void remove_view(const RankView* view);
  // Registers a context; peers' records can reach it once it is activated.  Error when the thread
  // has no place left.
  Result<ContextQueue*> add_context(const ContextSpec& spec);
  void remove_context(ContextQueue* queue);
  // The channel to a remote endpoint (address() of its gind's proxy), or to this thread's own
  // loopback endpoint when `address` is empty.  Made on first use, shared by contexts.
  Result<PeerChannel*> channel(const std::vector<std::uint8_t>& address);
  void release_channel(PeerChannel* channel);
  // Operations of `view` to `peer` fail from now on.
  void peer_gone(RankView& view, std::uint32_t peer, ginResult_t code, bool reachable);
  // Calls `done` (on this thread) once `ready` says so; asked every turn.
  void when(std::function<bool()> ready, std::function<void()> done);
  // The contexts of a view.
  std::vector<ContextQueue*> contexts_of(const RankView& view) const;
  // Flow ids of signal mode "sequence": [first, first + count) lead to `queue`, by source rank.
  void map_flows(std::uint32_t first, std::uint32_t count, ContextQueue* queue);
  void unmap_flows(std::uint32_t first, std::uint32_t count);
  ProxyEnv& env() { return env_; }

 private:
  ProxyThread(const ProxyOptions& options, Transport* fabric, Transport& loopback,
              ProxyEvents& events);
  void run();
  void pin();
  std::size_t turn();
  std::size_t poll(Endpoint& endpoint, bool sequenced);
  void on_completion(const Completion& completion, bool sequenced);
  void on_record(const Completion& completion, bool sequenced);
  void on_immediate(std::uint32_t immediate);
  std::size_t serve_contexts();
  std::size_t flush_channels();
  void handle_failures();
  void slow_timer();
  void account(std::size_t work, std::uint64_t before);
  bool ring_pending() const;
  void sleep();

  Transport* fabric_transport_;
  Transport& loopback_transport_;
  std::unique_ptr<Endpoint> fabric_;
  std::unique_ptr<Endpoint> loopback_;
  bool fabric_sequenced_ = false;
  ProxyEnv env_;
  Mailbox mailbox_;
  std::thread thread_;
  std::atomic<bool> stop_{false};

  struct Flow {
    ContextQueue* queue = nullptr;
    std::uint32_t source = 0;
  };
  struct Waiting {
    std::function<bool()> ready;
    std::function<void()> done;
  };
  std::vector<RankView*> views_;
  std::vector<std::unique_ptr<ContextQueue>> queues_;  // by queue index; null: free
  std::vector<ContextQueue*> hot_;                     // served every turn
  std::vector<ContextQueue*> cold_;                    // looked at a few a turn
  std::size_t cold_next_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ContextQueue*> by_handle_;
  std::map<std::vector<std::uint8_t>, std::unique_ptr<PeerChannel>> channels_;
  std::vector<PeerChannel*> channel_by_number_;
  std::vector<Flow> flows_;
  std::vector<Waiting> waiting_;
  std::uint64_t last_work_ns_ = 0;
  std::uint64_t next_slow_ns_ = 0;
};

}  // namespace gind
