// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/address.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

namespace gind::peers {

Result<std::string> advertised_host(const std::string& listen, const std::string& advertise) {
  using boost::asio::ip::udp;
  if (!advertise.empty()) return advertise;
  boost::system::error_code ec;
  const auto address = boost::asio::ip::make_address(listen, ec);
  if (ec) return Error{ginInvalidArgument, "peer.listen \"" + listen + "\" is not an IP address"};
  if (!address.is_unspecified()) return listen;

  // Connecting a UDP socket sends nothing; the kernel looks up the route and picks the source.  The
  // targets are addresses reserved for documentation: only the default route leads there.
  const char* target = address.is_v4() ? "192.0.2.1" : "2001:db8::1";
  boost::asio::io_context io;
  udp::socket socket(io);
  const udp::endpoint far(boost::asio::ip::make_address(target), 9);
  socket.open(far.protocol(), ec);
  if (!ec) socket.connect(far, ec);
  udp::endpoint near;
  if (!ec) near = socket.local_endpoint(ec);
  if (ec || near.address().is_unspecified()) {
    return Error{ginSystemError, "peer.listen is " + listen +
                                     " and this host has no default route to take the address "
                                     "from" +
                                     (ec ? " (" + ec.message() + ")" : std::string()) +
                                     "; set peer.advertise to an address that the peers reach"};
  }
  return near.address().to_string();
}

}  // namespace gind::peers
