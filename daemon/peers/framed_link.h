// SPDX-License-Identifier: Apache-2.0
// Messages over one TCP connection.
#pragma once

#include "daemon/peers/deadline.h"
#include "daemon/peers/messages.h"

#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace gind::peers {

// All bytes of the peer protocol go through this type: an authenticated stream replaces it here.
using PeerSocket = boost::asio::ip::tcp::socket;

// No delay, and a node that falls silent is noticed within `silence`, idle or not.
void tune_socket(PeerSocket& socket, std::chrono::nanoseconds silence);

class FramedLink : public std::enable_shared_from_this<FramedLink> {
 public:
  struct Handlers {
    // An error returned fails the link.
    std::function<Result<void>(Message)> message;
    // Once; not after close(), and never from inside a call of this class.
    std::function<void(const Error&)> failed;
  };

  FramedLink(boost::asio::io_context& io, PeerSocket socket, Side remote,
             std::size_t max_queued_bytes);

  void start(Handlers handlers);
  // Queued; dropped when the link is closed or has failed.
  void send(const Message& message);
  // Sends REFUSED with the error, waits a moment for the other side to read it, and closes.
  void refuse(const Error& error);
  void close();
  const std::string& remote() const { return remote_text_; }  // address and port

 private:
  void read_header();
  void read_body();
  void on_frame();
  void write_next();
  void drain();
  void fail(Error error);

  boost::asio::io_context& io_;
  PeerSocket socket_;
  const Side remote_;
  const std::size_t max_queued_;
  const std::string remote_text_;
  Handlers handlers_;
  Deadline linger_;
  FrameHeader header_;
  std::string in_;
  std::size_t in_filled_ = 0;
  std::array<char, 512> discard_;
  std::deque<std::string> out_;
  std::size_t out_bytes_ = 0;
  bool writing_ = false;
  bool failed_ = false;
  bool refusing_ = false;
};

}  // namespace gind::peers
