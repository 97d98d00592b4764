// SPDX-License-Identifier: Apache-2.0
#include "request_pool.h"

namespace gind {

static_assert(offsetof(RequestSlot, context) == 0, "the completion's context is the slot");

Result<RequestPool> RequestPool::create(const OfiDomain& domain, std::uint32_t depth) {
  RequestPool pool;
  pool.slots_ = std::make_unique<RequestSlot[]>(depth);
  pool.depth_ = depth;
  for (std::uint32_t i = depth; i-- > 0;) {
    pool.slots_[i].next = pool.free_;
    pool.free_ = i;
  }
  if (domain.local_mr) {
    auto mr = domain.register_range(pool.slots_.get(), depth * sizeof(RequestSlot),
                                    FI_SEND | FI_READ | FI_WRITE);
    if (!mr) return mr.error().with_context("requests of an endpoint");
    pool.mr_ = std::move(mr).value();
  }
  return pool;
}

RequestSlot* RequestPool::take() {
  if (free_ == kEnd) return nullptr;
  RequestSlot& slot = slots_[free_];
  free_ = slot.next;
  slot.used = true;
  return &slot;
}

void RequestPool::put(RequestSlot& slot) {
  slot.used = false;
  slot.next = free_;
  free_ = static_cast<std::uint32_t>(&slot - slots_.get());
}

RequestSlot* RequestPool::find(const void* context) const {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(context) - reinterpret_cast<std::uintptr_t>(slots_.get());
  if (offset >= depth_ * sizeof(RequestSlot) || offset % sizeof(RequestSlot) != 0) return nullptr;
  RequestSlot& slot = slots_[offset / sizeof(RequestSlot)];
  return slot.used ? &slot : nullptr;
}

}  // namespace gind
