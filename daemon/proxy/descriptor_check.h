// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/metrics/counters.h"
#include "daemon/proxy/rank_view.h"
#include "gin/queues/descriptor.h"

#include <string>

namespace gind {

// Why a descriptor is refused.  `field` kNone: it is fine.
struct Rejection {
  gin::queues::Field field = gin::queues::Field::kNone;
  RejectReason reason = RejectReason::kMalformed;
  std::uint64_t value = 0;

  explicit operator bool() const { return field != gin::queues::Field::kNone; }
};

struct ContextLimits {
  std::uint32_t signals = 0;
  std::uint32_t counters = 0;
};

// Checks every field of a private copy against gind's own tables.
Rejection check_descriptor(const gin::queues::Descriptor& d, const RankView& view,
                           const ContextLimits& limits);

// The rejection in words: field, value, limit.
std::string describe(const Rejection& rejection, const gin::queues::Descriptor& d,
                     const RankView& view, const ContextLimits& limits);

const char* op_name(gin::queues::Op op);
const char* field_name(gin::queues::Field field);

}  // namespace gind
