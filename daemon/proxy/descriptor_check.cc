// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/descriptor_check.h"

#include <fmt/format.h>

#include <array>

namespace gind {

using gin::queues::Descriptor;
using gin::queues::Field;
using gin::queues::Op;
using gin::queues::RemoteAction;

namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Field::kCount_)> kFieldNames = {
    "none",       "operation",  "reserved bits", "peer",    "dst window", "src window",
    "dst offset", "src offset", "bytes",         "signal",  "counter",    "remote action",
    "VA window",  "VA offset",  "hole",          "context", "team"};
static_assert(kFieldNames.back() != nullptr, "every Field has a name");

const WindowView* window_of(const RankView& view, std::uint32_t index) {
  return index < view.windows.size() ? view.windows[index] : nullptr;
}

bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return bytes <= size && offset <= size - bytes;
}

}  // namespace

const char* field_name(Field field) {
  const auto i = static_cast<std::size_t>(field);
  return i < kFieldNames.size() ? kFieldNames[i] : "unknown field";
}

const char* op_name(Op op) {
  switch (op) {
    case Op::kPut:
      return "put";
    case Op::kPutValue:
      return "putValue";
    case Op::kSignal:
      return "signal";
    case Op::kGet:
      return "get";
    case Op::kFetchAdd:
      return "fetchAdd";
    case Op::kCompareSwap:
      return "compareSwap";
    case Op::kResetVa:
      return "VA reset";
    case Op::kQuiet:
      return "quiet";
    case Op::kBadUse:
      return "bad use";
    case Op::kNone:
      break;
  }
  return "unknown operation";
}

Rejection check_descriptor(const Descriptor& d, const RankView& view, const ContextLimits& limits) {
  switch (d.op) {
    case Op::kPut:
    case Op::kPutValue:
    case Op::kSignal:
    case Op::kQuiet:
      break;
    case Op::kBadUse:
      return {d.bad_field == Field::kNone ? Field::kOp : d.bad_field, RejectReason::kMalformed,
              d.value};
    default:
      return {Field::kOp, RejectReason::kNotSupported, static_cast<std::uint64_t>(d.op)};
  }
  if (d.peer >= view.nranks) return {Field::kPeer, RejectReason::kPeer, d.peer};
  if (d.op == Op::kPut || d.op == Op::kPutValue) {
    const WindowView* dst = window_of(view, d.dst_window);
    if (dst == nullptr) return {Field::kDstWindow, RejectReason::kWindow, d.dst_window};
    if (d.op == Op::kPutValue && (d.bytes == 0 || d.bytes > 8)) {
      return {Field::kBytes, RejectReason::kBytes, d.bytes};
    }
    if (!fits(d.dst_offset, d.bytes, dst->part[d.peer].bytes)) {
      return {Field::kDstOffset, RejectReason::kOffset, d.dst_offset};
    }
  }
  if (d.op == Op::kPut) {
    const WindowView* src = window_of(view, d.src_window);
    if (src == nullptr) return {Field::kSrcWindow, RejectReason::kWindow, d.src_window};
    if (!fits(d.src_offset, d.bytes, src->bytes)) {
      return {Field::kSrcOffset, RejectReason::kOffset, d.src_offset};
    }
  }
  if (d.action != RemoteAction::kNone) {
    if (gin::queues::is_va(d.action)) {
      return {Field::kRemoteAction, RejectReason::kNotSupported,
              static_cast<std::uint64_t>(d.action)};
    }
    if (d.signal >= limits.signals) return {Field::kSignal, RejectReason::kSignal, d.signal};
  } else if (d.op == Op::kSignal) {
    return {Field::kRemoteAction, RejectReason::kMalformed, 0};
  }
  if (d.has_counter && (d.op != Op::kPut || d.counter >= limits.counters)) {
    return {Field::kCounter, RejectReason::kCounter, d.counter};
  }
  return {};
}

std::string describe(const Rejection& r, const Descriptor& d, const RankView& view,
                     const ContextLimits& limits) {
  const std::string head = fmt::format("{}: ", op_name(d.op));
  switch (r.field) {
    case Field::kPeer:
      if (d.op == Op::kBadUse) break;
      return head +
             fmt::format("peer {} is out of range: ranks are 0 to {}", r.value, view.nranks - 1);
    case Field::kDstWindow:
    case Field::kSrcWindow:
      if (d.op == Op::kBadUse) break;
      return head + fmt::format("{} {} is not registered", field_name(r.field), r.value);
    case Field::kDstOffset:
      if (d.op == Op::kBadUse) break;
      return head + fmt::format(
                        "dst offset {} + {} bytes is past the end of window {} on rank {}, "
                        "which has {} bytes",
                        d.dst_offset, d.bytes, d.dst_window, d.peer,
                        view.windows[d.dst_window]->part[d.peer].bytes);
    case Field::kSrcOffset:
      if (d.op == Op::kBadUse) break;
      return head + fmt::format(
                        "src offset {} + {} bytes is past the end of window {} on this "
                        "rank, which has {} bytes",
                        d.src_offset, d.bytes, d.src_window, view.windows[d.src_window]->bytes);
    case Field::kSignal:
      if (d.op == Op::kBadUse) break;
      return head +
             fmt::format("signal {} is out of range: the context has {}", r.value, limits.signals);
    case Field::kCounter:
      if (d.op == Op::kBadUse) break;
      return head + fmt::format("counter {} is out of range: the context has {}", r.value,
                                limits.counters);
    case Field::kBytes:
      if (d.op == Op::kBadUse) break;
      return head + fmt::format("{} bytes, expected 1 to 8", r.value);
    case Field::kOp:
    case Field::kRemoteAction:
      if (r.reason == RejectReason::kNotSupported) {
        return head +
               fmt::format("{} {} is not supported by this gind", field_name(r.field), r.value);
      }
      break;
    default:
      break;
  }
  if (d.op == Op::kBadUse) {
    return fmt::format("{} {} is out of range (reported by the poster)", field_name(r.field),
                       r.value);
  }
  return fmt::format("malformed record: {} has the value {}", field_name(r.field), r.value);
}

}  // namespace gind
