// SPDX-License-Identifier: Apache-2.0
// gind to gind: rendezvous by unique id, membership, and all-gathers between the ginds of one
// communicator.  The gind that made the unique id coordinates (a star).  Everything here runs on
// the control thread; callbacks are never called from inside the call that takes them.
#pragma once

#include "gind/common/result.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gind {

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

// One gind's part in one communicator, shared by the ranks that live on it.
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
  virtual void allgather(int rank, CollectiveKind kind, std::string payload,
                         std::function<void(Result<Gathered>)> done) = 0;

  // A local rank has left (code ginSuccess) or died.  All other ginds hear of it, stop sending to
  // it, and answer with announce_quiet.
  virtual void announce_gone(int rank, ginResult_t code, const std::string& reason) = 0;
  // This gind has no operation outstanding towards `gone_rank` any more and will start none.
  virtual void announce_quiet(int gone_rank) = 0;

  // Set once, by the owner, before it returns to the event loop.
  struct Observer {
    // A rank of another gind left or died (its gind died, too: then for each of its ranks).
    std::function<void(int rank, ginResult_t code, const std::string& reason)> rank_gone;
    // Every other gind is quiet towards our rank `rank` (or is gone itself).
    std::function<void(int rank)> released;
  };
  virtual void observe(Observer observer) = 0;
};

}  // namespace gind
