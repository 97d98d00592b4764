// SPDX-License-Identifier: Apache-2.0
#include "device_communicator.h"

#include "gin/queues/producer.h"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <new>
#include <utility>

namespace gind::client {
namespace {

namespace q = gin::queues;

// A requirement that is `unset` becomes the default; a negative one is refused.
Result<std::uint32_t> pick(const char* name, int asked, int unset, std::uint32_t fallback) {
  if (asked == unset) return fallback;
  if (asked < 0) {
    return Error{ginInvalidArgument, std::string(name) + " is " + std::to_string(asked) +
                                         ", expected a positive number, or " +
                                         std::to_string(unset) + " for the default"};
  }
  return static_cast<std::uint32_t>(asked);
}

}  // namespace

Result<PrivateMemory> PrivateMemory::allocate(std::uint64_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    return system_error("allocation of " + std::to_string(bytes) + " bytes", errno);
  }
  PrivateMemory m;
  m.data_ = static_cast<char*>(p);
  m.bytes_ = bytes;
  return m;
}
PrivateMemory::PrivateMemory(PrivateMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
PrivateMemory& PrivateMemory::operator=(PrivateMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
PrivateMemory::~PrivateMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<q::SegmentShape> shape_of(const ginDevCommRequirements_t& requirements,
                                 const protocol::HelloReply& defaults, int nranks) {
  const auto contexts = pick("contexts", requirements.contexts, 0, defaults.default_contexts);
  const auto signals = pick("signals", requirements.signals, -1, defaults.default_signals);
  const auto counters = pick("counters", requirements.counters, -1, defaults.default_counters);
  const auto units = pick("queueDepth", requirements.queueDepth, 0, defaults.default_ring_units);
  for (const auto* field : {&contexts, &signals, &counters, &units}) {
    if (!*field) return field->error();
  }
  const q::SegmentShape shape{contexts.value(), static_cast<std::uint32_t>(nranks), units.value(),
                              signals.value(), counters.value()};
  if (const q::ShapeFault fault = q::check_shape(shape); fault.field != nullptr) {
    return Error{ginInvalidArgument, std::string(fault.field) + ": " + std::to_string(fault.value) +
                                         ", expected " + std::to_string(fault.low) + " .. " +
                                         std::to_string(fault.high)};
  }
  return shape;
}

Result<std::unique_ptr<DeviceCommunicator>> DeviceCommunicator::prepare(
    const q::SegmentShape& shape, ginSharing_t sharing) {
  auto made = std::make_unique<DeviceCommunicator>();
  made->shape_ = shape;
  made->layout_ = q::layout_of(shape);
  made->handle.sharing = static_cast<std::uint32_t>(sharing);
  auto memfd = create_memfd("gin-control", made->layout_.total_bytes);
  if (!memfd) return memfd.error();
  made->memfd_ = std::move(memfd).value();
  auto mapping = Mapping::map(made->memfd_.get(), 0, made->layout_.total_bytes);
  if (!mapping) return mapping.error();
  made->segment_ = std::move(mapping).value();
  return made;
}

Result<void> DeviceCommunicator::finish(std::uint32_t id) {
  const q::SegmentView view(segment_.data(), layout_);
  if (const char* fault = q::header_fault(view, shape_); fault != nullptr) {
    const bool version = view.header()->version != q::kSegmentVersion;
    return Error{version ? ginVersionMismatch : ginInternalError,
                 std::string("the segment that gind has published differs in its ") + fault +
                     "; its layout has version " + std::to_string(view.header()->version) +
                     ", this library's version " + std::to_string(q::kSegmentVersion)};
  }
  const std::uint64_t last_posted = sizeof(q::ProducerState);
  const std::uint64_t signal_base = q::align_up(last_posted + shape_.ranks * 8ull, q::kCacheLine);
  const std::uint64_t counter_base =
      q::align_up(signal_base + shape_.signals * 8ull, q::kCacheLine);
  const std::uint64_t stride = q::align_up(counter_base + shape_.counters * 8ull, q::kCacheLine);
  auto state = PrivateMemory::allocate(stride * shape_.contexts);
  if (!state) return state.error();
  state_ = std::move(state).value();
  for (std::uint32_t c = 0; c < shape_.contexts; ++c) {
    auto* producer = new (state_.data() + c * stride) q::ProducerState;
    // Where gind begins to read; it has stored it before its reply.
    producer->head = producer->cached_consumed = q::load_acquire_sys(&view.control(c)->consumed);
    // The reset offsets stay 0: a faster peer's first signal may be here already.
  }
  handle.nRanks = static_cast<std::int32_t>(shape_.ranks);
  handle.contexts = shape_.contexts;
  handle.signals = shape_.signals;
  handle.counters = shape_.counters;
  handle.log2Depth = static_cast<std::uint32_t>(std::countr_zero(shape_.ring_units));
  handle.id = id;
  handle.segment = static_cast<char*>(segment_.data());
  handle.controlOffset = layout_.control;
  handle.doneOffset = layout_.done;
  handle.doneStride = layout_.done_stride;
  handle.signalOffset = layout_.signals;
  handle.signalStride = layout_.signal_stride;
  handle.counterOffset = layout_.counters;
  handle.counterStride = layout_.counter_stride;
  handle.ringOffset = layout_.rings;
  handle.ringStride = layout_.ring_stride;
  handle.state = state_.data();
  handle.stateStride = stride;
  handle.lastPostedOffset = last_posted;
  handle.signalBaseOffset = signal_base;
  handle.counterBaseOffset = counter_base;
  return {};
}

}  // namespace gind::client
