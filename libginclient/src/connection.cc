// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include "connect.h"
#include "gin/queues/segment.h"
#include "gin/queues/wait.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gind::client {
namespace {

using Clock = std::chrono::steady_clock;
using protocol::MessageType;
using protocol::Packet;

protocol::MessageHeader header_of(const Packet& packet) {
  protocol::MessageHeader header{};
  std::memcpy(&header, packet.bytes.data(), sizeof header);
  return header;
}

template <std::size_t N>
std::string text_of(const char (&text)[N]) {
  return {text, ::strnlen(text, N)};
}

ginResult_t code_of(std::uint32_t code) {
  return code != ginSuccess && code < ginResultCount_ ? static_cast<ginResult_t>(code)
                                                      : ginInternalError;
}

// Waits until the socket is ready or the deadline has passed.
void wait_ready(int socket, short events, Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count() + 1;
  pollfd p{socket, events, 0};
  ::poll(&p, 1, static_cast<int>(std::clamp<long long>(left, 0, 1000)));
}

std::string seconds_text(Connection::Duration d) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
}

}  // namespace

Connection::Connection(Fd socket, std::string path, CommWords words)
    : words_(std::move(words)),
      socket_(std::move(socket)),
      path_(std::move(path)),
      pid_(::getpid()) {}

Result<std::shared_ptr<Connection>> Connection::open() {
  const std::string path = socket_path();
  auto socket = connect_to(path, Clock::now() + kHandshakeTimeout);
  if (!socket) return socket.error();
  auto words = CommWords::make();
  if (!words) return words.error();
  auto connection =
      std::make_shared<Connection>(std::move(socket).value(), path, std::move(words).value());
  if (auto said = connection->say_hello(); !said) {
    return said.error().with_context("handshake with gind at " + path);
  }
  return connection;
}

Result<void> Connection::say_hello() {
  auto request = protocol::make_message<protocol::Hello>(MessageType::kHello, 0);
  request.segment_version = gin::queues::kSegmentVersion;
  auto reply = call<protocol::HelloReply>(request, MessageType::kHelloReply, kHandshakeTimeout);
  if (!reply) return reply.error();
  hello_ = reply.value();
  if (hello_.segment_version != gin::queues::kSegmentVersion) {
    return Error{ginVersionMismatch,
                 "gind's segment layout has version " + std::to_string(hello_.segment_version) +
                     ", this library's version " + std::to_string(gin::queues::kSegmentVersion) +
                     "; gind and libginclient must be of the same release"};
  }
  return {};
}

Connection::Duration Connection::collective_timeout() const {
  // Bounded, so that no value from the wire overflows a time point.
  constexpr std::uint64_t kMost = 24ull * 3600 * 1'000'000'000;
  return std::chrono::nanoseconds(std::min(hello_.rendezvous_ns, kMost)) + kCollectiveMargin;
}

Error Connection::forked_error() const {
  return {ginInvalidUsage, "the communicator belongs to process " + std::to_string(pid_) +
                               "; a forked child must make its own"};
}

Result<Packet> Connection::exchange(std::span<std::byte> request, MessageType expected,
                                    Duration timeout, int fd) {
  if (::getpid() != pid_) return forked_error();
  const auto deadline = Clock::now() + timeout;
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return lost_error_;
    if (++last_id_ == 0) ++last_id_;
    pending_id_ = last_id_;
    reply_.reset();
    std::memcpy(request.data() + offsetof(protocol::MessageHeader, request_id), &pending_id_,
                sizeof pending_id_);
  }
  auto sent = send(request, fd, deadline);
  auto reply = sent ? await_reply(deadline) : Result<Packet>(sent.error());
  if (!reply && reply.error().code == ginTimeout) {
    // The reply may still come and nobody would know its meaning: give up.
    const std::string why = "gind at " + path_ + " did not answer within " + seconds_text(timeout);
    give_up({ginDaemonLost, why});
    return Error{ginTimeout, why + "; the connection is given up"};
  }
  const std::lock_guard lock(mutex_);
  pending_id_ = 0;
  if (!reply) return reply.error();
  const auto header = header_of(reply.value());
  const auto type = static_cast<MessageType>(header.type);
  if (type == MessageType::kError) {
    auto error = protocol::parse<protocol::ErrorReply>(reply.value());
    if (!error) return error.error();
    return Error{code_of(error.value().code), text_of(error.value().text)};
  }
  if (type != expected) {
    return Error{ginInternalError, "gind answered with message type " +
                                       std::to_string(header.type) + ", expected " +
                                       std::to_string(static_cast<int>(expected))};
  }
  return reply;
}

Result<void> Connection::send(std::span<const std::byte> bytes, int fd,
                              Clock::time_point deadline) {
  for (;;) {
    auto sent = protocol::send_packet(socket_.get(), bytes, fd);
    if (sent) return {};
    if (sent.error().code == ginLimitExceeded) {  // the socket is full
      if (Clock::now() >= deadline) return Error{ginTimeout, "the socket to gind stays full"};
      wait_ready(socket_.get(), POLLOUT, deadline);
      continue;
    }
    // gind may have said why before it closed.
    bool watched = false;
    {
      const std::lock_guard lock(mutex_);
      watched = watched_;
    }
    if (!watched) drain();
    give_up({ginDaemonLost, "gind at " + path_ + ": " + sent.error().message});
    const std::lock_guard lock(mutex_);
    return lost_error_;
  }
}

Result<Packet> Connection::await_reply(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const auto settled = [&] { return reply_.has_value() || lost_; };
  while (!settled() && Clock::now() < deadline) {
    if (watched_) {
      changed_.wait_until(lock, deadline, settled);
    } else {
      lock.unlock();
      wait_ready(socket_.get(), POLLIN, deadline);
      drain();
      lock.lock();
    }
  }
  if (reply_) {
    Packet packet = std::move(*reply_);
    reply_.reset();
    return packet;
  }
  if (lost_) return lost_error_;
  return Error{ginTimeout, ""};
}

void Connection::set_watched(bool watched) {
  const std::lock_guard lock(mutex_);
  watched_ = watched;
}

bool Connection::drain() {
  for (;;) {
    Packet packet;
    auto got = protocol::receive_packet(socket_.get(), &packet);
    if (!got) {
      give_up({ginDaemonLost, "gind at " + path_ + ": " + got.error().message});
    } else if (got.value() == protocol::ReceiveStatus::kClosed) {
      give_up({ginDaemonLost,
               "gind at " + path_ +
                   " closed the connection: it stopped, or dropped this client (see its log)"});
    } else if (got.value() == protocol::ReceiveStatus::kNothing) {
      return alive();
    } else {
      take(std::move(packet));
    }
    if (!alive()) return false;
  }
}

void Connection::take(Packet packet) {
  auto type = protocol::check_packet(packet);
  if (!type) {
    give_up(type.error().with_context("a message of gind at " + path_));
    return;
  }
  if (type.value() == MessageType::kEvent) {
    take_event(packet);
    return;
  }
  const auto header = header_of(packet);
  if (type.value() == MessageType::kError && header.request_id == 0) {  // before it hangs up
    auto error = protocol::parse<protocol::ErrorReply>(packet);
    give_up(error ? Error{code_of(error.value().code), text_of(error.value().text)}
                  : error.error());
    return;
  }
  const std::lock_guard lock(mutex_);
  if (header.request_id != pending_id_) {
    give_up_locked({ginInternalError, "gind at " + path_ + " answered request " +
                                          std::to_string(header.request_id) + ", expected " +
                                          std::to_string(pending_id_)});
    return;
  }
  reply_ = std::move(packet);
  changed_.notify_all();
}

void Connection::take_event(const Packet& packet) {
  auto event = protocol::parse<protocol::Event>(packet);
  if (!event) {
    give_up(event.error().with_context("an event of gind at " + path_));
    return;
  }
  const protocol::Event& e = event.value();
  const std::lock_guard lock(mutex_);
  if (!async_error_) async_error_ = Error{code_of(e.code), text_of(e.text)};
  // What befell one context only is in that context's error word: others go on.
  if (e.dev_comm == 0 && e.context < 0) {
    const bool named = e.peer >= 0;
    words_.latch_error(gin::queues::make_error_word(
        code_of(e.code), named ? static_cast<std::uint8_t>(gin::queues::Field::kPeer) : 0,
        named ? static_cast<std::uint64_t>(e.peer) : 0));
  }
}

void Connection::give_up(const Error& error) {
  const std::lock_guard lock(mutex_);
  give_up_locked(error);
}

void Connection::give_up_locked(const Error& error) {
  if (lost_) return;
  lost_ = true;
  lost_error_ = error;
  if (!async_error_) async_error_ = error;
  words_.latch_error(gin::queues::make_error_word(error.code));
  ::shutdown(socket_.get(), SHUT_RDWR);
  changed_.notify_all();
}

void Connection::end_waits() {
  if (::getpid() != pid_) return;
  words_.set_abort();
  words_.latch_error(gin::queues::make_error_word(ginAborted));
}

void Connection::abort() {
  if (::getpid() != pid_) return;
  words_.set_abort();
  give_up({ginAborted, "the communicator was aborted by ginCommAbort"});
}

void Connection::report(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!async_error_) async_error_ = error;
  words_.latch_error(gin::queues::make_error_word(error.code));
}

void Connection::leave_to_parent() {
  words_.leave_to_parent();
  words_.latch_error(gin::queues::make_error_word(ginInvalidUsage));
  socket_.reset();
}

bool Connection::alive() const {
  if (::getpid() != pid_) return false;  // a forked child: the lock may be held for ever
  const std::lock_guard lock(mutex_);
  return !lost_;
}

std::optional<Error> Connection::async_error() const {
  if (::getpid() != pid_) return forked_error();
  const std::lock_guard lock(mutex_);
  return async_error_;
}

}  // namespace gind::client
