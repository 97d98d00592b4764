// SPDX-License-Identifier: Apache-2.0
// Strangers on the peer port, and ginds that cannot be reached.
#include "daemon/peers/messages.h"
#include "daemon/peers/unique_id.h"
#include "tests/peers/cluster.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <random>

namespace gind::test {
namespace {

using boost::asio::ip::tcp;
using peers::encode;

// A bare TCP client on the same loop.
struct Stranger {
  boost::asio::io_context& io;
  tcp::socket socket;
  std::string got;
  bool closed = false;
  std::array<char, 4096> buffer;

  Stranger(Cluster& c, std::uint16_t port) : io(c.io), socket(c.io) {
    socket.connect(tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), port));
    read();
  }
  void say(const std::string& bytes) {
    boost::system::error_code ec;
    boost::asio::write(socket, boost::asio::buffer(bytes), ec);
  }
  void read() {
    socket.async_read_some(boost::asio::buffer(buffer),
                           [this](const boost::system::error_code& ec, std::size_t n) {
                             if (ec == boost::asio::error::operation_aborted) return;
                             got.append(buffer.data(), n);
                             closed = static_cast<bool>(ec);
                             if (!ec) read();
                           });
  }
  ~Stranger() {
    boost::system::error_code ec;
    socket.close(ec);
    io.restart();  // the cancelled read still refers to this object
    io.poll();
  }
};

TEST(PeerPort, DropsGarbageCountsItAndLimitsTheLog) {
  Cluster c;
  c.add();
  std::mt19937 random(7);
  for (int i = 0; i < 30; ++i) {
    Stranger s(c, c.net(0).port());
    std::string bytes(16 + random() % 100, '\0');
    for (char& b : bytes) b = static_cast<char>(random());
    s.say(i == 0 ? "GET / HTTP/1.1\r\nHost: x\r\n\r\n" : bytes);
    ASSERT_TRUE(c.run_until([&] { return s.closed; })) << i;
    EXPECT_TRUE(s.got.empty());
  }
  EXPECT_EQ(c.ginds[0]->counters.handshake_rejected_malformed, 30u);
  ASSERT_FALSE(c.ginds[0]->log.empty());
  EXPECT_LE(c.ginds[0]->log.size(), 10u);
  expect_has(c.ginds[0]->log[0], {"dropped a connection from 127.0.0.1:", "bad magic"});
  EXPECT_TRUE(c.empties());
}

TEST(PeerPort, SurvivesMutatedConversations) {
  Cluster c;
  c.add();
  const NodeInfo node = Cluster::node_info(5);
  std::mt19937 random(99);
  for (int i = 0; i < 200; ++i) {
    const auto id = peers::decode_unique_id(c.net(0).create_unique_id().value()).value();
    std::string talk = encode(peers::Hello{node.instance, "n5"}) +
                       encode(peers::Join{1, id.comm, id.secret, 1, 0, "alice", node}) +
                       encode(peers::Gather{id.comm, 0, 1, CollectiveKind::kFinalize, "x"}) +
                       encode(peers::Quiet{id.comm, 0}) +
                       encode(peers::Gone{id.comm, 0, ginSuccess, ""});
    talk[random() % talk.size()] ^= static_cast<char>(1 << (random() % 8));
    Stranger s(c, c.net(0).port());
    s.say(talk);
    for (int k = 0; k < 4; ++k) {
      c.io.restart();
      c.io.run_for(1ms);
    }
  }
  c.settle();
  const auto alive = c.net(0).create_unique_id().value();
  const auto join = c.join(0, alive, 1, 0);
  ASSERT_TRUE(c.run_until([&] { return join->done(); }));
  EXPECT_TRUE(join->member);
}

TEST(PeerPort, AnotherVersionIsToldBothVersions) {
  Cluster c;
  c.add();
  Stranger s(c, c.net(0).port());
  std::string hello = encode(peers::Hello{1, "old"});
  hello[4] = 7;
  s.say(hello);
  ASSERT_TRUE(c.run_until([&] { return s.closed; }));
  expect_has(s.got, {"node n0", "version 7", "version " + std::to_string(peers::kPeerVersion)});
  EXPECT_EQ(c.ginds[0]->counters.handshake_rejected_version, 1u);
  EXPECT_TRUE(c.empties());
}

TEST(PeerPort, ASilentConnectionEndsAtTheHandshakeDeadline) {
  Cluster c;
  auto o = Cluster::options();
  o.handshake = 100ms;
  c.add(o);
  Stranger s(c, c.net(0).port());
  s.say("GI");
  ASSERT_TRUE(c.run_until([&] { return s.closed; }));
  EXPECT_EQ(c.ginds[0]->counters.handshake_rejected_timeout, 1u);
}

TEST(PeerPort, BreachesOfProtocolDropTheLink) {
  Cluster c;
  c.add();
  const auto hello = [](std::uint64_t instance) { return encode(peers::Hello{instance, "evil"}); };
  const std::vector<std::string> breaches = {
      encode(peers::Quiet{1, 0}),                                                   // before HELLO
      hello(77) + hello(77),                                                        // twice
      hello(78) + encode(peers::Welcome{1, "x"}),                                   // the other way
      hello(79) + encode(peers::Join{1, 1, {}, 1, 0, "a", Cluster::node_info(3)}),  // instance
  };
  for (const auto& bytes : breaches) {
    Stranger s(c, c.net(0).port());
    s.say(bytes);
    ASSERT_TRUE(c.run_until([&] { return s.closed; }));
  }
  // One that is no member cannot speak for a communicator.
  const auto blob = c.net(0).create_unique_id().value();
  const auto member = c.join(0, blob, 1, 0);
  ASSERT_TRUE(c.run_until([&] { return member->done(); }));
  const std::uint64_t comm = peers::decode_unique_id(blob).value().comm;
  Stranger s(c, c.net(0).port());
  s.say(hello(80) + encode(peers::Gone{comm, 0, ginRemoteError, "forged"}));
  ASSERT_TRUE(c.run_until([&] { return s.closed; }));
  EXPECT_EQ(c.net(0).counts().communicators, 1u);
}

TEST(PeerPort, RefusesConnectionsOverTheLimitByName) {
  Cluster c;
  auto o = Cluster::options();
  o.max_links = 1;
  c.add(o);
  c.add_many(2);
  const auto id = c.net(0).create_unique_id().value();
  const auto a = c.join(1, id, 3, 1);
  ASSERT_TRUE(c.run_until([&] { return c.net(0).counts().accepted == 1; }));
  const auto b = c.join(2, id, 3, 2);
  ASSERT_TRUE(c.run_until([&] { return b->done(); }));
  EXPECT_EQ(b->error->code, ginLimitExceeded);
  expect_has(b->error->message, {"node n0 has 1 peer connections", "limit is 1"});
  EXPECT_EQ(c.ginds[0]->counters.handshake_rejected_limit, 1u);
  EXPECT_FALSE(a->done());
}

UniqueIdBlob id_at(std::uint16_t port, std::uint64_t instance = 5) {
  peers::UniqueId id;
  id.host = "127.0.0.1";
  id.port = port;
  id.instance = instance;
  return peers::encode_unique_id(id).value();
}

TEST(Dial, AnUnreachableGindIsNamedWithTheRemedy) {
  Cluster c;
  c.add();
  std::uint16_t port = 0;
  {
    tcp::acceptor probe(c.io, tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), 0));
    port = probe.local_endpoint().port();
  }
  const auto join = c.join(0, id_at(port), 2, 0);
  ASSERT_TRUE(c.run_until([&] { return join->done(); }));
  EXPECT_EQ(join->error->code, ginRemoteError);
  expect_has(join->error->message,
             {"cannot reach the gind at 127.0.0.1:" + std::to_string(port), "Connection refused",
              "is gind running there", "peer.advertise"});
  EXPECT_EQ(c.ginds[0]->counters.peer_link_failures, 1u);
  EXPECT_TRUE(c.empties());
}

TEST(Dial, AGindThatStartsAMomentLaterIsStillReached) {
  Cluster c;
  auto o = Cluster::options();
  o.connect_backoff = 300ms;
  c.add(o);
  c.add();
  const auto id = c.net(1).create_unique_id().value();
  const std::uint16_t port = c.net(1).port();
  c.ginds[1]->net.reset();
  const auto join = c.join(0, id, 1, 0);
  c.settle();
  auto late = Cluster::options();
  late.port = port;
  c.add(late);
  ASSERT_TRUE(c.run_until([&] { return join->done(); }));
  // Reached, and found to be another than the one that made the id.
  expect_has(join->error->message, {"not the one that made the unique id", "restarted"});
}

struct FakeServer {
  tcp::acceptor acceptor;
  std::optional<tcp::socket> peer;
  explicit FakeServer(Cluster& c, std::string reply)
      : acceptor(c.io, tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), 0)) {
    acceptor.async_accept([this, reply](const boost::system::error_code& ec, tcp::socket socket) {
      if (ec) return;
      peer.emplace(std::move(socket));
      boost::system::error_code ignored;
      boost::asio::write(*peer, boost::asio::buffer(reply), ignored);
    });
  }
  std::uint16_t port() const { return acceptor.local_endpoint().port(); }
};

TEST(Dial, AServerOfAnotherVersionOrKindOrNoneIsNamed) {
  std::string other = encode(peers::Refused{ginVersionMismatch, "x"});
  other[4] = static_cast<char>(peers::kPeerVersion + 1);
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {other,
       {"version " + std::to_string(peers::kPeerVersion + 1),
        "version " + std::to_string(peers::kPeerVersion)}},
      {"HTTP/1.1 400 Bad Request\r\n\r\n", {"not gind's peer protocol"}},
      {encode(peers::Released{1, 1}), {"did not begin with WELCOME"}},
      {"", {"did not answer within 200 ms"}},
  };
  for (const auto& [reply, says] : cases) {
    Cluster c;
    auto o = Cluster::options();
    o.handshake = 200ms;
    c.add(o);
    FakeServer server(c, reply);
    const auto join = c.join(0, id_at(server.port()), 2, 0);
    ASSERT_TRUE(c.run_until([&] { return join->done(); }));
    ASSERT_TRUE(join->error);
    expect_has(join->error->message, says);
    expect_has(join->error->message, {"127.0.0.1:" + std::to_string(server.port())});
    EXPECT_TRUE(c.empties());
  }
}

TEST(Dial, AMuteCoordinatorCannotHoldAJoinForEver) {
  Cluster c;
  auto o = Cluster::options();
  o.rendezvous = 100ms;
  o.grace = 100ms;
  c.add(o);
  FakeServer server(c, encode(peers::Welcome{5, "mute"}));
  const auto join = c.join(0, id_at(server.port()), 2, 0);
  ASSERT_TRUE(c.run_until([&] { return join->done(); }));
  EXPECT_EQ(join->error->code, ginTimeout);
  expect_has(join->error->message, {"did not answer the join within 200 ms"});
}

TEST(Listen, ATakenPortABadAddressAndABadNameAreNamed) {
  Cluster c;
  c.add();
  auto o = Cluster::options();
  o.port = c.net(0).port();
  ControlCounters counters;
  auto taken = PeerNetwork::start(c.io, o, Cluster::node_info(1), counters);
  ASSERT_FALSE(taken.ok());
  expect_has(taken.error().message,
             {"127.0.0.1:" + std::to_string(o.port), "Address already in use", "peer.port"});
  o.listen = "somewhere";
  auto bad = PeerNetwork::start(c.io, o, Cluster::node_info(1), counters);
  ASSERT_FALSE(bad.ok());
  expect_has(bad.error().message, {"peer.listen \"somewhere\"", "not an IP address"});
  auto info = Cluster::node_info(1);
  info.name = "a\nb";
  EXPECT_FALSE(PeerNetwork::start(c.io, Cluster::options(), info, counters).ok());
}

TEST(Listen, AdvertisesTheConfiguredHost) {
  Cluster c;
  auto o = Cluster::options();
  o.advertise = "localhost";
  c.add(o);
  c.add();
  const auto blob = c.net(0).create_unique_id().value();
  EXPECT_EQ(peers::decode_unique_id(blob).value().host, "localhost");
  const auto a = c.join(0, blob, 2, 0);
  const auto b = c.join(1, blob, 2, 1);  // resolves the name
  ASSERT_TRUE(c.run_until([&] { return a->done() && b->done(); }));
  EXPECT_TRUE(a->member && b->member);
}

}  // namespace
}  // namespace gind::test
