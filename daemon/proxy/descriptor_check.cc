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
    "none",       "operation",     "reserved bits", "peer",      "dst window",
    "src window", "dst offset",    "src offset",    "bytes",     "signal",
    "counter",    "remote action", "VA window",     "VA offset", "hole",
    "context",    "team",          "barrier",       "bits"};
static_assert(kFieldNames.back() != nullptr, "every Field has a name");

const WindowView* window_of(const RankView& view, std::uint32_t index) {
  return index < view.windows.size() ? view.windows[index] : nullptr;
}

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return bytes <= size && offset <= size - bytes;
}

bool is_atomic(Op op) { return op == Op::kFetchAdd || op == Op::kCompareSwap; }

// Bytes at dst_window + dst_offset and src_window + src_offset that an operation touches.
std::uint64_t extent(const Descriptor& d) {
  return is_atomic(d.op) || d.op == Op::kResetVa ? kWord : d.bytes;
}

Rejection check_places(const Descriptor& d, const RankView& view) {
  const bool word = is_atomic(d.op) || d.op == Op::kResetVa;
  const WindowView* dst = window_of(view, d.dst_window);
  if (dst == nullptr) return {Field::kDstWindow, RejectReason::kWindow, d.dst_window};
  if (d.op == Op::kPutValue && (d.bytes == 0 || d.bytes > 8)) {
    return {Field::kBytes, RejectReason::kBytes, d.bytes};
  }
  if (word && d.bytes != 0) return {Field::kBytes, RejectReason::kMalformed, d.bytes};
  if (word && d.dst_offset % kWord != 0) {
    return {Field::kDstOffset, RejectReason::kAlignment, d.dst_offset};
  }
  if (!fits(d.dst_offset, extent(d), dst->part[d.peer].bytes)) {
    return {Field::kDstOffset, RejectReason::kOffset, d.dst_offset};
  }
  if (d.op == Op::kPutValue || d.op == Op::kResetVa) return {};
  const WindowView* src = window_of(view, d.src_window);
  if (src == nullptr) return {Field::kSrcWindow, RejectReason::kWindow, d.src_window};
  if (word && d.src_offset % kWord != 0) {
    return {Field::kSrcOffset, RejectReason::kAlignment, d.src_offset};
  }
  if (!fits(d.src_offset, extent(d), src->bytes)) {
    return {Field::kSrcOffset, RejectReason::kOffset, d.src_offset};
  }
  return {};
}

Rejection check_action(const Descriptor& d, const RankView& view, const ContextLimits& limits) {
  if (d.action == RemoteAction::kNone) {
    if (d.op != Op::kSignal) return {};
    return {Field::kRemoteAction, RejectReason::kMalformed, 0};
  }
  if (d.op != Op::kPut && d.op != Op::kPutValue && d.op != Op::kSignal) {
    return {Field::kRemoteAction, RejectReason::kMalformed, static_cast<std::uint64_t>(d.action)};
  }
  if (!gin::queues::is_va(d.action)) {
    if (d.signal >= limits.signals) return {Field::kSignal, RejectReason::kSignal, d.signal};
    return {};
  }
  const WindowView* window = window_of(view, d.va_window);
  if (window == nullptr || !window->strict) {
    return {Field::kVaWindow, RejectReason::kWindow, d.va_window};
  }
  if (d.va_offset % kWord != 0) return {Field::kVaOffset, RejectReason::kAlignment, d.va_offset};
  if (!fits(d.va_offset, kWord, window->part[d.peer].bytes)) {
    return {Field::kVaOffset, RejectReason::kOffset, d.va_offset};
  }
  return {};
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
  if (d.op == Op::kBadUse) {
    return {d.bad_field == Field::kNone ? Field::kOp : d.bad_field, RejectReason::kMalformed,
            d.value};
  }
  if (gin::queues::base_units(d.op) == 0) {
    return {Field::kOp, RejectReason::kNotSupported, static_cast<std::uint64_t>(d.op)};
  }
  if (d.peer >= view.nranks) return {Field::kPeer, RejectReason::kPeer, d.peer};
  if (d.op == Op::kResetVa) {
    // A local word, and one that signals may be in.
    if (d.peer != view.rank) return {Field::kPeer, RejectReason::kMalformed, d.peer};
    const WindowView* window = window_of(view, d.dst_window);
    if (window != nullptr && !window->strict) {
      return {Field::kVaWindow, RejectReason::kWindow, d.dst_window};
    }
  }
  if (d.op != Op::kSignal && d.op != Op::kQuiet) {
    if (const Rejection place = check_places(d, view)) return place;
  }
  if (const Rejection action = check_action(d, view, limits)) return action;
  if (d.has_counter && ((d.op != Op::kPut && d.op != Op::kGet) || d.counter >= limits.counters)) {
    return {Field::kCounter, RejectReason::kCounter, d.counter};
  }
  return {};
}

std::string describe(const Rejection& r, const Descriptor& d, const RankView& view,
                     const ContextLimits& limits) {
  const std::string head = fmt::format("{}: ", op_name(d.op));
  if (r.reason == RejectReason::kAlignment) {
    return head + fmt::format("{} {} is not a multiple of 8", field_name(r.field), r.value);
  }
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
                        d.dst_offset, extent(d), d.dst_window, d.peer,
                        view.windows[d.dst_window]->part[d.peer].bytes);
    case Field::kSrcOffset:
      if (d.op == Op::kBadUse) break;
      return head + fmt::format(
                        "src offset {} + {} bytes is past the end of window {} on this "
                        "rank, which has {} bytes",
                        d.src_offset, extent(d), d.src_window, view.windows[d.src_window]->bytes);
    case Field::kVaWindow:
      if (d.op == Op::kBadUse) break;
      if (window_of(view, static_cast<std::uint32_t>(r.value)) != nullptr) {
        return head + fmt::format(
                          "window {} holds no VA signals: it was registered without "
                          "GIN_WIN_STRICT_ORDERING",
                          r.value);
      }
      return head + fmt::format("{} {} is not registered", field_name(r.field), r.value);
    case Field::kVaOffset:
      if (d.op == Op::kBadUse) break;
      return head + fmt::format(
                        "VA offset {} + 8 bytes is past the end of window {} on rank {}, "
                        "which has {} bytes",
                        d.va_offset, d.va_window, d.peer,
                        view.windows[d.va_window]->part[d.peer].bytes);
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
      if (d.op == Op::kBadUse) break;
      return head + fmt::format("{} {} is not one that it can have", field_name(r.field), r.value);
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
