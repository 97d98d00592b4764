// SPDX-License-Identifier: Apache-2.0
#include "device_communicator.h"

#include "gin/queues/producer.h"
#include "handle_layout.h"

#include <algorithm>
#include <cstring>
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

Result<DevCommPlan> plan_of(const ginDevCommRequirements_t& requirements,
                            const protocol::HelloReply& defaults, int nranks) {
  const auto contexts = pick("contexts", requirements.contexts, 0, defaults.default_contexts);
  const auto signals = pick("signals", requirements.signals, -1, defaults.default_signals);
  const auto counters = pick("counters", requirements.counters, -1, defaults.default_counters);
  const auto units = pick("queueDepth", requirements.queueDepth, 0, defaults.default_ring_units);
  const auto asked = pick("barriers", requirements.barriers, -1, defaults.default_barriers);
  for (const auto* field : {&contexts, &signals, &counters, &units, &asked}) {
    if (!*field) return field->error();
  }
  // By default as many as find room behind the application's signals.
  const auto ranks = static_cast<std::uint32_t>(nranks);
  const std::uint32_t most =
      signals.value() < q::kMaxSignals ? (q::kMaxSignals - signals.value()) / ranks : 0;
  const std::uint32_t barriers =
      requirements.barriers == -1 ? std::min(asked.value(), most) : asked.value();
  if (signals.value() <= q::kMaxSignals && barriers > most) {
    return Error{ginInvalidArgument,
                 "barriers: " + std::to_string(barriers) + ", expected 0 .. " +
                     std::to_string(most) + ": each takes a signal for each of " +
                     std::to_string(ranks) + " ranks, " + std::to_string(signals.value()) +
                     " signals are the application's, and a context has at most " +
                     std::to_string(q::kMaxSignals)};
  }
  const q::SegmentShape shape{contexts.value(), ranks, units.value(),
                              signals.value() + barriers * ranks, counters.value()};
  if (const q::ShapeFault fault = q::check_shape(shape); fault.field != nullptr) {
    return Error{ginInvalidArgument, std::string(fault.field) + ": " + std::to_string(fault.value) +
                                         ", expected " + std::to_string(fault.low) + " .. " +
                                         std::to_string(fault.high)};
  }
  return DevCommPlan{shape, signals.value(), barriers};
}

Result<std::unique_ptr<DeviceCommunicator>> DeviceCommunicator::prepare(const DevCommPlan& plan,
                                                                        ginSharing_t sharing,
                                                                        std::shared_ptr<Gpu> gpu) {
  auto made = std::make_unique<DeviceCommunicator>();
  made->plan_ = plan;
  made->shape_ = plan.shape;
  made->layout_ = q::layout_of(plan.shape);
  made->gpu_ = std::move(gpu);
  made->handle.sharing = static_cast<std::uint32_t>(sharing);
  made->handle.device = made->gpu_ != nullptr ? made->gpu_->ordinal() : -1;
  auto memfd = create_memfd("gin-control", made->layout_.total_bytes);
  if (!memfd) return memfd.error();
  made->memfd_ = std::move(memfd).value();
  auto mapping = Mapping::map(made->memfd_.get(), 0, made->layout_.total_bytes);
  if (!mapping) return mapping.error();
  made->segment_ = std::move(mapping).value();
  if (made->gpu_ != nullptr) {
    auto mapped = made->gpu_->map(made->segment_.data(), made->layout_.total_bytes);
    if (!mapped) return mapped.error();
    made->gpu_segment_ = std::move(mapped).value();
  }
  return made;
}

Result<void> DeviceCommunicator::write_state(std::uint64_t offset, const void* from,
                                             std::uint64_t bytes) {
  if (gpu_ != nullptr) return gpu_->write(gpu_state_.address() + offset, from, bytes);
  std::memcpy(state_.data() + offset, from, bytes);
  return {};
}

Result<void> DeviceCommunicator::make_state(const std::vector<std::uint64_t>& start,
                                            const TeamTables& teams) {
  lay_out_handle(shape_, plan_.signals, plan_.barriers, &handle);
  const std::uint64_t stride = handle.stateStride;
  const std::uint64_t local_table = stride * shape_.contexts;
  const std::uint64_t rail_table = local_table + teams.local.size() * sizeof teams.local[0];
  const std::uint64_t bytes = rail_table + teams.rail.size() * sizeof teams.rail[0];
  if (gpu_ != nullptr) {
    auto memory = gpu_->allocate(bytes);
    if (!memory) return memory.error();
    gpu_state_ = std::move(memory).value();
    handle.state = reinterpret_cast<char*>(gpu_state_.address());
  } else {
    auto memory = PrivateMemory::allocate(bytes);
    if (!memory) return memory.error();
    state_ = std::move(memory).value();
    handle.state = state_.data();
  }
  for (std::uint32_t c = 0; c < shape_.contexts; ++c) {
    // The reset offsets stay 0: a faster peer's first signal may be here already.
    q::ProducerState producer;
    producer.head = producer.cached_consumed = start[c];
    if (auto r = write_state(c * stride, &producer, sizeof producer); !r) return r;
  }
  if (auto r = write_state(local_table, teams.local.data(), rail_table - local_table); !r) return r;
  if (auto r = write_state(rail_table, teams.rail.data(), bytes - rail_table); !r) return r;
  handle.localRanks = reinterpret_cast<const std::uint16_t*>(handle.state + local_table);
  handle.nLocalRanks = static_cast<std::int32_t>(teams.local.size());
  handle.localRank = teams.local_rank;
  handle.railRanks = reinterpret_cast<const std::uint16_t*>(handle.state + rail_table);
  handle.nRailRanks = static_cast<std::int32_t>(teams.rail.size());
  handle.railRank = teams.rail_rank;
  return {};
}

Result<void> DeviceCommunicator::finish(std::uint32_t id, const TeamTables& teams) {
  const q::SegmentView view(segment_.data(), layout_);
  if (const char* fault = q::header_fault(view, shape_); fault != nullptr) {
    const bool version = view.header()->version != q::kSegmentVersion;
    return Error{version ? ginVersionMismatch : ginInternalError,
                 std::string("the segment that gind has published differs in its ") + fault +
                     "; its layout has version " + std::to_string(view.header()->version) +
                     ", this library's version " + std::to_string(q::kSegmentVersion)};
  }
  std::vector<std::uint64_t> start;
  for (std::uint32_t c = 0; c < shape_.contexts; ++c) {
    // Where gind begins to read; it has stored it before its reply.
    start.push_back(q::load_acquire_sys(&view.control(c)->consumed));
  }
  if (auto made = make_state(start, teams); !made) return made;
  handle.id = id;
  handle.segment = gpu_ != nullptr ? reinterpret_cast<char*>(gpu_segment_.device_address())
                                   : static_cast<char*>(segment_.data());
  return {};
}

}  // namespace gind::client
