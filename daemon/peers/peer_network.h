// SPDX-License-Identifier: Apache-2.0
// gind to gind: rendezvous by unique id, membership, and all-gathers between the ginds of one
// communicator.  The gind that made the unique id coordinates (a star).  Everything here runs on
// the control thread; callbacks are never called from inside the call that takes them.
#pragma once

#include "gind/common/result.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace gind {

struct ControlCounters;

// What one gind tells the others of itself when it joins.
struct NodeInfo {
  std::uint64_t instance = 0;  // random per gind process
  std::string name;            // for messages: config node.name
  std::string transport;       // "ofi", "loopback"
  std::string provider;        // "tcp;ofi_rxm"
  std::string signal_mode;
  // Fabric address of each proxy thread's endpoint; its size is the number of proxy threads.
  std::vector<std::vector<std::uint8_t>> endpoints;
};

inline constexpr std::size_t kMaxGatherPayload = 2048;  // bytes a rank brings to an all-gather

using UniqueIdBlob = std::array<std::uint8_t, 128>;

// What a collective is for; the coordinator refuses a round whose members differ, by name.
enum class CollectiveKind : std::uint16_t {
  kWindowRegister = 1,
  kWindowDeregister = 2,
  kDevCommCreate = 3,
  kDevCommDestroy = 4,
  kFinalize = 5,
};
const char* collective_name(CollectiveKind kind);  // "ginCommWindowRegister", ...

// One gind's part in one communicator, shared by the ranks that live on it.  Dropping the last
// reference announces its remaining ranks as gone and tells the others that this gind is quiet:
// drop it only when no operation is outstanding.  It may outlive its PeerNetwork, not the
// io_context.
class Membership {
 public:
  virtual ~Membership() = default;

  virtual int nranks() const = 0;
  virtual const std::vector<NodeInfo>& nodes() const = 0;
  virtual const std::vector<std::uint16_t>& node_of_rank() const = 0;
  virtual std::uint16_t this_node() const = 0;
  // For logs: the first 8 hex digits of the communicator's public id (never the secret).
  virtual const std::string& label() const = 0;

  using Gathered = std::vector<std::string>;  // one payload per rank, by rank
  // Local rank `rank` enters its next collective.  `done` gets every rank's payload, or an error
  // that names the rank or the mismatch: another kind, a rank that is gone, ranks that did not
  // come in time, a coordinator that is lost.
  // `payload` is at most kMaxGatherPayload bytes.
  virtual void allgather(int rank, CollectiveKind kind, std::string payload,
                         std::function<void(Result<Gathered>)> done) = 0;

  // A local rank has left (code ginSuccess) or died.  All other ginds hear of it, stop sending to
  // it, and answer with announce_quiet.  A rank that has left enters no further collective, and no
  // collective of the communicator succeeds any more.
  virtual void announce_gone(int rank, ginResult_t code, const std::string& reason) = 0;
  // This gind has no operation outstanding towards `gone_rank` any more and will start none.
  virtual void announce_quiet(int gone_rank) = 0;

  // Set once, by the owner, before it returns to the event loop.
  struct Observer {
    // A rank of another gind left (ginSuccess) or died; with ginDaemonLost its gind is lost, too,
    // and answers nothing any more.
    std::function<void(int rank, ginResult_t code, const std::string& reason)> rank_gone;
    // Every other gind is quiet towards our rank `rank` (or is gone itself).  Once the coordinator
    // is lost this is only known when there was no third gind: else it is never called, and the
    // owner's own teardown deadline ends the wait.
    std::function<void(int rank)> released;
  };
  virtual void observe(Observer observer) = 0;
};

enum class PeerLogLevel { kInfo, kWarning };

struct PeerOptions {
  std::string listen = "127.0.0.1";  // an IP address (peer.listen)
  std::uint16_t port = 9407;         // 0: any free one (peer.port)
  std::string advertise;             // what peers dial; empty: `listen`, or the default route's
  std::chrono::nanoseconds rendezvous = std::chrono::seconds(60);  // joins and all-gathers
  std::chrono::nanoseconds handshake = std::chrono::seconds(5);    // HELLO after connect
  std::chrono::nanoseconds connect = std::chrono::seconds(5);      // one dial attempt
  std::uint32_t connect_attempts = 3;
  std::chrono::nanoseconds connect_backoff = std::chrono::milliseconds(200);  // doubles
  std::chrono::nanoseconds idle = std::chrono::seconds(10);     // an unused link is closed after
  std::chrono::nanoseconds silence = std::chrono::seconds(10);  // a dead node is noticed within
  // A member waits this much longer than `rendezvous` for its coordinator's own verdict.
  std::chrono::nanoseconds grace = std::chrono::seconds(5);
  std::size_t max_links = 4096;             // accepted connections
  std::size_t max_rendezvous = 4096;        // unique ids that wait for ranks
  std::size_t max_pending_joins = 8192;     // local joins in progress
  std::size_t max_queued_bytes = 64 << 20;  // unsent bytes of one link before it is given up
  std::function<void(PeerLogLevel, const std::string&)> log;  // may be empty; text is printable
};

// This gind's end of all peer links.  Single-threaded: every call, and every callback, on the
// thread that runs the io_context.  The io_context outlives it and every Membership.
class PeerNetwork {
 public:
  // Listens.  Errors name the address and the config key.
  static Result<std::unique_ptr<PeerNetwork>> start(boost::asio::io_context& io,
                                                    PeerOptions options, NodeInfo self,
                                                    ControlCounters& counters);
  ~PeerNetwork();  // shutdown()
  PeerNetwork(const PeerNetwork&) = delete;
  PeerNetwork& operator=(const PeerNetwork&) = delete;

  std::uint16_t port() const;

  // A new single-use id that makes this gind the coordinator.  It expires `rendezvous` after its
  // creation; from the first rank's join the others have `rendezvous` to follow.
  Result<UniqueIdBlob> create_unique_id();

  using JoinDone = std::function<void(Result<std::shared_ptr<Membership>>)>;
  // Joins a local rank.  `identity` is the tenant this gind vouches for (1 to 255 bytes).  All
  // local ranks of one communicator get the same Membership.  `done` is called exactly once,
  // unless the io_context stops first.  There is no way to withdraw a join: when the client is gone
  // by then, drop the Membership or announce_gone.
  void join(const UniqueIdBlob& id, int nranks, int rank, const std::string& identity,
            JoinDone done);

  // Ends all links and the listener; pending calls end with ginAborted (posted).  Other ginds see
  // this gind as lost.  Idempotent.
  void shutdown();

  // What is held now; all zero when every communicator has gone and links have idled out.
  struct Counts {
    std::size_t accepted = 0;       // connections from other ginds
    std::size_t uplinks = 0;        // connections to coordinators (dialling ones, too)
    std::size_t rendezvous = 0;     // unique ids that wait
    std::size_t communicators = 0;  // coordinated here
    std::size_t rounds = 0;         // open or failed all-gathers of those
    std::size_t pending_joins = 0;
    std::size_t memberships = 0;  // routed to
  };
  Counts counts() const;

 private:
  class Impl;
  explicit PeerNetwork(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace gind
