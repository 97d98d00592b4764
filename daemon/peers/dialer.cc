// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/dialer.h"

#include "daemon/peers/text.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace gind::peers {

using boost::asio::ip::tcp;

Dialer::Dialer(boost::asio::io_context& io, const PeerOptions& options, std::string host,
               std::uint16_t port)
    : io_(io),
      options_(options),
      host_(std::move(host)),
      port_(port),
      resolver_(io),
      socket_(io),
      deadline_(io),
      pause_(io) {}

void Dialer::dial(Done done) {
  done_ = std::move(done);
  auto self = shared_from_this();
  boost::asio::post(io_, [self] { self->attempt(); });
}

void Dialer::cancel() {
  done_ = nullptr;
  ++token_;
  deadline_.cancel();
  pause_.cancel();
  resolver_.cancel();
  boost::system::error_code ec;
  socket_.close(ec);
}

void Dialer::attempt() {
  if (!done_) return;
  ++attempts_;
  const std::uint64_t current = ++token_;
  auto self = shared_from_this();
  deadline_.arm(options_.connect, [weak = weak_from_this()] {
    if (auto me = weak.lock()) {
      me->attempt_failed("no answer within " + duration_text(me->options_.connect));
    }
  });
  boost::system::error_code ec;
  const auto address = boost::asio::ip::make_address(host_, ec);
  if (!ec) return connect({tcp::endpoint(address, port_)});
  resolver_.async_resolve(
      host_, std::to_string(port_), tcp::resolver::numeric_service,
      [self, current](const boost::system::error_code& error, tcp::resolver::results_type found) {
        if (self->token_ != current || !self->done_) return;
        if (error) return self->attempt_failed(error.message());
        std::vector<tcp::endpoint> endpoints;
        for (const auto& entry : found) endpoints.push_back(entry.endpoint());
        self->connect(std::move(endpoints));
      });
}

void Dialer::connect(std::vector<tcp::endpoint> endpoints) {
  const std::uint64_t current = token_;
  auto self = shared_from_this();
  auto list = std::make_shared<std::vector<tcp::endpoint>>(std::move(endpoints));
  boost::asio::async_connect(
      socket_, *list,
      [self, list, current](const boost::system::error_code& error, const tcp::endpoint&) {
        if (self->token_ != current || !self->done_) return;
        if (error) return self->attempt_failed(error.message());
        self->deadline_.cancel();
        tune_socket(self->socket_, self->options_.silence);
        std::exchange(self->done_, nullptr)(std::move(self->socket_));
      });
}

void Dialer::attempt_failed(const std::string& why) {
  ++token_;
  deadline_.cancel();
  resolver_.cancel();
  boost::system::error_code ec;
  socket_.close(ec);
  const std::uint32_t made = attempts_;
  if (made >= options_.connect_attempts) {
    std::exchange(done_, nullptr)(
        Error{ginRemoteError, "cannot reach the gind at " + host_port(host_, port_) +
                                  " that made the unique id: " + why + " (" + std::to_string(made) +
                                  " attempts)" +
                                  "; is gind running there, and is its peer.advertise right?"});
    return;
  }
  // Nothing else holds the dialer between two attempts but its owner, who cancels.
  pause_.arm(options_.connect_backoff * (1u << std::min(made - 1, 10u)), [weak = weak_from_this()] {
    if (auto me = weak.lock()) me->attempt();
  });
}

}  // namespace gind::peers
