// SPDX-License-Identifier: Apache-2.0
#include "ofi_domain.h"

#include "provider.h"
#include "signal_guard.h"

#include <fmt/format.h>
#include <rdma/fi_eq.h>

#include <algorithm>
#include <random>

namespace gind {
namespace {

bool can_wait_on_fd(fid_domain* domain) {
  fi_cq_attr attr{};
  attr.size = 64;
  attr.format = FI_CQ_FORMAT_DATA;
  attr.wait_obj = FI_WAIT_FD;
  fid_cq* cq = nullptr;
  if (fi_cq_open(domain, &attr, &cq, nullptr) != 0) return false;
  const FidPtr<fid_cq> owner(cq);
  int fd = -1;
  return fi_control(&cq->fid, FI_GETWAIT, &fd) == 0 && fd >= 0;
}

// Unpredictable, so that a key is not found by counting; of as many bytes as the provider takes.
std::uint64_t random_key(std::size_t key_bytes) {
  thread_local std::random_device random;
  const std::uint64_t key = static_cast<std::uint64_t>(random()) << 32 | random();
  return key_bytes >= sizeof key ? key : key & ((std::uint64_t{1} << (8 * key_bytes)) - 1);
}

}  // namespace

Result<std::shared_ptr<OfiDomain>> OfiDomain::open(const OfiOptions& options, InfoPtr info) {
  const KeepSignalActions keep;
  auto d = std::make_shared<OfiDomain>();
  d->options = options;
  d->info = std::move(info);
  const fi_info& i = *d->info;
  fid_fabric* fabric = nullptr;
  if (const int rc = fi_fabric(i.fabric_attr, &fabric, nullptr); rc != 0)
    return ofi_error(d->name() + ": cannot open fabric " + i.fabric_attr->name, rc);
  d->fabric.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int rc = fi_domain(fabric, d->info.get(), &domain, nullptr); rc != 0)
    return ofi_error(d->name() + ": cannot open domain " + i.domain_attr->name, rc);
  d->domain.reset(domain);
  const auto mode = static_cast<std::uint64_t>(i.domain_attr->mr_mode);
  d->local_mr = (mode & FI_MR_LOCAL) != 0;
  d->virtual_address = (mode & FI_MR_VIRT_ADDR) != 0;
  d->atomics = (i.caps & FI_ATOMIC) != 0;
  d->receive_for_immediate = ((i.mode | i.rx_attr->mode) & FI_RX_CQ_DATA) != 0;
  d->wait_fd = can_wait_on_fd(domain);
  d->inject_send = static_cast<std::uint32_t>(std::min<std::size_t>(i.tx_attr->inject_size, 4096));
  // ofi_rxd reports no completion of what it has injected, asked for or not.
  const bool silent = d->provider().find("ofi_rxd") != std::string::npos;
  if (silent) d->inject_send = 0;
  // efa's inject_size is that of sends; it injects no writes.
  d->inject_write = same_text(d->provider(), "efa") ? 0 : d->inject_send;
  d->max_write = i.ep_attr->max_msg_size;
  return d;
}

Result<FidPtr<fid_mr>> OfiDomain::register_range(const void* address, std::size_t bytes,
                                                 std::uint64_t access) const {
  constexpr int kAttempts = 16;  // a random key that is taken is drawn again
  const bool provider_key = (info->domain_attr->mr_mode & FI_MR_PROV_KEY) != 0;
  int rc = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fid_mr* mr = nullptr;
    const std::uint64_t key = provider_key ? 0 : random_key(info->domain_attr->mr_key_size);
    rc = fi_mr_reg(domain.get(), address, bytes, access, 0, key, 0, &mr, nullptr);
    if (rc == 0) return FidPtr<fid_mr>(mr);
    if (rc != -FI_ENOKEY) break;
  }
  Error error =
      ofi_error(fmt::format("{}: cannot register {} bytes at {}", name(), bytes, address), rc);
  if (rc == -FI_ENOMEM || rc == -FI_EPERM)
    error.message += "; see the memlock limit (ulimit -l, LimitMEMLOCK=) and the cgroup's memory";
  return error;
}

OfiRegion::OfiRegion(std::shared_ptr<OfiDomain> domain, FidPtr<fid_mr> mr,
                     std::uint64_t remote_address)
    : domain_(std::move(domain)),
      mr_(std::move(mr)),
      remote_address_(remote_address),
      key_(fi_mr_key(mr_.get())),
      descriptor_(fi_mr_desc(mr_.get())) {}

Result<std::unique_ptr<MemoryRegion>> OfiRegion::create(std::shared_ptr<OfiDomain> domain,
                                                        void* address, std::uint64_t bytes,
                                                        std::uint32_t access) {
  if (address == nullptr || bytes == 0)
    return Error{
        ginInvalidArgument,
        fmt::format("{}: cannot register {} bytes at {}; a region has an address and at least "
                    "one byte",
                    domain->name(), bytes, address)};
  std::uint64_t flags = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
  if (access & (kAccessRemoteWrite | kAccessRemoteAtomic)) flags |= FI_REMOTE_WRITE;
  if (access & (kAccessRemoteRead | kAccessRemoteAtomic)) flags |= FI_REMOTE_READ;
  auto mr = domain->register_range(address, bytes, flags);
  if (!mr) return mr.error();
  if (fi_mr_key(mr.value().get()) == FI_KEY_NOTAVAIL)
    return Error{ginNotSupported, domain->name() + ": its keys do not fit 64 bits"};
  const std::uint64_t remote =
      domain->virtual_address ? reinterpret_cast<std::uintptr_t>(address) : 0;
  return std::unique_ptr<MemoryRegion>(
      new OfiRegion(std::move(domain), std::move(mr).value(), remote));
}

}  // namespace gind
