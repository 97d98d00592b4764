// SPDX-License-Identifier: Apache-2.0
// One connection to gind: requests with deadlines, events, and the words that end device waits.
#pragma once

#include "comm_words.h"
#include "gind/common/fd.h"
#include "gind/common/result.h"
#include "gind/protocol/client.h"
#include "gind/protocol/packet_socket.h"

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace gind::client {

inline constexpr std::chrono::seconds kHandshakeTimeout{5};
inline constexpr std::chrono::seconds kPlainTimeout{10};
// On top of gind's own deadline, which should have ended the request before.
inline constexpr std::chrono::seconds kCollectiveMargin{10};

// Thread safe; one request at a time is the caller's part.
class Connection {
 public:
  using Duration = std::chrono::nanoseconds;

  // Connects to $GIND_SOCKET, or /run/gind/gind.sock, and exchanges versions.
  static Result<std::shared_ptr<Connection>> open();
  Connection(Fd socket, std::string path, CommWords words);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const protocol::HelloReply& hello() const { return hello_; }
  // Deadline of a collective request.
  Duration collective_timeout() const;

  // Sends a request (with an fd, when >= 0) and waits for its reply of type `expected`.  An error
  // reply becomes the error.  Without a reply by the deadline the connection is given up.
  template <typename Reply, typename Request>
  Result<Reply> call(Request request, protocol::MessageType expected, Duration timeout,
                     int fd = -1) {
    auto packet =
        exchange({reinterpret_cast<std::byte*>(&request), sizeof request}, expected, timeout, fd);
    if (!packet) return packet.error();
    return protocol::parse<Reply>(packet.value());
  }

  // The same for a request whose reply brings an fd.
  template <typename Reply, typename Request>
  Result<Reply> call_for_fd(Request request, protocol::MessageType expected, Duration timeout,
                            Fd* fd) {
    auto packet =
        exchange({reinterpret_cast<std::byte*>(&request), sizeof request}, expected, timeout, -1);
    if (!packet) return packet.error();
    *fd = std::move(packet.value().fds.at(0));  // check_packet has counted them
    return protocol::parse<Reply>(packet.value());
  }

  // From now on the monitor thread reads the socket, by calling drain when it is readable.
  void set_watched(bool watched);
  // Reads all there is.  False when the connection is lost.
  bool drain();

  // Ends all waits with ginAborted.
  void end_waits();
  // Ends all waits and requests with ginAborted.
  void abort();
  // In a forked child: the socket belongs to the parent; close this copy, so that gind sees the
  // parent's end.  Called while only one thread exists; takes no lock.
  void leave_to_parent();

  bool alive() const;
  // The first error that befell the communicator.
  std::optional<Error> async_error() const;

  int socket() const { return socket_.get(); }
  const CommWords& words() const { return words_; }
  // Latches an error that this library has found by itself.
  void report(const Error& error);

 private:
  Result<void> say_hello();
  Error forked_error() const;
  Result<protocol::Packet> exchange(std::span<std::byte> request, protocol::MessageType expected,
                                    Duration timeout, int fd);
  Result<void> send(std::span<const std::byte> bytes, int fd,
                    std::chrono::steady_clock::time_point deadline);
  Result<protocol::Packet> await_reply(std::chrono::steady_clock::time_point deadline);
  void take(protocol::Packet packet);
  void take_event(const protocol::Packet& packet);
  void give_up(const Error& error);
  void give_up_locked(const Error& error);

  CommWords words_;
  Fd socket_;
  const std::string path_;
  const pid_t pid_;
  protocol::HelloReply hello_{};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool watched_ = false;
  bool lost_ = false;
  Error lost_error_;
  std::optional<Error> async_error_;
  std::uint32_t last_id_ = 0;
  std::uint32_t pending_id_ = 0;  // 0: no request in progress
  std::optional<protocol::Packet> reply_;
};

}  // namespace gind::client
