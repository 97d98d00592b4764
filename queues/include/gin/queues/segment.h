// SPDX-License-Identifier: Apache-2.0
// The control segment: one memfd per device communicator, mapped by gind and by the client.
// gind writes the header; everything gind reads from the segment later is ring units only.
#pragma once

#include "gin/queues/descriptor.h"
#include "gin/queues/platform.h"
#include "gin/queues/unit.h"

namespace gin::queues {

inline constexpr std::uint64_t kSegmentMagic = 0x31474553'444e4947;  // "GINDSEG1"
// Raised with every change of the layouts in this folder; both versions are named on a mismatch.
inline constexpr std::uint32_t kSegmentVersion = 1;

inline constexpr std::uint32_t kMinRingUnits = 64;
inline constexpr std::uint32_t kMaxRingUnits = 1u << 20;

// What both sides compute the layout from; neither takes a size or an offset from the other.
struct SegmentShape {
  std::uint32_t contexts = 0;    // 1 .. kMaxContexts
  std::uint32_t ranks = 0;       // 1 .. kMaxRanks
  std::uint32_t ring_units = 0;  // power of two, kMinRingUnits .. kMaxRingUnits
  std::uint32_t signals = 0;     // per context, 0 .. kMaxSignals
  std::uint32_t counters = 0;    // per context, 0 .. kMaxCounters
};

// Per context, written by gind only.  One line for each rate of change.
struct alignas(kCacheLine) ContextControl {
  std::uint64_t consumed;  // ring position: units below it are copied out, their slots reusable
  std::uint64_t done_all;  // ring position below which every operation is locally complete
  std::uint8_t pad0[kCacheLine - 16];
  std::uint64_t error;  // error word (wait.h), 0 while the context is well; latched
  std::uint8_t pad1[kCacheLine - 8];
};
static_assert(sizeof(ContextControl) == 2 * kCacheLine);

// done[peer]: a ring position below which every operation to that peer is locally complete, or,
// once kDoneError is set, latched for good with a result code in its low 16 bits.
inline constexpr std::uint64_t kDoneError = std::uint64_t{1} << 63;

struct alignas(kCacheLine) SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t contexts;
  std::uint32_t ranks;
  std::uint32_t ring_units;
  std::uint32_t signals;
  std::uint32_t counters;
  std::uint32_t reserved;
  std::uint64_t reserved2;
  std::uint64_t total_bytes;  // written last, with release; 0 means "not ready"
};
static_assert(sizeof(SegmentHeader) == kCacheLine);

// Offsets of each region from the segment's start.  Regions begin on pages, so that a transport
// can register the signals of one context with the narrowest range.
struct SegmentLayout {
  std::uint64_t control = 0;  // ContextControl[contexts]
  std::uint64_t done = 0;     // u64[contexts][done_stride]
  std::uint64_t signals = 0;
  std::uint64_t counters = 0;
  std::uint64_t rings = 0;          // Unit[contexts][ring_units]
  std::uint64_t done_stride = 0;    // bytes from context to context
  std::uint64_t signal_stride = 0;  // bytes; a multiple of a cache line
  std::uint64_t counter_stride = 0;
  std::uint64_t ring_stride = 0;
  std::uint64_t total_bytes = 0;
};

// The field of a shape that is out of range, with its limit, or null.
struct ShapeFault {
  const char* field = nullptr;
  std::uint64_t value = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

constexpr ShapeFault check_shape(const SegmentShape& s) {
  if (s.contexts < 1 || s.contexts > kMaxContexts) return {"contexts", s.contexts, 1, kMaxContexts};
  if (s.ranks < 1 || s.ranks > kMaxRanks) return {"ranks", s.ranks, 1, kMaxRanks};
  if (!is_power_of_two(s.ring_units) || s.ring_units < kMinRingUnits ||
      s.ring_units > kMaxRingUnits) {
    return {"ring units (a power of two)", s.ring_units, kMinRingUnits, kMaxRingUnits};
  }
  if (s.signals > kMaxSignals) return {"signals per context", s.signals, 0, kMaxSignals};
  if (s.counters > kMaxCounters) return {"counters per context", s.counters, 0, kMaxCounters};
  return {};
}

// Requires a shape that check_shape accepts (no sum can overflow then).
constexpr SegmentLayout layout_of(const SegmentShape& s) {
  SegmentLayout l{};
  std::uint64_t at = align_up(sizeof(SegmentHeader), kPage);
  l.control = at;
  at = align_up(at + s.contexts * sizeof(ContextControl), kPage);
  l.done_stride = align_up(s.ranks * 8ull, kCacheLine);
  l.done = at;
  at = align_up(at + s.contexts * l.done_stride, kPage);
  l.signal_stride = align_up(s.signals * 8ull, kCacheLine);
  l.signals = at;
  at = align_up(at + s.contexts * l.signal_stride, kPage);
  l.counter_stride = align_up(s.counters * 8ull, kCacheLine);
  l.counters = at;
  at = align_up(at + s.contexts * l.counter_stride, kPage);
  l.ring_stride = s.ring_units * sizeof(Unit);
  l.rings = at;
  at = align_up(at + s.contexts * l.ring_stride, kPage);
  l.total_bytes = at;
  return l;
}

// Typed access to a mapped segment.  Bounds are the caller's: context < shape.contexts.
class SegmentView {
 public:
  SegmentView() = default;
  GIN_HOST_DEVICE SegmentView(void* base, const SegmentLayout& layout)
      : base_(static_cast<char*>(base)), layout_(layout) {}

  GIN_HOST_DEVICE SegmentHeader* header() const { return at<SegmentHeader>(0); }
  GIN_HOST_DEVICE ContextControl* control(std::uint32_t context) const {
    return at<ContextControl>(layout_.control) + context;
  }
  GIN_HOST_DEVICE std::uint64_t* done(std::uint32_t context) const {
    return at<std::uint64_t>(layout_.done + context * layout_.done_stride);
  }
  GIN_HOST_DEVICE std::uint64_t* signals(std::uint32_t context) const {
    return at<std::uint64_t>(layout_.signals + context * layout_.signal_stride);
  }
  GIN_HOST_DEVICE std::uint64_t* counters(std::uint32_t context) const {
    return at<std::uint64_t>(layout_.counters + context * layout_.counter_stride);
  }
  GIN_HOST_DEVICE Unit* ring(std::uint32_t context) const {
    return at<Unit>(layout_.rings + context * layout_.ring_stride);
  }
  GIN_HOST_DEVICE const SegmentLayout& layout() const { return layout_; }
  GIN_HOST_DEVICE void* base() const { return base_; }

 private:
  template <typename T>
  GIN_HOST_DEVICE T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }
  char* base_ = nullptr;
  SegmentLayout layout_{};
};

// gind's side: fills a zeroed segment's header; total_bytes last (pairs with header_fault).
inline void publish_header(const SegmentView& view, const SegmentShape& shape) {
  SegmentHeader* h = view.header();
  h->magic = kSegmentMagic;
  h->version = kSegmentVersion;
  h->header_bytes = sizeof(SegmentHeader);
  h->contexts = shape.contexts;
  h->ranks = shape.ranks;
  h->ring_units = shape.ring_units;
  h->signals = shape.signals;
  h->counters = shape.counters;
  store_release_sys(&h->total_bytes, view.layout().total_bytes);
}

// The client's side: null when the published header is the one this library computes, else what
// differs.  Pairs with publish_header.
inline const char* header_fault(const SegmentView& view, const SegmentShape& shape) {
  const SegmentHeader* h = view.header();
  const std::uint64_t total = load_acquire_sys(&h->total_bytes);
  if (total == 0) return "not ready";
  if (h->magic != kSegmentMagic) return "magic";
  if (h->version != kSegmentVersion) return "version";
  if (h->header_bytes != sizeof(SegmentHeader)) return "header size";
  if (h->contexts != shape.contexts || h->ranks != shape.ranks ||
      h->ring_units != shape.ring_units || h->signals != shape.signals ||
      h->counters != shape.counters) {
    return "shape";
  }
  return total == view.layout().total_bytes ? nullptr : "total size";
}

}  // namespace gin::queues
