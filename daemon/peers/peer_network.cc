// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/peer_network.h"

#include "daemon/peers/peer_network_impl.h"

#include <utility>

namespace gind {

PeerNetwork::PeerNetwork(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
PeerNetwork::~PeerNetwork() { impl_->shutdown(); }

Result<std::unique_ptr<PeerNetwork>> PeerNetwork::start(boost::asio::io_context& io,
                                                        PeerOptions options, NodeInfo self,
                                                        ControlCounters& counters) {
  if (auto good = peers::check_node_info(self); !good) return good.error();
  auto impl = std::make_shared<Impl>(io, std::move(options), std::move(self), counters);
  if (auto listening = impl->listen(); !listening) return listening.error();
  impl->begin();
  return std::unique_ptr<PeerNetwork>(new PeerNetwork(std::move(impl)));
}

std::uint16_t PeerNetwork::port() const { return impl_->port(); }
Result<UniqueIdBlob> PeerNetwork::create_unique_id() { return impl_->create_unique_id(); }
void PeerNetwork::join(const UniqueIdBlob& id, int nranks, int rank, const std::string& identity,
                       JoinDone done) {
  impl_->join(id, nranks, rank, identity, std::move(done));
}
void PeerNetwork::shutdown() { impl_->shutdown(); }
PeerNetwork::Counts PeerNetwork::counts() const { return impl_->counts(); }

}  // namespace gind
