// SPDX-License-Identifier: Apache-2.0
// What libfabric keeps per outstanding request of ours, allocated once per endpoint.
#pragma once

#include "ofi_domain.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace gind {

// Its address is the operation's context.
struct alignas(64) RequestSlot {
  fi_context2 context;  // first: some providers write to it until the completion
  std::array<std::byte, kMaxSendBytes> data;  // inline payload, atomic operand
  std::uint64_t result;                       // fetched by an atomic, when wanted
  void* result_to;
  std::uint64_t id;
  PeerHandle peer;
  std::uint32_t next;  // free list
  bool used;
};

// One thread.
class RequestPool {
 public:
  static Result<RequestPool> create(const OfiDomain& domain, std::uint32_t depth);

  RequestSlot* take();  // null when all are outstanding
  void put(RequestSlot& slot);
  // The slot whose address `context` is, if it is an outstanding one; else null.
  RequestSlot* find(const void* context) const;
  void* descriptor() const { return mr_ ? fi_mr_desc(mr_.get()) : nullptr; }
  std::uint32_t depth() const { return depth_; }

 private:
  RequestPool() = default;
  static constexpr std::uint32_t kEnd = UINT32_MAX;
  std::unique_ptr<RequestSlot[]> slots_;
  FidPtr<fid_mr> mr_;  // when local buffers need one
  std::uint32_t depth_ = 0;
  std::uint32_t free_ = kEnd;
};

}  // namespace gind
