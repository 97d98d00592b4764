// SPDX-License-Identifier: Apache-2.0
// Opening, peers and waiting.
#include "ofi_endpoint.h"

#include "provider.h"
#include "signal_guard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace gind {
namespace {

// shm finds its peers by name: ours, so that no two processes of different pid namespaces collide.
void name_shm_endpoint(fi_info& info) {
  std::random_device random;
  const std::string name = fmt::format("gind-{}-{:08x}{:08x}", ::getpid(), random(), random());
  std::free(info.src_addr);
  info.src_addr = ::strdup(name.c_str());
  info.src_addrlen = name.size() + 1;
}

std::uint32_t request_depth(const fi_info& info) {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(info.tx_attr->size, 64, 4096));
}

}  // namespace

Result<std::unique_ptr<Endpoint>> OfiEndpoint::open(std::shared_ptr<OfiDomain> domain) {
  const fi_info& info = *domain->info;
  auto requests = RequestPool::create(*domain, request_depth(info));
  if (!requests) return requests.error();
  const auto depth = static_cast<std::uint32_t>(std::min<std::size_t>(
      std::max(1U, domain->options.receive_depth), std::max<std::size_t>(1, info.rx_attr->size)));
  auto receives = ReceivePool::create(*domain, depth);
  if (!receives) return receives.error();
  std::unique_ptr<OfiEndpoint> endpoint(
      new OfiEndpoint(std::move(domain), std::move(requests).value(), std::move(receives).value()));
  const std::string& address = endpoint->domain_->options.address;
  const std::string where = address.empty() ? "" : " on address " + address;
  if (auto started = endpoint->start(); !started)
    return started.error().with_context(endpoint->domain_->name() + ": cannot open an endpoint" +
                                        where);
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

OfiEndpoint::OfiEndpoint(std::shared_ptr<OfiDomain> domain, RequestPool requests,
                         ReceivePool receives)
    : domain_(std::move(domain)), requests_(std::move(requests)), receives_(std::move(receives)) {}

Result<void> OfiEndpoint::open_queue() {
  fi_cq_attr attr{};
  // Our requests and receives, and as many immediates again, before the provider has to spill.
  attr.size = requests_.depth() + 2 * std::size_t{domain_->options.receive_depth};
  attr.format = FI_CQ_FORMAT_DATA;
  attr.wait_obj = domain_->wait_fd ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  if (const int rc = fi_cq_open(domain_->domain.get(), &attr, &cq, nullptr); rc != 0)
    return ofi_error(fmt::format("completion queue of {} entries", attr.size), rc);
  queue_.reset(cq);
  if (!domain_->wait_fd) return {};
  if (const int rc = fi_control(&cq->fid, FI_GETWAIT, &wait_fd_); rc != 0)
    return ofi_error("the completion queue's descriptor", rc);
  return {};
}

Result<void> OfiEndpoint::start() {
  const KeepSignalActions keep;
  const InfoPtr info(fi_dupinfo(domain_->info.get()));
  if (!info) return Error{ginSystemError, "fi_dupinfo: out of memory"};
  if (same_text(domain_->provider(), "shm")) name_shm_endpoint(*info);
  fi_av_attr av_attr{};
  av_attr.type = FI_AV_TABLE;
  fid_av* av = nullptr;
  if (const int rc = fi_av_open(domain_->domain.get(), &av_attr, &av, nullptr); rc != 0)
    return ofi_error("address vector", rc);
  addresses_.reset(av);
  if (auto queue = open_queue(); !queue) return queue;
  fid_ep* ep = nullptr;
  if (const int rc = fi_endpoint(domain_->domain.get(), info.get(), &ep, nullptr); rc != 0)
    return ofi_error("fi_endpoint", rc);
  endpoint_.reset(ep);
  if (const int rc = fi_ep_bind(ep, &av->fid, 0); rc != 0) return ofi_error("bind addresses", rc);
  if (const int rc = fi_ep_bind(ep, &queue_->fid, FI_TRANSMIT | FI_RECV); rc != 0)
    return ofi_error("bind the completion queue", rc);
  if (const int rc = fi_enable(ep); rc != 0) return ofi_error("fi_enable", rc);
  std::size_t bytes = 0;
  int rc = fi_getname(&ep->fid, nullptr, &bytes);
  if (rc != 0 && rc != -FI_ETOOSMALL) return ofi_error("its address", rc);
  address_.resize(bytes);
  rc = fi_getname(&ep->fid, address_.data(), &bytes);
  if (rc != 0) return ofi_error("its address", rc);
  address_.resize(bytes);
  rc = receives_.repost(ep);
  if (rc != 0 && rc != -FI_EAGAIN) return ofi_error("post receives", rc);
  return {};
}

Result<PeerHandle> OfiEndpoint::add_peer(std::span<const std::uint8_t> address) {
  // Providers read as many bytes as their format has, so the length is checked here.  shm's
  // addresses are strings of any length.
  const bool text = domain_->info->addr_format == FI_ADDR_STR;
  if (address.empty() || (!text && address.size() != address_.size()) ||
      (text && address.back() != 0))
    return Error{ginInvalidArgument,
                 fmt::format("{}: peer address of {} bytes; ours has {}, is it another provider's?",
                             domain_->name(), address.size(), address_.size())};
  fi_addr_t handle = FI_ADDR_UNSPEC;
  const int inserted = fi_av_insert(addresses_.get(), address.data(), 1, &handle, 0, nullptr);
  if (inserted != 1)
    return ofi_error(domain_->name() + ": cannot add a peer's address",
                     inserted < 0 ? inserted : -FI_EINVAL);
  peers_.push_back(Peer{.address = handle});
  return static_cast<PeerHandle>(peers_.size() - 1);
}

void OfiEndpoint::remove_peer(PeerHandle peer) {
  if (peer >= peers_.size() || peers_[peer].removed) return;
  peers_[peer].removed = true;
  if (peers_[peer].outstanding == 0) release(peers_[peer]);
}

// The last completion of a removed peer releases its address: a provider may not know what to do
// with requests whose address is gone.
void OfiEndpoint::release(Peer& peer) { fi_av_remove(addresses_.get(), &peer.address, 1, 0); }

bool OfiEndpoint::prepare_wait() {
  if (!failures_.empty() || !receives_.all_posted()) return false;
  // shm has nothing to wait on, and crashes when it is asked all the same (1.17).
  if (!domain_->wait_fd) return true;
  fid* queues[] = {&queue_->fid};
  return fi_trywait(domain_->fabric.get(), queues, 1) == 0;
}

}  // namespace gind
