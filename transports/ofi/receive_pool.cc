// SPDX-License-Identifier: Apache-2.0
#include "receive_pool.h"

namespace gind {

static_assert(offsetof(ReceiveSlot, context) == 0, "the completion's context is the slot");

Result<ReceivePool> ReceivePool::create(const OfiDomain& domain, std::uint32_t depth) {
  ReceivePool pool;
  pool.slots_ = std::make_unique<ReceiveSlot[]>(depth);
  pool.depth_ = depth;
  pool.retired_.reserve(depth);
  for (std::uint32_t i = 0; i < depth; ++i) pool.retired_.push_back(i);
  if (domain.local_mr) {
    auto mr = domain.register_range(pool.slots_.get(), depth * sizeof(ReceiveSlot), FI_RECV);
    if (!mr) return mr.error().with_context("receives of an endpoint");
    pool.mr_ = std::move(mr).value();
  }
  return pool;
}

ReceiveSlot* ReceivePool::find(const void* context) const {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(context) - reinterpret_cast<std::uintptr_t>(slots_.get());
  if (offset >= depth_ * sizeof(ReceiveSlot) || offset % sizeof(ReceiveSlot) != 0) return nullptr;
  return &slots_[offset / sizeof(ReceiveSlot)];
}

void ReceivePool::retire(const ReceiveSlot& slot) {
  if (retired_.size() < depth_)
    retired_.push_back(static_cast<std::uint32_t>(&slot - slots_.get()));
}

int ReceivePool::repost(fid_ep* endpoint) {
  void* const descriptor = mr_ ? fi_mr_desc(mr_.get()) : nullptr;
  while (!retired_.empty()) {
    ReceiveSlot& slot = slots_[retired_.back()];
    const auto rc = fi_recv(endpoint, slot.data.data(), slot.data.size(), descriptor,
                            FI_ADDR_UNSPEC, &slot.context);
    if (rc != 0) return static_cast<int>(rc);
    retired_.pop_back();
  }
  return 0;
}

}  // namespace gind
