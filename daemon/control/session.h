// SPDX-License-Identifier: Apache-2.0
// One client connection: hello, then either a unique id or a communicator.
#pragma once

#include "daemon/control/local_rank.h"
#include "daemon/control/node.h"
#include "gind/protocol/packet_socket.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace gind {

class Session : public std::enable_shared_from_this<Session> {
 public:
  // `ended` is called once, when the connection is over (its rank may take longer to go).
  static std::shared_ptr<Session> start(Node& node, Fd socket, std::function<void(Session*)> ended);
  ~Session();

  // The daemon stops: the client is told and dropped.
  void close(const std::string& reason);

 private:
  enum class State { kHello, kIdle, kJoining, kJoined, kClosed };

  Session(Node& node, Fd socket, std::function<void(Session*)> ended);
  void read_credentials();
  void wait_readable();
  void on_readable();
  void handle(protocol::MessageType type, protocol::Packet packet);
  void on_hello(const protocol::Packet& packet);
  void on_unique_id(const protocol::Packet& packet);
  void on_comm_init(const protocol::Packet& packet);
  void on_joined(std::uint32_t request, std::int32_t rank,
                 Result<std::shared_ptr<Membership>> membership);
  void on_window_register(protocol::Packet packet);
  void on_window_deregister(const protocol::Packet& packet);
  void on_window_peer(const protocol::Packet& packet);
  void on_window_mapped(const protocol::Packet& packet);
  void on_dev_comm_create(protocol::Packet packet);
  void on_dev_comm_destroy(const protocol::Packet& packet);
  void on_memory_free(const protocol::Packet& packet);
  void on_finalize();
  void on_goodbye();

  // Replies end the request in progress.
  template <typename M>
  void reply(const M& message) {
    request_ = 0;
    send({reinterpret_cast<const char*>(&message), sizeof message});
  }
  void reply_ok(std::uint32_t request);
  void reply_error(std::uint32_t request, const Error& error);
  LocalRank::Done answer(std::uint32_t request);
  void send_event(const RankEvent& event);
  void send(std::string bytes, Fd fd = {});
  void flush();

  // The connection is over: `code` ginSuccess when the client left in order.
  void end(ginResult_t code, const std::string& reason);
  void violation(const Error& error);

  Node& node_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer handshake_;
  std::function<void(Session*)> ended_;
  State state_ = State::kHello;
  std::string identity_;
  std::string who_;            // for logs: "client pid 123 uid 1000"
  std::uint32_t request_ = 0;  // in progress; 0: none
  std::shared_ptr<LocalRank> rank_;
  struct Unsent {
    std::string bytes;
    Fd fd;  // goes with it, when valid
  };
  std::deque<Unsent> unsent_;
  bool writing_ = false;
};

}  // namespace gind
