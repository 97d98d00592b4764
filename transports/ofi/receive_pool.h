// SPDX-License-Identifier: Apache-2.0
// The posted receives of an endpoint.
#pragma once

#include "ofi_domain.h"

#include <rdma/fi_endpoint.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace gind {

struct alignas(64) ReceiveSlot {
  fi_context2 context;  // first: its address is the operation's context
  std::array<std::byte, kMaxSendBytes> data;
};

// One thread.
class ReceivePool {
 public:
  static Result<ReceivePool> create(const OfiDomain& domain, std::uint32_t depth);

  ReceiveSlot* find(const void* context) const;  // null: not one of ours
  // To be posted again by the next repost(); its data stay until then.
  void retire(const ReceiveSlot& slot);
  // Posts what was retired (everything, at first).  0, or the error of libfabric that stopped it;
  // what is left is tried again by the next call.
  int repost(fid_ep* endpoint);
  bool all_posted() const { return retired_.empty(); }

 private:
  ReceivePool() = default;
  std::unique_ptr<ReceiveSlot[]> slots_;
  FidPtr<fid_mr> mr_;
  std::uint32_t depth_ = 0;
  std::vector<std::uint32_t> retired_;  // never more than depth_: no allocation after create()
};

}  // namespace gind
