// SPDX-License-Identifier: Apache-2.0
// One rank of a communicator on this gind: its windows, its device communicators, its end.  On the
// control thread; the hot path's share of it lives in RankViews on the proxy threads.
#pragma once

#include "daemon/control/client_memory.h"
#include "daemon/control/local_communicator.h"
#include "daemon/control/node.h"
#include "daemon/control/payloads.h"
#include "gin/queues/segment.h"

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gind {

// What the client is told unasked.
struct RankEvent {
  ginResult_t code = ginInternalError;
  std::int32_t peer = -1;
  std::uint32_t dev_comm = 0;
  std::int32_t context = -1;
  std::string text;
};

class LocalRank : public std::enable_shared_from_this<LocalRank> {
 public:
  using Done = std::function<void(Result<void>)>;
  using DoneIndex = std::function<void(Result<std::uint32_t>)>;

  // `ready` runs once the proxy threads know the rank.
  static std::shared_ptr<LocalRank> create(std::shared_ptr<LocalCommunicator> communicator,
                                           std::uint32_t rank,
                                           std::function<void(const RankEvent&)> on_event,
                                           std::function<void()> ready);
  ~LocalRank();

  std::uint32_t rank() const { return rank_; }
  std::uint32_t nranks() const {
    return static_cast<std::uint32_t>(communicator_->membership().nranks());
  }
  const LocalCommunicator& communicator() const { return *communicator_; }

  // Collective calls; one at a time (the session sees to that).
  void register_window(Fd memfd, std::uint64_t offset, std::uint64_t bytes, std::uint32_t flags,
                       DoneIndex done);
  void deregister_window(std::uint32_t index, Done done);
  // For windows with peer access, between register_window and finish_window, which all ranks call:
  // another local rank's part, to be mapped.  ginInProgress: that rank is not so far.
  struct PeerMemory {
    Fd fd;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  Result<PeerMemory> peer_memory(std::uint32_t index, std::int32_t peer) const;
  void finish_window(std::uint32_t index, Done done);
  void create_dev_comm(const gin::queues::SegmentShape& shape, Fd memfd, DoneIndex done);
  void destroy_dev_comm(std::uint32_t id, Done done);
  void finalize(Done done);
  // The client has freed an allocation.
  bool forget_memory(std::uint64_t inode) { return memory_.forget(inode); }

  // The client has left (code ginSuccess) or died: in the order of the teardown rules, everything
  // of this rank is ended and freed; the object keeps itself alive until then.
  void leave(ginResult_t code, const std::string& reason);

  // The daemon stops with this rank unfinished: drops its registrations and mappings.  The proxy
  // threads have ended.
  void abandon();

  // Another rank is gone; `quiet` runs when nothing of ours is under way to it.
  void peer_gone(std::uint32_t peer, ginResult_t code, const std::string& reason, bool reachable,
                 std::function<void()> quiet);

  // From the proxy threads.
  void context_fault(std::uint32_t dev_comm, std::uint32_t context, ginResult_t code,
                     const std::string& text);
  void peer_fault(std::uint32_t peer, ginResult_t code, const std::string& text);

 private:
  struct Window {
    std::shared_ptr<ClientMemory::Memory> memory;
    std::unique_ptr<MemoryRegion> fabric;
    std::unique_ptr<MemoryRegion> loopback;
    WindowView view;
    std::uint32_t flags = 0;
    std::uint64_t offset = 0;  // in the memfd
    bool open = false;         // local peers may map it; not in use yet
  };
  struct DevComm {
    std::uint32_t id = 0;
    std::uint32_t handle = 0;
    std::uint32_t first_flow = 0;
    bool has_flows = false;
    std::uint32_t proxy_base = 0;
    Fd memfd;
    Mapping mapping;
    gin::queues::SegmentShape shape;
    gin::queues::SegmentView segment;
    std::unique_ptr<MemoryRegion> signals;  // signal mode "atomic"
    std::vector<ContextQueue*> contexts;    // touched by their proxy threads only
  };

  LocalRank(std::shared_ptr<LocalCommunicator> communicator, std::uint32_t rank,
            std::function<void(const RankEvent&)> on_event);
  Node& node() const { return communicator_->node(); }
  std::string name() const;  // "comm 1a2b3c4d rank 3"
  void tell(RankEvent event);

  Result<std::unique_ptr<Window>> make_window(Fd memfd, std::uint64_t offset, std::uint64_t bytes,
                                              std::uint32_t flags);
  void seal(Window& window);
  Result<void> fill_parts(Window& window, const Membership::Gathered& gathered);
  void install_window(std::uint32_t index, const WindowView* view, std::function<void()> done);
  void free_window(std::uint32_t index);
  std::uint32_t lowest_free_window() const;

  Result<std::shared_ptr<DevComm>> make_dev_comm(const gin::queues::SegmentShape& shape, Fd memfd);
  void add_contexts(std::shared_ptr<DevComm> dev_comm, Done done);
  void activate(std::shared_ptr<DevComm> dev_comm, const Membership::Gathered& gathered, Done done);
  Result<std::vector<ContextRoute>> routes_of(ProxyThread& proxy, const DevComm& dev_comm,
                                              std::uint32_t context,
                                              const std::vector<DevCommAnnounce>& all) const;
  void remove_contexts(std::shared_ptr<DevComm> dev_comm, std::function<void()> done);
  void free_dev_comm(DevComm& dev_comm);
  std::size_t owner_of(const DevComm& dev_comm, std::uint32_t context) const {
    return (dev_comm.proxy_base + context) % communicator_->node().proxies.size();
  }

  // done(true) once everything posted so far has landed at the peers (their answers to fences
  // prove it), done(false) when that takes longer than the operation deadline.
  void quiesce(std::function<void(bool)> done);
  double quiesce_seconds() const;

  void close_contexts(bool forced, std::function<void()> drained);
  void check_ended();
  void teardown_deadline(int stage);
  void release();

  std::shared_ptr<LocalCommunicator> communicator_;
  std::uint32_t rank_;
  std::uint64_t id_;
  std::function<void(const RankEvent&)> on_event_;
  std::vector<std::unique_ptr<RankView>> views_;  // one per proxy thread
  ClientMemory memory_;
  std::map<std::uint32_t, std::unique_ptr<Window>> windows_;
  std::map<std::uint32_t, std::shared_ptr<DevComm>> dev_comms_;
  std::uint32_t dev_comms_made_ = 0;
  boost::asio::steady_timer teardown_timer_;
  std::shared_ptr<LocalRank> self_;  // while leaving
  bool leaving_ = false;
  bool drained_ = false;  // our operations have ended
  bool quiet_ = false;    // nobody sends to us any more
  bool released_ = false;
};

}  // namespace gind
