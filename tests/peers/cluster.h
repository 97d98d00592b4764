// SPDX-License-Identifier: Apache-2.0
// Several ginds' peer networks in one process, on one event loop that the test drives.
#pragma once

#include "daemon/metrics/counters.h"
#include "daemon/peers/peer_network.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gind::test {

using namespace std::chrono_literals;

struct Gind {
  ControlCounters counters;
  std::vector<std::string> log;
  std::unique_ptr<PeerNetwork> net;
};

struct JoinResult {
  std::shared_ptr<Membership> member;
  std::optional<Error> error;
  bool done() const { return member || error; }
};

using Gathers = std::vector<std::optional<Result<Membership::Gathered>>>;

class Cluster {
 public:
  boost::asio::io_context io;
  std::vector<std::unique_ptr<Gind>> ginds;

  ~Cluster() {
    ginds.clear();
    io.restart();
    io.poll();
  }

  static NodeInfo node_info(std::size_t i) {
    NodeInfo info;
    info.instance = 1000 + i;
    info.name = "n" + std::to_string(i);
    info.transport = "ofi";
    info.provider = "tcp;ofi_rxm";
    info.signal_mode = "ordered";
    info.endpoints = {{static_cast<std::uint8_t>(i), 2, 3}, {4}};
    return info;
  }

  static PeerOptions options() {
    PeerOptions o;
    o.port = 0;
    o.connect_backoff = 10ms;
    o.idle = 50ms;
    return o;
  }

  PeerNetwork& add(PeerOptions o = options(), std::optional<NodeInfo> info = {}) {
    auto gind = std::make_unique<Gind>();
    o.log = [log = &gind->log](PeerLogLevel, const std::string& text) { log->push_back(text); };
    auto started =
        PeerNetwork::start(io, o, info ? *info : node_info(ginds.size()), gind->counters);
    if (!started) throw std::runtime_error(started.error().message);
    gind->net = std::move(started).value();
    ginds.push_back(std::move(gind));
    return *ginds.back()->net;
  }
  void add_many(int n, const PeerOptions& o = options()) {
    for (int i = 0; i < n; ++i) add(o);
  }
  PeerNetwork& net(std::size_t i) { return *ginds[i]->net; }

  // Runs the loop until `done`; false when that takes unreasonably long.
  bool run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + 40s;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      io.restart();
      io.run_one_for(20ms);
    }
    return true;
  }
  // Everything that is on its way arrives.
  void settle() {
    for (int i = 0; i < 10; ++i) {
      io.restart();
      io.run_for(5ms);
    }
  }

  std::shared_ptr<JoinResult> join(std::size_t gind, const UniqueIdBlob& id, int nranks, int rank,
                                   const std::string& identity = "alice") {
    auto result = std::make_shared<JoinResult>();
    net(gind).join(id, nranks, rank, identity,
                   [result](Result<std::shared_ptr<Membership>> joined) {
                     EXPECT_FALSE(result->done()) << "called twice";
                     if (joined) {
                       result->member = std::move(joined).value();
                     } else {
                       result->error = joined.error();
                     }
                   });
    return result;
  }

  // One communicator: rank r lives on gind where[r]; gind 0 coordinates.
  std::vector<std::shared_ptr<Membership>> communicator(const std::vector<std::size_t>& where) {
    const auto id = net(0).create_unique_id();
    if (!id) throw std::runtime_error(id.error().message);
    std::vector<std::shared_ptr<JoinResult>> joins;
    for (std::size_t r = 0; r < where.size(); ++r) {
      joins.push_back(
          join(where[r], id.value(), static_cast<int>(where.size()), static_cast<int>(r)));
    }
    for (const auto& j : joins) {
      if (!run_until([&] { return j->done(); }) || j->error) {
        throw std::runtime_error(j->error ? j->error->message : "a join never ended");
      }
    }
    std::vector<std::shared_ptr<Membership>> members;
    for (const auto& j : joins) members.push_back(j->member);
    return members;
  }

  static void gather(const std::shared_ptr<Membership>& member, int rank, CollectiveKind kind,
                     const std::string& payload,
                     std::optional<Result<Membership::Gathered>>* result) {
    result->reset();
    member->allgather(rank, kind, payload, [result](Result<Membership::Gathered> got) {
      EXPECT_FALSE(result->has_value()) << "called twice";
      result->emplace(std::move(got));
    });
  }

  // No communicator, link or wait is left anywhere.
  ::testing::AssertionResult empties() {
    const bool empty = run_until([&] {
      for (const auto& g : ginds) {
        if (!g->net) continue;
        const auto c = g->net->counts();
        if (c.accepted + c.uplinks + c.rendezvous + c.communicators + c.rounds + c.pending_joins +
                c.memberships + g->counters.peers_connected + g->counters.peers_connecting !=
            0) {
          return false;
        }
      }
      return true;
    });
    if (empty) return ::testing::AssertionSuccess();
    auto failure = ::testing::AssertionFailure();
    for (const auto& g : ginds) {
      if (!g->net) continue;
      const auto c = g->net->counts();
      failure << " accepted " << c.accepted << " uplinks " << c.uplinks << " rendezvous "
              << c.rendezvous << " communicators " << c.communicators << " rounds " << c.rounds
              << " joins " << c.pending_joins << " memberships " << c.memberships << ";";
    }
    return failure;
  }
};

inline void expect_has(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
  }
}

}  // namespace gind::test
