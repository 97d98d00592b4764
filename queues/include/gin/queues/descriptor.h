// SPDX-License-Identifier: Apache-2.0
// What one record of the ring says, and how it is packed into one to four units.
//
// Bit budget (63 payload bits a half; a range is [first bit, width]):
//
//   unit 0 lo   op[0,4] more_units[4,2] action[6,3] has_counter[9,1] wide[10,1] peer[11,10]
//               dst_window[21,12] src_window[33,12] signal[45,16] zero[61,2]
//   unit 0 hi   dst_offset[0,47] addend[47,16]
//   transfer    (put, get, fetchAdd, compareSwap: unit 1)
//          lo   src_offset[0,47] counter[47,16]
//          hi   bytes[0,47] zero[47,16]
//   value       (putValue: unit 1)
//          lo   value 31..0 [0,32] bytes[32,4] zero[36,27]
//          hi   value 63..32 [0,32] zero[32,31]
//   operand     (fetchAdd: unit 2; compareSwap: units 2 and 3)
//          lo   31..0 [0,32] zero[32,31]
//          hi   63..32 [0,32] zero[32,31]
//   extension   (last unit when wide, or when the action is on an address)
//          lo   addend 31..0 [0,32] va_window[32,12] va_offset 46..31 [44,16] zero[60,3]
//          hi   addend 63..32 [0,32] va_offset 30..0 [32,31]
//   bad use     (op 15, one unit: the poster reports an argument that has no encoding)
//          lo   op[0,4] zero[4,2] field[6,8] zero[14,49]
//          hi   the value's low 63 bits
//
// So: signal 1 unit, put + signal + counter 2, + 64-bit addend or VA signal 3, putValue 2 (3),
// get 2, fetchAdd 3, compareSwap 4.  Limits that follow: 1,024 ranks, 4,096 windows, 65,536
// signals and counters a context, offsets and sizes below 2^47.
#pragma once

#include "gin/queues/platform.h"
#include "gin/queues/unit.h"

namespace gin::queues {

enum class Op : std::uint8_t {
  kNone = 0,
  kPut = 1,
  kPutValue = 2,
  kSignal = 3,
  kGet = 4,
  kFetchAdd = 5,
  kCompareSwap = 6,
  kResetVa = 7,
  kQuiet = 8,
  kBadUse = 15,
};

enum class RemoteAction : std::uint8_t {
  kNone = 0,
  kAddStrong = 1,    // indexed signal
  kAddWeak = 2,      // indexed signal
  kVaAddStrong = 3,  // 8-byte word in a window
  kVaAddWeak = 4,
};

// Names a descriptor's field in errors; the numbers travel in error words and bad-use records.
enum class Field : std::uint8_t {
  kNone = 0,
  kOp = 1,
  kReserved = 2,
  kPeer = 3,
  kDstWindow = 4,
  kSrcWindow = 5,
  kDstOffset = 6,
  kSrcOffset = 7,
  kBytes = 8,
  kSignal = 9,
  kCounter = 10,
  kRemoteAction = 11,
  kVaWindow = 12,
  kVaOffset = 13,
  kHole = 14,
  kContext = 15,
  kTeam = 16,
  kBarrier = 17,
  kBits = 18,
  kCount_ = 19,
};

inline constexpr std::uint32_t kMaxUnits = 4;
inline constexpr std::uint32_t kMaxRanks = 1u << 10;
inline constexpr std::uint32_t kMaxWindows = 1u << 12;
inline constexpr std::uint32_t kMaxSignals = 1u << 16;
inline constexpr std::uint32_t kMaxCounters = 1u << 16;
inline constexpr std::uint32_t kMaxContexts = 256;
inline constexpr std::uint64_t kMaxOffset = (std::uint64_t{1} << 47) - 1;
inline constexpr std::uint64_t kMaxBytes = kMaxOffset;

// A record, unpacked.  Fields an operation does not use are zero.
struct Descriptor {
  Op op = Op::kNone;
  RemoteAction action = RemoteAction::kNone;
  bool has_counter = false;
  std::uint32_t peer = 0;        // world rank
  std::uint32_t dst_window = 0;  // put: the peer's; get and atomics: the peer's, too ("remote")
  std::uint32_t src_window = 0;  // put: local source; get and atomics: where the result goes
  std::uint64_t dst_offset = 0;
  std::uint64_t src_offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t signal = 0;
  std::uint32_t counter = 0;
  std::uint64_t addend = 0;
  std::uint32_t va_window = 0;
  std::uint64_t va_offset = 0;
  std::uint64_t value = 0;    // putValue: the value; fetchAdd: the addend; compareSwap: the new one
  std::uint64_t compare = 0;  // compareSwap
  Field bad_field = Field::kNone;  // kBadUse only
};

GIN_HOST_DEVICE constexpr bool is_va(RemoteAction a) {
  return a == RemoteAction::kVaAddStrong || a == RemoteAction::kVaAddWeak;
}
GIN_HOST_DEVICE constexpr bool is_strong(RemoteAction a) {
  return a == RemoteAction::kAddStrong || a == RemoteAction::kVaAddStrong;
}

// Units of an operation without its extension; 0 for a code that is no operation.
GIN_HOST_DEVICE constexpr std::uint32_t base_units(Op op) {
  switch (op) {
    case Op::kSignal:
    case Op::kResetVa:
    case Op::kQuiet:
    case Op::kBadUse:
      return 1;
    case Op::kPut:
    case Op::kPutValue:
    case Op::kGet:
      return 2;
    case Op::kFetchAdd:
      return 3;
    case Op::kCompareSwap:
      return 4;
    default:
      return 0;
  }
}

namespace bits {
GIN_HOST_DEVICE constexpr std::uint64_t mask(unsigned width) {
  return (std::uint64_t{1} << width) - 1;
}
GIN_HOST_DEVICE constexpr std::uint64_t get(std::uint64_t word, unsigned at, unsigned width) {
  return (word >> at) & mask(width);
}
}  // namespace bits

// The first unit alone tells how many units the record has.
GIN_HOST_DEVICE constexpr std::uint32_t record_units(const Unit& first) {
  return 1 + static_cast<std::uint32_t>(bits::get(first.lo, 4, 2));
}

// A record ready to be stored: payload only, parity is added by store_unit.
struct Record {
  Unit unit[kMaxUnits];
  std::uint32_t units;
};

GIN_HOST_DEVICE inline Record encode_bad_use(Field field, std::uint64_t value) {
  Record r{};
  r.units = 1;
  r.unit[0].lo = static_cast<std::uint64_t>(Op::kBadUse) | static_cast<std::uint64_t>(field) << 6;
  r.unit[0].hi = value & kPayloadMask;
  return r;
}

// True when the remote action takes a unit of its own.
GIN_HOST_DEVICE constexpr bool is_wide(const Descriptor& d) {
  return d.action != RemoteAction::kNone && (is_va(d.action) || d.addend > 0xffff);
}

// The first field whose value has no encoding, or kNone.
GIN_HOST_DEVICE inline Field first_unencodable(const Descriptor& d) {
  if (d.peer >= kMaxRanks) return Field::kPeer;
  if (d.dst_window >= kMaxWindows) return Field::kDstWindow;
  if (d.src_window >= kMaxWindows) return Field::kSrcWindow;
  if (d.va_window >= kMaxWindows) return Field::kVaWindow;
  if (d.dst_offset > kMaxOffset) return Field::kDstOffset;
  if (d.src_offset > kMaxOffset) return Field::kSrcOffset;
  if (d.va_offset > kMaxOffset) return Field::kVaOffset;
  if (d.bytes > kMaxBytes || (d.op == Op::kPutValue && d.bytes > 8)) return Field::kBytes;
  if (d.signal >= kMaxSignals) return Field::kSignal;
  if (d.counter >= kMaxCounters) return Field::kCounter;
  if (base_units(d.op) == kMaxUnits && is_wide(d)) return Field::kRemoteAction;  // no unit is left
  return Field::kNone;
}

GIN_HOST_DEVICE inline std::uint64_t value_of(const Descriptor& d, Field f) {
  switch (f) {
    case Field::kPeer:
      return d.peer;
    case Field::kDstWindow:
      return d.dst_window;
    case Field::kSrcWindow:
      return d.src_window;
    case Field::kVaWindow:
      return d.va_window;
    case Field::kDstOffset:
      return d.dst_offset;
    case Field::kSrcOffset:
      return d.src_offset;
    case Field::kVaOffset:
      return d.va_offset;
    case Field::kBytes:
      return d.bytes;
    case Field::kSignal:
      return d.signal;
    case Field::kCounter:
      return d.counter;
    case Field::kRemoteAction:
      return static_cast<std::uint64_t>(d.action);
    case Field::kOp:
      return static_cast<std::uint64_t>(d.op);
    default:
      return 0;
  }
}

// Packs d.  A value without an encoding becomes a bad-use record, so that it reaches gind and puts
// the context in error by name instead of being cut to some other value.
GIN_HOST_DEVICE inline Record encode(const Descriptor& d) {
  if (const Field bad = first_unencodable(d); bad != Field::kNone) {
    return encode_bad_use(bad, value_of(d, bad));
  }
  const bool wide = is_wide(d);
  Record r{};
  r.units = base_units(d.op) + (wide ? 1 : 0);
  r.unit[0].lo =
      static_cast<std::uint64_t>(d.op) | static_cast<std::uint64_t>(r.units - 1) << 4 |
      static_cast<std::uint64_t>(d.action) << 6 | static_cast<std::uint64_t>(d.has_counter) << 9 |
      static_cast<std::uint64_t>(wide) << 10 | static_cast<std::uint64_t>(d.peer) << 11 |
      static_cast<std::uint64_t>(d.dst_window) << 21 |
      static_cast<std::uint64_t>(d.src_window) << 33 | static_cast<std::uint64_t>(d.signal) << 45;
  r.unit[0].hi = d.dst_offset | (wide ? 0 : d.addend << 47);
  switch (d.op) {
    case Op::kPut:
    case Op::kGet:
    case Op::kFetchAdd:
    case Op::kCompareSwap:
      r.unit[1].lo = d.src_offset | static_cast<std::uint64_t>(d.counter) << 47;
      r.unit[1].hi = d.bytes;
      break;
    case Op::kPutValue:
      r.unit[1].lo = (d.value & 0xffffffff) | d.bytes << 32;
      r.unit[1].hi = d.value >> 32;
      break;
    default:
      break;
  }
  if (d.op == Op::kFetchAdd || d.op == Op::kCompareSwap) {
    r.unit[2] = Unit{d.value & 0xffffffff, d.value >> 32};
  }
  if (d.op == Op::kCompareSwap) r.unit[3] = Unit{d.compare & 0xffffffff, d.compare >> 32};
  if (wide) {
    Unit& last = r.unit[base_units(d.op)];  // not by r.units: an index known when compiling
    last.lo = (d.addend & 0xffffffff) | static_cast<std::uint64_t>(d.va_window) << 32 |
              (d.va_offset >> 31) << 44;
    last.hi = d.addend >> 32 | (d.va_offset & bits::mask(31)) << 32;
  }
  return r;
}

// Unpacks a private copy of `n` units (never the ring itself).  Returns kNone, or the field that
// makes the record malformed; ranges that depend on tables (peer, window, signal ...) are the
// caller's to check.  Every bit that has no meaning must be zero.
GIN_HOST_DEVICE inline Field decode(const Unit* unit, std::uint32_t n, Descriptor* out) {
  const std::uint64_t lo = unit[0].lo & kPayloadMask;
  const std::uint64_t hi = unit[0].hi & kPayloadMask;
  Descriptor d{};
  d.op = static_cast<Op>(bits::get(lo, 0, 4));
  if (d.op == Op::kBadUse) {
    if (n != 1 || bits::get(lo, 14, 49) != 0) return Field::kReserved;
    const std::uint64_t field = bits::get(lo, 6, 8);
    d.bad_field = field < static_cast<std::uint64_t>(Field::kCount_) ? static_cast<Field>(field)
                                                                     : Field::kNone;
    d.value = hi;
    *out = d;
    return Field::kNone;
  }
  const std::uint64_t action = bits::get(lo, 6, 3);
  if (action > static_cast<std::uint64_t>(RemoteAction::kVaAddWeak)) return Field::kRemoteAction;
  d.action = static_cast<RemoteAction>(action);
  d.has_counter = bits::get(lo, 9, 1) != 0;
  const bool wide = bits::get(lo, 10, 1) != 0;
  d.peer = static_cast<std::uint32_t>(bits::get(lo, 11, 10));
  d.dst_window = static_cast<std::uint32_t>(bits::get(lo, 21, 12));
  d.src_window = static_cast<std::uint32_t>(bits::get(lo, 33, 12));
  d.signal = static_cast<std::uint32_t>(bits::get(lo, 45, 16));
  d.dst_offset = bits::get(hi, 0, 47);
  d.addend = bits::get(hi, 47, 16);
  const std::uint32_t base = base_units(d.op);
  if (base == 0) return Field::kOp;
  if (base + (wide ? 1 : 0) != n || n > kMaxUnits) return Field::kOp;
  if (is_va(d.action) && !wide) return Field::kRemoteAction;
  if (wide && d.action == RemoteAction::kNone) return Field::kRemoteAction;
  if (d.has_counter && (base == 1 || d.op == Op::kPutValue)) return Field::kCounter;  // no room
  std::uint64_t zero = bits::get(lo, 61, 2);
  if (base >= 2) {
    const std::uint64_t lo1 = unit[1].lo & kPayloadMask;
    const std::uint64_t hi1 = unit[1].hi & kPayloadMask;
    if (d.op == Op::kPutValue) {
      d.value = bits::get(lo1, 0, 32) | bits::get(hi1, 0, 32) << 32;
      d.bytes = bits::get(lo1, 32, 4);
      if (d.bytes > 8) return Field::kBytes;
      zero |= bits::get(lo1, 36, 27) | bits::get(hi1, 32, 31);
    } else {
      d.src_offset = bits::get(lo1, 0, 47);
      d.counter = static_cast<std::uint32_t>(bits::get(lo1, 47, 16));
      d.bytes = bits::get(hi1, 0, 47);
      zero |= bits::get(hi1, 47, 16);
    }
  }
  if (base >= 3) {
    d.value = bits::get(unit[2].lo, 0, 32) | bits::get(unit[2].hi, 0, 32) << 32;
    zero |= bits::get(unit[2].lo, 32, 31) | bits::get(unit[2].hi, 32, 31);
  }
  if (base >= 4) {
    d.compare = bits::get(unit[3].lo, 0, 32) | bits::get(unit[3].hi, 0, 32) << 32;
    zero |= bits::get(unit[3].lo, 32, 31) | bits::get(unit[3].hi, 32, 31);
  }
  if (wide) {
    const std::uint64_t lox = unit[n - 1].lo & kPayloadMask;
    const std::uint64_t hix = unit[n - 1].hi & kPayloadMask;
    zero |= d.addend | bits::get(lox, 60, 3);
    d.addend = bits::get(lox, 0, 32) | bits::get(hix, 0, 32) << 32;
    d.va_window = static_cast<std::uint32_t>(bits::get(lox, 32, 12));
    d.va_offset = bits::get(lox, 44, 16) << 31 | bits::get(hix, 32, 31);
    if (!is_va(d.action)) zero |= d.va_window | d.va_offset;
  }
  if (zero != 0) return Field::kReserved;
  *out = d;
  return Field::kNone;
}

}  // namespace gin::queues
