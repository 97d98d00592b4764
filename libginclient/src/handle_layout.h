// SPDX-License-Identifier: Apache-2.0
// Where a device communicator's handle says that things are: in the segment, and in the poster's
// own state.  Header-only, so that simulations build the same handles.
#pragma once

#include "gin/dev_comm.h"
#include "gin/queues/producer.h"
#include "gin/queues/segment.h"

#include <bit>
#include <cstdint>

namespace gind::client {

// All but the addresses: shape, and offsets in segment and state.  The shape's signals include
// those of `barriers` barriers.
inline void lay_out_handle(const gin::queues::SegmentShape& shape, std::uint32_t signals,
                           std::uint32_t barriers, ginDevComm_t* handle) {
  namespace q = gin::queues;
  const q::SegmentLayout layout = q::layout_of(shape);
  handle->nRanks = static_cast<std::int32_t>(shape.ranks);
  handle->contexts = shape.contexts;
  handle->signals = signals;
  handle->barriers = barriers;
  handle->counters = shape.counters;
  handle->log2Depth = static_cast<std::uint32_t>(std::countr_zero(shape.ring_units));
  handle->controlOffset = layout.control;
  handle->doneOffset = layout.done;
  handle->doneStride = layout.done_stride;
  handle->signalOffset = layout.signals;
  handle->signalStride = layout.signal_stride;
  handle->counterOffset = layout.counters;
  handle->counterStride = layout.counter_stride;
  handle->ringOffset = layout.rings;
  handle->ringStride = layout.ring_stride;
  // All of a GPU's lines: the arrays follow one another without sharing any.
  const auto behind = [](std::uint64_t at, std::uint64_t words) {
    return q::align_up(at + words * 8, q::kGpuLine);
  };
  handle->lastPostedOffset = sizeof(q::ProducerState);
  handle->lastQuietOffset = behind(handle->lastPostedOffset, shape.ranks);
  handle->signalBaseOffset = behind(handle->lastQuietOffset, shape.ranks);
  handle->signalShadowOffset = behind(handle->signalBaseOffset, shape.signals);
  handle->counterBaseOffset = behind(handle->signalShadowOffset, shape.signals);
  handle->barrierErrorOffset = behind(handle->counterBaseOffset, shape.counters);
  handle->stateStride = behind(handle->barrierErrorOffset, barriers);
}

}  // namespace gind::client
