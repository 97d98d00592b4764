// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of records: every field's edges, one past them, and reserved bits.
#include "test_ring.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace gin::queues::testing {
namespace {

struct Shape {
  const char* name;
  Op op;
  RemoteAction action;
  std::uint64_t addend;
  std::uint32_t units;
};

const std::vector<Shape> kShapes = {
    {"signal", Op::kSignal, RemoteAction::kAddStrong, 1, 1},
    {"signal wide", Op::kSignal, RemoteAction::kAddWeak, 1u << 16, 2},
    {"signal va", Op::kSignal, RemoteAction::kVaAddStrong, 1, 2},
    {"put", Op::kPut, RemoteAction::kNone, 0, 2},
    {"put signal", Op::kPut, RemoteAction::kAddStrong, 0xffff, 2},
    {"put wide", Op::kPut, RemoteAction::kAddStrong, ~0ull, 3},
    {"put va", Op::kPut, RemoteAction::kVaAddWeak, 7, 3},
    {"putValue", Op::kPutValue, RemoteAction::kAddWeak, 1, 2},
    {"putValue va", Op::kPutValue, RemoteAction::kVaAddStrong, ~0ull, 3},
    {"get", Op::kGet, RemoteAction::kNone, 0, 2},
    {"fetchAdd", Op::kFetchAdd, RemoteAction::kNone, 0, 3},
    {"compareSwap", Op::kCompareSwap, RemoteAction::kNone, 0, 4},
    {"resetVa", Op::kResetVa, RemoteAction::kNone, 0, 1},
    {"quiet", Op::kQuiet, RemoteAction::kNone, 0, 1},
};

Descriptor base(const Shape& s) {
  Descriptor d{};
  d.op = s.op;
  d.action = s.action;
  d.addend = s.addend;
  return d;
}

bool has_transfer(Op op) {
  return op == Op::kPut || op == Op::kGet || op == Op::kFetchAdd || op == Op::kCompareSwap;
}

struct FieldCase {
  Field field;
  std::uint64_t max;
  std::function<void(Descriptor&, std::uint64_t)> set;
  std::function<bool(const Shape&)> applies;
};

const std::vector<FieldCase>& field_cases() {
  static const auto always = [](const Shape&) { return true; };
  static const auto transfer = [](const Shape& s) { return has_transfer(s.op); };
  static const auto va = [](const Shape& s) { return is_va(s.action); };
  static const std::vector<FieldCase> cases = {
      {Field::kPeer, kMaxRanks - 1,
       [](Descriptor& d, std::uint64_t v) { d.peer = static_cast<std::uint32_t>(v); }, always},
      {Field::kDstWindow, kMaxWindows - 1,
       [](Descriptor& d, std::uint64_t v) { d.dst_window = static_cast<std::uint32_t>(v); },
       always},
      {Field::kSrcWindow, kMaxWindows - 1,
       [](Descriptor& d, std::uint64_t v) { d.src_window = static_cast<std::uint32_t>(v); },
       always},
      {Field::kSignal, kMaxSignals - 1,
       [](Descriptor& d, std::uint64_t v) { d.signal = static_cast<std::uint32_t>(v); }, always},
      {Field::kDstOffset, kMaxOffset, [](Descriptor& d, std::uint64_t v) { d.dst_offset = v; },
       always},
      {Field::kSrcOffset, kMaxOffset, [](Descriptor& d, std::uint64_t v) { d.src_offset = v; },
       transfer},
      {Field::kBytes, kMaxBytes, [](Descriptor& d, std::uint64_t v) { d.bytes = v; }, transfer},
      {Field::kBytes, 8, [](Descriptor& d, std::uint64_t v) { d.bytes = v; },
       [](const Shape& s) { return s.op == Op::kPutValue; }},
      {Field::kCounter, kMaxCounters - 1,
       [](Descriptor& d, std::uint64_t v) { d.counter = static_cast<std::uint32_t>(v); }, transfer},
      {Field::kVaWindow, kMaxWindows - 1,
       [](Descriptor& d, std::uint64_t v) { d.va_window = static_cast<std::uint32_t>(v); }, va},
      {Field::kVaOffset, kMaxOffset, [](Descriptor& d, std::uint64_t v) { d.va_offset = v; }, va},
  };
  return cases;
}

void expect_round_trip(const Descriptor& d, std::uint32_t units, const std::string& what) {
  const Record r = encode(d);
  ASSERT_EQ(r.units, units) << what;
  ASSERT_EQ(record_units(r.unit[0]), units) << what;
  for (std::uint64_t parity : {0u, 1u}) {  // decoding ignores the lap
    Unit copy[kMaxUnits] = {};
    for (std::uint32_t i = 0; i < r.units; ++i) {
      ASSERT_EQ((r.unit[i].lo | r.unit[i].hi) & kParityMask, 0u) << what;
      store_unit(&copy[i], r.unit[i], parity);
    }
    Descriptor back{};
    ASSERT_EQ(decode(copy, r.units, &back), Field::kNone) << what;
    EXPECT_TRUE(equal(d, back)) << what;
  }
}

TEST(Descriptor, EveryShapeTakesItsDocumentedUnitsAndComesBack) {
  for (const Shape& s : kShapes) expect_round_trip(base(s), s.units, s.name);
}

TEST(Descriptor, EveryFieldComesBackAtItsEdgesAndInEachBit) {
  for (const Shape& s : kShapes) {
    for (const FieldCase& f : field_cases()) {
      if (!f.applies(s)) continue;
      const std::string what = std::string(s.name) + " field " + std::to_string(int(f.field));
      for (std::uint64_t v = 1; v <= f.max; v <<= 1) {
        Descriptor d = base(s);
        f.set(d, v);
        expect_round_trip(d, s.units, what);
      }
      Descriptor d = base(s);
      f.set(d, f.max);
      expect_round_trip(d, s.units, what);
    }
  }
}

TEST(Descriptor, AllFieldsAtTheirMaximumDoNotRunIntoEachOther) {
  for (const Shape& s : kShapes) {
    Descriptor d = base(s);
    for (const FieldCase& f : field_cases()) {
      if (f.applies(s)) f.set(d, f.max);
    }
    if (has_transfer(s.op)) d.has_counter = true;
    if (s.op == Op::kPutValue || s.op == Op::kFetchAdd) d.value = ~0ull;
    if (s.op == Op::kCompareSwap) d.value = d.compare = ~0ull;
    expect_round_trip(d, s.units, s.name);
  }
}

TEST(Descriptor, SixtyFourBitOperandsComeBackInEachBit) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t v = std::uint64_t{1} << bit;
    for (const Shape& s : kShapes) {
      Descriptor d = base(s);
      if (s.op == Op::kPutValue || s.op == Op::kFetchAdd || s.op == Op::kCompareSwap) d.value = v;
      if (s.op == Op::kCompareSwap) d.compare = ~v;
      if (is_va(s.action)) d.addend = v;
      expect_round_trip(d, s.units, s.name);
    }
  }
}

TEST(Descriptor, OnePastAFieldsEdgeBecomesABadUseRecordThatNamesIt) {
  for (const Shape& s : kShapes) {
    for (const FieldCase& f : field_cases()) {
      if (!f.applies(s)) continue;
      Descriptor d = base(s);
      f.set(d, f.max + 1);
      const Record r = encode(d);
      Descriptor back{};
      ASSERT_EQ(r.units, 1u) << s.name;
      ASSERT_EQ(decode(r.unit, r.units, &back), Field::kNone) << s.name;
      EXPECT_EQ(back.op, Op::kBadUse) << s.name;
      EXPECT_EQ(back.bad_field, f.field) << s.name;
      EXPECT_EQ(back.value, f.max + 1) << s.name;
    }
  }
}

TEST(Descriptor, EveryReservedBitIsRefused) {
  // {shape, unit, true for lo, first bit, width}: the zero[...] ranges of descriptor.h.
  struct Range {
    const char* shape;
    unsigned unit;
    bool lo;
    unsigned at, width;
  };
  const std::vector<Range> ranges = {
      {"signal", 0, true, 61, 2},        {"put", 1, false, 47, 16},
      {"get", 1, false, 47, 16},         {"putValue", 1, true, 36, 27},
      {"putValue", 1, false, 32, 31},    {"fetchAdd", 2, true, 32, 31},
      {"fetchAdd", 2, false, 32, 31},    {"compareSwap", 3, true, 32, 31},
      {"compareSwap", 3, false, 32, 31}, {"put wide", 2, true, 60, 3},
      {"put wide", 0, false, 47, 16},    {"signal va", 0, false, 47, 16},
  };
  for (const Range& range : ranges) {
    for (const Shape& s : kShapes) {
      if (std::string(s.name) != range.shape) continue;
      for (unsigned bit = range.at; bit < range.at + range.width; ++bit) {
        Record r = encode(base(s));
        (range.lo ? r.unit[range.unit].lo : r.unit[range.unit].hi) |= std::uint64_t{1} << bit;
        Descriptor back{};
        EXPECT_EQ(decode(r.unit, r.units, &back), Field::kReserved)
            << s.name << " unit " << range.unit << (range.lo ? " lo" : " hi") << " bit " << bit;
      }
    }
  }
  for (unsigned bit = 14; bit < 63; ++bit) {
    Record r = encode_bad_use(Field::kPeer, 9);
    r.unit[0].lo |= std::uint64_t{1} << bit;
    Descriptor back{};
    EXPECT_EQ(decode(r.unit, 1, &back), Field::kReserved) << "bad use, bit " << bit;
  }
}

TEST(Descriptor, AUnitCountThatIsNotTheOperationsIsRefused) {
  for (const Shape& s : kShapes) {
    for (std::uint32_t n = 1; n <= kMaxUnits; ++n) {
      Record r = encode(base(s));
      if (n == s.units) continue;
      Descriptor back{};
      EXPECT_EQ(decode(r.unit, n, &back), Field::kOp) << s.name << " as " << n;
    }
  }
}

TEST(Descriptor, PartsThatAnOperationHasNoRoomForAreRefused) {
  const auto decoded = [](Record r, auto change) {
    change(r);
    Descriptor back{};
    return decode(r.unit, r.units, &back);
  };
  const auto counter = [](Record& r) { r.unit[0].lo |= 1u << 9; };
  for (const Shape& s : kShapes) {
    EXPECT_EQ(decoded(encode(base(s)), counter),
              has_transfer(s.op) ? Field::kNone : Field::kCounter)
        << s.name;
  }
  const Record value = encode(base({"putValue", Op::kPutValue, RemoteAction::kNone, 0, 2}));
  for (std::uint64_t bytes = 9; bytes < 16; ++bytes) {
    EXPECT_EQ(decoded(value, [&](Record& r) { r.unit[1].lo |= bytes << 32; }), Field::kBytes);
  }
  const Record wide = encode(base({"wide", Op::kPut, RemoteAction::kAddStrong, ~0ull, 3}));
  EXPECT_EQ(decoded(wide, [](Record& r) { r.unit[2].lo |= 1ull << 32; }), Field::kReserved);
  EXPECT_EQ(decoded(wide, [](Record& r) { r.unit[2].hi |= 1ull << 32; }), Field::kReserved);
}

TEST(Descriptor, UnknownOperationsAndActionsAreRefused) {
  for (std::uint64_t op : {0u, 9u, 10u, 11u, 12u, 13u, 14u}) {
    for (std::uint32_t n = 1; n <= kMaxUnits; ++n) {
      Unit unit[kMaxUnits] = {};
      unit[0].lo = op | std::uint64_t{n - 1} << 4;
      Descriptor back{};
      EXPECT_EQ(decode(unit, n, &back), Field::kOp) << op;
    }
  }
  for (std::uint64_t action : {5u, 6u, 7u}) {
    Record r = encode(base(kShapes[0]));
    r.unit[0].lo = (r.unit[0].lo & ~(std::uint64_t{7} << 6)) | action << 6;
    Descriptor back{};
    EXPECT_EQ(decode(r.unit, r.units, &back), Field::kRemoteAction) << action;
  }
}

}  // namespace
}  // namespace gin::queues::testing
