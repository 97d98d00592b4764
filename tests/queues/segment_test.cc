// SPDX-License-Identifier: Apache-2.0
#include "gin/queues/segment.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace gin::queues {
namespace {

const std::vector<SegmentShape> kShapes = {
    {1, 1, kMinRingUnits, 0, 0},
    {1, 1, kMinRingUnits, 1, 1},
    {4, 2, 4096, 64, 64},
    {7, 129, 128, 65, 9},
    {kMaxContexts, kMaxRanks, kMaxRingUnits, kMaxSignals, kMaxCounters},
};

TEST(Segment, RegionsAreInOrderPageAlignedAndDoNotOverlap) {
  for (const SegmentShape& s : kShapes) {
    ASSERT_EQ(check_shape(s).field, nullptr);
    const SegmentLayout l = layout_of(s);
    EXPECT_GE(l.control, sizeof(SegmentHeader));
    EXPECT_GE(l.done, l.control + s.contexts * sizeof(ContextControl));
    EXPECT_GE(l.done_stride, s.ranks * 8ull);
    EXPECT_GE(l.signals, l.done + s.contexts * l.done_stride);
    EXPECT_GE(l.signal_stride, s.signals * 8ull);
    EXPECT_GE(l.counters, l.signals + s.contexts * l.signal_stride);
    EXPECT_GE(l.counter_stride, s.counters * 8ull);
    EXPECT_GE(l.rings, l.counters + s.contexts * l.counter_stride);
    EXPECT_GE(l.total_bytes, l.rings + s.contexts * l.ring_stride);
    EXPECT_EQ(l.ring_stride, s.ring_units * 16ull);
    for (std::uint64_t at : {l.control, l.done, l.signals, l.counters, l.rings, l.total_bytes}) {
      EXPECT_EQ(at % kPage, 0u);
    }
    for (std::uint64_t stride : {l.done_stride, l.signal_stride, l.counter_stride, l.ring_stride}) {
      EXPECT_EQ(stride % kCacheLine, 0u);
    }
  }
}

TEST(Segment, WordsOfDifferentContextsShareNoCacheLine) {
  const SegmentShape s{3, 5, 64, 9, 9};
  const SegmentLayout l = layout_of(s);
  alignas(kPage) static char memory[1 << 16];
  ASSERT_LE(l.total_bytes, sizeof memory);
  const SegmentView v(memory, l);
  const auto line = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) / kCacheLine; };
  EXPECT_LT(line(&v.done(0)[s.ranks - 1]), line(v.done(1)));
  EXPECT_LT(line(&v.signals(0)[s.signals - 1]), line(v.signals(1)));
  EXPECT_LT(line(&v.counters(0)[s.counters - 1]), line(v.counters(1)));
  EXPECT_LT(line(&v.ring(0)[s.ring_units - 1]), line(v.ring(1)));
  EXPECT_NE(line(&v.control(0)->consumed), line(&v.control(0)->error));
  EXPECT_LT(line(&v.control(0)->error), line(v.control(1)));
}

TEST(Segment, ShapesOutsideTheLimitsAreNamed) {
  const SegmentShape good{4, 2, 4096, 64, 64};
  const auto fault = [&](auto change) {
    SegmentShape s = good;
    change(s);
    const ShapeFault f = check_shape(s);
    return f.field == nullptr ? std::string() : std::string(f.field);
  };
  EXPECT_EQ(fault([](SegmentShape&) {}), "");
  EXPECT_EQ(fault([](SegmentShape& s) { s.contexts = 0; }), "contexts");
  EXPECT_EQ(fault([](SegmentShape& s) { s.contexts = kMaxContexts + 1; }), "contexts");
  EXPECT_EQ(fault([](SegmentShape& s) { s.ranks = 0; }), "ranks");
  EXPECT_EQ(fault([](SegmentShape& s) { s.ranks = kMaxRanks + 1; }), "ranks");
  EXPECT_NE(fault([](SegmentShape& s) { s.ring_units = 4095; }), "");
  EXPECT_NE(fault([](SegmentShape& s) { s.ring_units = kMinRingUnits / 2; }), "");
  EXPECT_NE(fault([](SegmentShape& s) { s.ring_units = kMaxRingUnits * 2; }), "");
  EXPECT_NE(fault([](SegmentShape& s) { s.signals = kMaxSignals + 1; }), "");
  EXPECT_NE(fault([](SegmentShape& s) { s.counters = kMaxCounters + 1; }), "");
}

class Header : public ::testing::Test {
 protected:
  Header() : view_(memory_, layout_of(shape_)) { std::memset(memory_, 0, sizeof memory_); }
  SegmentShape shape_{1, 2, 64, 8, 8};
  alignas(kPage) char memory_[1 << 16];
  SegmentView view_;
};

TEST_F(Header, IsNotReadyUntilPublishedAndThenAccepted) {
  ASSERT_STREQ(header_fault(view_, shape_), "not ready");
  publish_header(view_, shape_);
  EXPECT_EQ(header_fault(view_, shape_), nullptr);
}

TEST_F(Header, EachDifferenceIsNamed) {
  publish_header(view_, shape_);
  SegmentHeader& h = *view_.header();
  const SegmentHeader good = h;
  const auto fault = [&](auto change) {
    h = good;
    change();
    const char* f = header_fault(view_, shape_);
    return f == nullptr ? std::string() : std::string(f);
  };
  EXPECT_EQ(fault([&] { h.magic ^= 1; }), "magic");
  EXPECT_EQ(fault([&] { h.version += 1; }), "version");
  EXPECT_EQ(fault([&] { h.header_bytes += 64; }), "header size");
  EXPECT_EQ(fault([&] { h.contexts += 1; }), "shape");
  EXPECT_EQ(fault([&] { h.ranks += 1; }), "shape");
  EXPECT_EQ(fault([&] { h.ring_units *= 2; }), "shape");
  EXPECT_EQ(fault([&] { h.signals += 1; }), "shape");
  EXPECT_EQ(fault([&] { h.counters += 1; }), "shape");
  EXPECT_EQ(fault([&] { h.total_bytes += kPage; }), "total size");
}

// The layout is an ABI between gind and libginclient of the same segment version: a change here
// without a new kSegmentVersion would make old and new ones misread each other.
TEST(Segment, LayoutOfVersionOneIsFrozen) {
  ASSERT_EQ(kSegmentVersion, 1u);
  const SegmentLayout l = layout_of({4, 2, 4096, 64, 64});
  EXPECT_EQ(l.control, 4096u);
  EXPECT_EQ(l.done, 8192u);
  EXPECT_EQ(l.signals, 12288u);
  EXPECT_EQ(l.counters, 16384u);
  EXPECT_EQ(l.rings, 20480u);
  EXPECT_EQ(l.total_bytes, 20480u + 4 * 65536u);
  EXPECT_EQ(offsetof(ContextControl, consumed), 0u);
  EXPECT_EQ(offsetof(ContextControl, done_all), 8u);
  EXPECT_EQ(offsetof(ContextControl, error), 64u);
  EXPECT_EQ(offsetof(SegmentHeader, version), 8u);
  EXPECT_EQ(offsetof(SegmentHeader, total_bytes), 48u);
}

}  // namespace
}  // namespace gin::queues
