// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/client_server.h"

#include "daemon/log/limiter.h"
#include "daemon/log/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>

namespace gind {

ClientServer::ClientServer(Node& node, ListenerSocket socket)
    : node_(node),
      listener_(std::move(socket)),
      acceptor_(node.io, ::fcntl(listener_.fd(), F_DUPFD_CLOEXEC, 0)),
      retry_(node.io) {
  wait();
}

void ClientServer::wait() {
  acceptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code& error) {
                         if (error || stopping_) return;
                         accept_some();
                       });
}

void ClientServer::accept_some() {
  for (int i = 0; i < 16; ++i) {
    Fd client(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      if (errno == ECONNABORTED || errno == EINTR) continue;
      // Out of descriptors or memory: the pending connection would wake us at once again.
      log_error("accepting a client: " + errno_text(errno) + "; trying again in 100 ms");
      return pause();
    }
    if (sessions_.size() >= node_.config.limits.clients) {
      node_.counters.handshake_rejected_limit.fetch_add(1, std::memory_order_relaxed);
      auto message = protocol::make_message<protocol::ErrorReply>(protocol::MessageType::kError, 0);
      message.code = ginLimitExceeded;
      const std::string text =
          fmt::format("{} clients are connected, the limit (limits.clients) is {}",
                      sessions_.size(), node_.config.limits.clients);
      text.copy(message.text, sizeof message.text - 1);
      static_cast<void>(protocol::send_packet(client.get(), protocol::as_bytes(message)).ok());
      static LogLimiter limiter(1, std::chrono::seconds(10));
      if (const auto verdict = limiter.admit("clients"); verdict.allowed) {
        log_warning("a client was refused: " + text + suppressed_note(verdict));
      }
      continue;
    }
    sessions_.insert(Session::start(node_, std::move(client), [this](Session* ended) {
      std::erase_if(sessions_, [ended](const auto& s) { return s.get() == ended; });
    }));
  }
  wait();
}

void ClientServer::pause() {
  retry_.expires_after(std::chrono::milliseconds(100));
  retry_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopping_) wait();
  });
}

void ClientServer::shutdown(const std::string& reason) {
  stopping_ = true;
  boost::system::error_code ignored;
  acceptor_.cancel(ignored);
  retry_.cancel();
  for (const auto& session : sessions_) session->close(reason);
}

}  // namespace gind
