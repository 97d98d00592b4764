// SPDX-License-Identifier: Apache-2.0
// Rendezvous of the unique ids made here, and the communicators that came of them.
#pragma once

#include "daemon/peers/communicator.h"
#include "daemon/peers/conduit.h"
#include "daemon/peers/unique_id.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace gind::peers {

class Coordinator {
 public:
  Coordinator(boost::asio::io_context& io, const PeerOptions& options);

  struct Created {
    std::uint64_t comm = 0;
    Secret secret{};
  };
  Result<Created> create();

  // A member's message.  An error is a breach of protocol: drop that link and call lost().
  Result<void> receive(const std::shared_ptr<Conduit>& from, Message&& message);
  // Returns how many ranks went with it.
  int lost(const Conduit* conduit, const std::string& why);

  void clear();  // drops everything without a word
  std::size_t rendezvous() const { return rendezvous_.size(); }
  std::size_t communicators() const { return communicators_.size(); }
  std::size_t rounds() const;

 private:
  struct Joined {
    std::shared_ptr<Conduit> conduit;
    std::uint64_t ticket = 0;
    NodeInfo node;
  };
  struct Rendezvous {
    explicit Rendezvous(boost::asio::io_context& io) : deadline(io) {}
    Secret secret{};
    Deadline deadline;
    std::uint32_t nranks = 0;
    std::string identity;
    std::map<std::uint32_t, Joined> joined;  // by rank
  };

  void join(const std::shared_ptr<Conduit>& from, Join&& join);
  Result<void> admit(const Rendezvous& entry, const std::string& from, const Join& join) const;
  void expired(std::uint64_t comm);
  void complete(std::uint64_t comm, Rendezvous entry);
  template <typename M>
  Result<void> forward(const Conduit* from, M&& message);

  boost::asio::io_context& io_;
  const PeerOptions& options_;
  std::map<std::uint64_t, Rendezvous> rendezvous_;
  std::map<std::uint64_t, Communicator> communicators_;
};

}  // namespace gind::peers
