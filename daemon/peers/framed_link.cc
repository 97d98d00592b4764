// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/framed_link.h"

#include "daemon/peers/text.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace gind::peers {
namespace {

// A body's memory grows with what has arrived, not with what the header claims.
constexpr std::size_t kReadStep = 64u << 10;
constexpr auto kLinger = std::chrono::seconds(1);

std::string remote_of(const PeerSocket& socket) {
  boost::system::error_code ec;
  const auto endpoint = socket.remote_endpoint(ec);
  if (ec) return "(unconnected)";
  return host_port(endpoint.address().to_string(), endpoint.port());
}

Error link_error(const boost::system::error_code& ec) {
  if (ec == boost::asio::error::eof) return {ginRemoteError, "it closed the connection"};
  return {ginRemoteError, ec.message()};
}

}  // namespace

void tune_socket(PeerSocket& socket, std::chrono::nanoseconds silence) {
  boost::system::error_code ec;  // best effort: a socket that cannot is still a socket
  socket.set_option(boost::asio::ip::tcp::no_delay(true), ec);
  socket.set_option(boost::asio::socket_base::keep_alive(true), ec);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silence).count();
  const int user_timeout = static_cast<int>(std::clamp<long long>(ms, 1000, 3'600'000));
  const int idle = std::max(1, user_timeout / 2000);
  const int interval = std::max(1, user_timeout / 8000);
  const int probes = std::max(1, (user_timeout / 1000 - idle) / interval);
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout, sizeof user_timeout);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

FramedLink::FramedLink(boost::asio::io_context& io, PeerSocket socket, Side remote,
                       std::size_t max_queued_bytes)
    : io_(io),
      socket_(std::move(socket)),
      remote_(remote),
      max_queued_(max_queued_bytes),
      remote_text_(remote_of(socket_)),
      linger_(io) {}

void FramedLink::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  read_header();
}

void FramedLink::read_header() {
  in_.resize(kHeaderBytes);
  auto self = shared_from_this();
  boost::asio::async_read(socket_, boost::asio::buffer(in_),
                          [self](const boost::system::error_code& ec, std::size_t) {
                            if (self->failed_) return;
                            if (ec) return self->fail(link_error(ec));
                            auto header = parse_header(self->in_, self->remote_);
                            if (!header) return self->fail(header.error());
                            self->header_ = header.value();
                            self->in_.clear();
                            self->in_filled_ = 0;
                            self->read_body();
                          });
}

void FramedLink::read_body() {
  if (in_filled_ == header_.size) return on_frame();
  const std::size_t step = std::min(kReadStep, header_.size - in_filled_);
  in_.resize(in_filled_ + step);
  auto self = shared_from_this();
  boost::asio::async_read(socket_, boost::asio::buffer(in_.data() + in_filled_, step),
                          [self](const boost::system::error_code& ec, std::size_t n) {
                            if (self->failed_) return;
                            if (ec) return self->fail(link_error(ec));
                            self->in_filled_ += n;
                            self->read_body();
                          });
}

void FramedLink::on_frame() {
  auto message = decode(header_.type, in_);
  if (!message) return fail(message.error());
  const auto handler = handlers_.message;  // survives a close() from inside
  const Result<void> taken = handler(std::move(message).value());
  if (failed_) return;
  if (!taken) return fail(taken.error());
  if (in_.capacity() > kReadStep) in_ = {};
  read_header();
}

void FramedLink::send(const Message& message) {
  if (failed_) return;
  std::string frame = encode(message);
  if (out_bytes_ + frame.size() > max_queued_) {
    auto self = shared_from_this();
    boost::asio::post(io_, [self] {
      self->fail({ginRemoteError, "it does not read: " + std::to_string(self->max_queued_) +
                                      " bytes wait to be sent"});
    });
    return;
  }
  out_bytes_ += frame.size();
  out_.push_back(std::move(frame));
  if (!writing_) write_next();
}

void FramedLink::write_next() {
  writing_ = true;
  auto self = shared_from_this();
  boost::asio::async_write(socket_, boost::asio::buffer(out_.front()),
                           [self](const boost::system::error_code& ec, std::size_t) {
                             self->writing_ = false;
                             if (!self->out_.empty()) {
                               self->out_bytes_ -= self->out_.front().size();
                               self->out_.pop_front();
                             }
                             if (self->failed_ && !self->refusing_) return;
                             if (ec)
                               return self->refusing_ ? self->close() : self->fail(link_error(ec));
                             if (!self->out_.empty()) return self->write_next();
                             if (self->refusing_) self->drain();
                           });
}

void FramedLink::refuse(const Error& error) {
  if (refusing_ || !socket_.is_open()) return;
  handlers_ = {};
  failed_ = false;
  send(Refused{error.code, error.message});
  failed_ = true;
  refusing_ = true;
  linger_.arm(kLinger, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->close();
  });
}

// Closing with unread bytes would reset the connection and could destroy the REFUSED on its way:
// read until the other side closes.
void FramedLink::drain() {
  boost::system::error_code ec;
  socket_.shutdown(PeerSocket::shutdown_send, ec);
  auto self = shared_from_this();
  socket_.async_read_some(boost::asio::buffer(discard_),
                          [self](const boost::system::error_code& read_error, std::size_t) {
                            read_error ? self->close() : self->drain();
                          });
}

void FramedLink::close() {
  failed_ = true;
  refusing_ = false;
  linger_.cancel();
  handlers_ = {};
  boost::system::error_code ec;
  socket_.close(ec);
}

void FramedLink::fail(Error error) {
  if (failed_) return;
  failed_ = true;
  const auto handler = std::exchange(handlers_, {}).failed;
  auto self = shared_from_this();
  if (handler) handler(error);
  if (!refusing_) close();
}

}  // namespace gind::peers
