// SPDX-License-Identifier: Apache-2.0
// The connection: packets, the handshake, replies, the end.  Requests are in session_requests.cc.
#include "daemon/control/session.h"

#include "daemon/log/log.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace gind {

using protocol::MessageType;
using protocol::Packet;

namespace {

// A client that does not read its replies is dropped rather than buffered for ever.
constexpr std::size_t kMaxUnsent = 64;

void copy_text(char (&to)[protocol::kTextBytes], const std::string& text) {
  const std::size_t n = std::min(text.size(), sizeof to - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

}  // namespace

std::shared_ptr<Session> Session::start(Node& node, Fd socket,
                                        std::function<void(Session*)> ended) {
  std::shared_ptr<Session> made(new Session(node, std::move(socket), std::move(ended)));
  made->read_credentials();
  made->handshake_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      node.config.timeouts.handshake));
  std::weak_ptr<Session> weak = made;
  made->handshake_.async_wait([weak](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (error || !self || self->state_ != State::kHello) return;
    self->node_.counters.handshake_rejected_timeout.fetch_add(1, std::memory_order_relaxed);
    self->end(ginTimeout, "no hello within timeouts.handshake");
  });
  made->wait_readable();
  return made;
}

Session::Session(Node& node, Fd socket, std::function<void(Session*)> ended)
    : node_(node),
      socket_(node.io, socket.release()),
      handshake_(node.io),
      ended_(std::move(ended)) {
  node_.counters.clients.fetch_add(1, std::memory_order_relaxed);
}

Session::~Session() { node_.counters.clients.fetch_sub(1, std::memory_order_relaxed); }

void Session::read_credentials() {
  // The kernel's word, not the client's.
  ucred cred{};
  socklen_t size = sizeof cred;
  if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &cred, &size) == 0) {
    identity_ = fmt::format("uid:{}", cred.uid);
    who_ = fmt::format("client pid {} uid {}", cred.pid, cred.uid);
  }
}

void Session::wait_readable() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (error || self->state_ == State::kClosed) return;
                       self->on_readable();
                     });
}

void Session::on_readable() {
  // A few packets a turn, so that one client cannot keep the control thread to itself.
  for (int i = 0; i < 8; ++i) {
    Packet packet;
    const auto got = protocol::receive_packet(socket_.native_handle(), &packet);
    if (!got) return violation(got.error());
    if (got.value() == protocol::ReceiveStatus::kNothing) break;
    if (got.value() == protocol::ReceiveStatus::kClosed) {
      return end(ginRemoteError, "its process ended or closed the connection");
    }
    const auto type = protocol::check_packet(packet);
    if (!type) return violation(type.error());
    handle(type.value(), std::move(packet));
    if (state_ == State::kClosed) return;
  }
  wait_readable();
}

void Session::violation(const Error& error) {
  if (state_ == State::kHello) {
    auto& counter = error.code == ginVersionMismatch ? node_.counters.handshake_rejected_version
                                                     : node_.counters.handshake_rejected_malformed;
    counter.fetch_add(1, std::memory_order_relaxed);
  }
  reply_error(request_, error);
  end(ginInvalidUsage, error.message);
}

void Session::reply_ok(std::uint32_t request) {
  struct Ok {
    protocol::MessageHeader header;
  };
  reply(protocol::make_message<Ok>(MessageType::kOk, request));
}

void Session::reply_error(std::uint32_t request, const Error& error) {
  auto message = protocol::make_message<protocol::ErrorReply>(MessageType::kError, request);
  message.code = static_cast<std::uint32_t>(error.code);
  copy_text(message.text, error.message);
  reply(message);
}

LocalRank::Done Session::answer(std::uint32_t request) {
  return [self = shared_from_this(), request](const Result<void>& result) {
    if (self->state_ == State::kClosed) return;
    if (result) return self->reply_ok(request);
    self->reply_error(request, result.error());
  };
}

void Session::send_event(const RankEvent& event) {
  auto message = protocol::make_message<protocol::Event>(MessageType::kEvent, 0);
  message.code = static_cast<std::uint32_t>(event.code);
  message.peer = event.peer;
  message.dev_comm = event.dev_comm;
  message.context = event.context;
  copy_text(message.text, event.text);
  send({reinterpret_cast<const char*>(&message), sizeof message});
}

void Session::send(std::string bytes, Fd fd) {
  if (state_ == State::kClosed) return;
  unsent_.push_back({std::move(bytes), std::move(fd)});
  flush();
}

void Session::flush() {
  while (!unsent_.empty()) {
    const auto& [bytes, fd] = unsent_.front();
    const auto sent = protocol::send_packet(
        socket_.native_handle(), {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()},
        fd.valid() ? fd.get() : -1);
    if (sent) {
      unsent_.pop_front();
      continue;
    }
    if (sent.error().code != ginLimitExceeded) return;  // the reading side sees the end, too
    if (unsent_.size() > kMaxUnsent) {
      boost::asio::post(node_.io, [self = shared_from_this()] {
        self->end(ginInvalidUsage, "it does not read its socket");
      });
      return;
    }
    if (writing_) return;
    writing_ = true;
    socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         self->writing_ = false;
                         if (!error && self->state_ != State::kClosed) self->flush();
                       });
    return;
  }
}

void Session::close(const std::string& reason) {
  if (state_ == State::kClosed) return;
  if (request_ != 0) reply_error(request_, {ginDaemonLost, reason});
  end(ginAborted, reason);
}

void Session::end(ginResult_t code, const std::string& reason) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  handshake_.cancel();
  auto& counter = code == ginSuccess       ? node_.counters.disconnects_clean
                  : code == ginRemoteError ? node_.counters.disconnects_died
                                           : node_.counters.disconnects_protocol;
  // A short-lived connection that only asked for a unique id ends without a goodbye.
  (rank_ || code != ginRemoteError ? counter : node_.counters.disconnects_clean)
      .fetch_add(1, std::memory_order_relaxed);
  if (code != ginSuccess && (rank_ || code != ginRemoteError)) {
    log_warning(fmt::format("{}: connection ended: {}", who_, reason));
  }
  boost::system::error_code ignored;
  socket_.close(ignored);
  if (rank_) {
    rank_->leave(code == ginSuccess ? ginSuccess : ginRemoteError,
                 code == ginSuccess ? "it left the communicator" : reason);
    rank_.reset();
  }
  if (ended_) {
    boost::asio::post(
        node_.io, [self = shared_from_this(), ended = std::move(ended_)] { ended(self.get()); });
    ended_ = nullptr;
  }
}

}  // namespace gind
