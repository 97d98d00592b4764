// SPDX-License-Identifier: Apache-2.0
// The opened provider: fabric, domain, and registrations in it.
#pragma once

#include "fid.h"
#include "gind/transports/ofi.h"

#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>
#include <string>

namespace gind {

// Shared by the transport, its endpoints and its regions, so that it is closed last.  Immutable
// once open.
struct OfiDomain {
  OfiOptions options;
  InfoPtr info;
  FidPtr<fid_fabric> fabric;
  FidPtr<fid_domain> domain;
  bool local_mr = false;         // local buffers need a descriptor
  bool virtual_address = false;  // remote addresses are virtual, else offsets in the region
  bool atomics = false;
  bool receive_for_immediate = false;  // FI_RX_CQ_DATA: an immediate uses up a posted receive
  bool wait_fd = false;
  std::uint32_t inject_send = 0;   // largest payload with FI_INJECT: sends
  std::uint32_t inject_write = 0;  // and writes
  std::uint64_t max_write = 0;

  static Result<std::shared_ptr<OfiDomain>> open(const OfiOptions& options, InfoPtr info);
  std::string provider() const { return info->fabric_attr->prov_name; }
  std::string name() const { return "libfabric " + provider(); }  // prefix of messages

  // `access`: FI_SEND, FI_REMOTE_WRITE, ...
  Result<FidPtr<fid_mr>> register_range(const void* address, std::size_t bytes,
                                        std::uint64_t access) const;
};

class OfiRegion final : public MemoryRegion {
 public:
  static Result<std::unique_ptr<MemoryRegion>> create(std::shared_ptr<OfiDomain> domain,
                                                      void* address, std::uint64_t bytes,
                                                      std::uint32_t access);
  std::uint64_t remote_address() const override { return remote_address_; }
  std::uint64_t remote_key() const override { return key_; }
  void* descriptor() const { return descriptor_; }

 private:
  OfiRegion(std::shared_ptr<OfiDomain> domain, FidPtr<fid_mr> mr, std::uint64_t remote_address);
  std::shared_ptr<OfiDomain> domain_;
  FidPtr<fid_mr> mr_;
  const std::uint64_t remote_address_;
  const std::uint64_t key_;
  void* const descriptor_;
};

}  // namespace gind
