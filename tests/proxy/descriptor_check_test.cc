// SPDX-License-Identifier: Apache-2.0
// Every field of a descriptor at its edge and one past it; the refusal names field, value and
// limit.
#include "daemon/proxy/descriptor_check.h"

#include <gtest/gtest.h>

#include <functional>

namespace gind {
namespace {

using gin::queues::Descriptor;
using gin::queues::Field;
using gin::queues::Op;
using gin::queues::RemoteAction;

class DescriptorCheck : public testing::Test {
 protected:
  DescriptorCheck() {
    window_.base = memory_;
    window_.bytes = 100;
    window_.part = {{100, 0, 0}, {50, 0, 0}, {0, 0, 0}};
    view_.nranks = 3;
    view_.windows.resize(gin::queues::kMaxWindows);
    view_.windows[7] = &window_;
    strict_ = window_;
    strict_.strict = true;
    view_.windows[5] = &strict_;
    good_.op = Op::kPut;
    good_.peer = 1;
    good_.dst_window = good_.src_window = 7;
    good_.dst_offset = 10;
    good_.src_offset = 60;
    good_.bytes = 40;
    good_.action = RemoteAction::kAddStrong;
    good_.signal = 3;
    good_.has_counter = true;
    good_.counter = 5;
  }

  // The words of the refusal, "" when it is accepted.
  std::string refusal(const std::function<void(Descriptor&)>& change, Field* field = nullptr) {
    Descriptor d = good_;
    change(d);
    const Rejection r = check_descriptor(d, view_, limits_);
    if (field != nullptr) *field = r.field;
    return r ? describe(r, d, view_, limits_) : std::string();
  }

  char memory_[100] = {};
  static void as_get(Descriptor& d) { d.op = Op::kGet, d.action = RemoteAction::kNone; }
  static void as_atomic(Descriptor& d) {
    as_get(d);
    d.op = Op::kFetchAdd;
    d.bytes = 0, d.has_counter = false;
    d.dst_offset = 40, d.src_offset = 88;
  }
  static void as_va(Descriptor& d) {
    d.action = RemoteAction::kVaAddStrong;
    d.va_window = 5, d.va_offset = 40;
  }
  static void as_reset(Descriptor& d) {
    d = Descriptor{};
    d.op = Op::kResetVa;
    d.dst_window = 5, d.dst_offset = 88;
  }
  WindowView window_;
  WindowView strict_;
  RankView view_;
  ContextLimits limits_{4, 6};
  Descriptor good_;
};

TEST_F(DescriptorCheck, AcceptsEveryFieldAtItsEdge) {
  EXPECT_EQ(refusal([](Descriptor&) {}), "");
  EXPECT_EQ(refusal([](Descriptor& d) { d.peer = 2, d.dst_offset = 0, d.bytes = 0; }), "");
  EXPECT_EQ(refusal([](Descriptor& d) { d.dst_offset = 50, d.bytes = 0; }), "");
  EXPECT_EQ(refusal([](Descriptor& d) { d.src_offset = 100, d.bytes = 0; }), "");
  EXPECT_EQ(refusal([](Descriptor& d) { as_get(d); }), "");
  EXPECT_EQ(refusal([](Descriptor& d) { as_atomic(d); }), "");
  EXPECT_EQ(refusal([](Descriptor& d) { as_atomic(d), d.op = Op::kCompareSwap; }), "");
  EXPECT_EQ(refusal([](Descriptor& d) { as_va(d); }), "");
  EXPECT_EQ(refusal([](Descriptor& d) { as_va(d), d.action = RemoteAction::kVaAddWeak; }), "");
  EXPECT_EQ(refusal([](Descriptor& d) { as_reset(d); }), "");
}

TEST_F(DescriptorCheck, RefusesEveryFieldOnePastItsEdgeByName) {
  struct Case {
    std::function<void(Descriptor&)> change;
    Field field;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases = {
      {[](Descriptor& d) { d.peer = 3; }, Field::kPeer, {"peer 3", "0 to 2"}},
      {[](Descriptor& d) { d.dst_window = 8; }, Field::kDstWindow, {"dst window 8", "registered"}},
      {[](Descriptor& d) { d.dst_window = 4095; }, Field::kDstWindow, {"4095"}},
      {[](Descriptor& d) { d.src_window = 6; }, Field::kSrcWindow, {"src window 6", "registered"}},
      {[](Descriptor& d) { d.dst_offset = 11; },
       Field::kDstOffset,
       {"dst offset 11 + 40", "window 7 on rank 1", "50 bytes"}},
      {[](Descriptor& d) { d.src_offset = 61; }, Field::kSrcOffset, {"src offset 61 + 40", "100"}},
      {[](Descriptor& d) { d.bytes = 41; }, Field::kDstOffset, {"+ 41"}},
      {[](Descriptor& d) { d.bytes = gin::queues::kMaxBytes; }, Field::kDstOffset, {}},
      {[](Descriptor& d) { d.dst_offset = gin::queues::kMaxOffset; }, Field::kDstOffset, {}},
      {[](Descriptor& d) { d.dst_offset = ~std::uint64_t{0} - 10; }, Field::kDstOffset, {}},
      {[](Descriptor& d) { d.signal = 4; }, Field::kSignal, {"signal 4", "has 4"}},
      {[](Descriptor& d) { d.counter = 6; }, Field::kCounter, {"counter 6", "has 6"}},
      {[](Descriptor& d) { d.op = static_cast<Op>(9); }, Field::kOp, {"not supported"}},
      {[](Descriptor& d) { d.op = Op::kGet; }, Field::kRemoteAction, {"remote action 1"}},
      {[](Descriptor& d) { as_get(d), d.dst_offset = 11; }, Field::kDstOffset, {"get", "11 + 40"}},
      {[](Descriptor& d) { as_get(d), d.src_offset = 61; }, Field::kSrcOffset, {"61 + 40"}},
      {[](Descriptor& d) { as_get(d), d.src_window = 8; }, Field::kSrcWindow, {"src window 8"}},
      {[](Descriptor& d) { as_atomic(d), d.dst_offset = 44; },
       Field::kDstOffset,
       {"fetchAdd", "44", "multiple of 8"}},
      {[](Descriptor& d) { as_atomic(d), d.dst_offset = 48; },
       Field::kDstOffset,
       {"48 + 8", "50 bytes"}},
      {[](Descriptor& d) { as_atomic(d), d.src_offset = 4; }, Field::kSrcOffset, {"multiple of 8"}},
      {[](Descriptor& d) { as_atomic(d), d.src_offset = 96; }, Field::kSrcOffset, {"96 + 8"}},
      {[](Descriptor& d) { as_atomic(d), d.src_window = 9; }, Field::kSrcWindow, {"src window 9"}},
      {[](Descriptor& d) { as_atomic(d), d.bytes = 1; }, Field::kBytes, {}},
      {[](Descriptor& d) { as_atomic(d), d.has_counter = true; }, Field::kCounter, {}},
      {[](Descriptor& d) { as_va(d), d.va_window = 9; }, Field::kVaWindow, {"VA window 9"}},
      {[](Descriptor& d) { as_va(d), d.va_window = 7; },
       Field::kVaWindow,
       {"window 7", "GIN_WIN_STRICT_ORDERING"}},
      {[](Descriptor& d) { as_va(d), d.va_offset = 20; },
       Field::kVaOffset,
       {"20", "multiple of 8"}},
      {[](Descriptor& d) { as_va(d), d.va_offset = 48; },
       Field::kVaOffset,
       {"VA offset 48 + 8", "window 5 on rank 1", "50 bytes"}},
      {[](Descriptor& d) { as_reset(d), d.peer = 1; }, Field::kPeer, {}},
      {[](Descriptor& d) { as_reset(d), d.dst_window = 7; }, Field::kVaWindow, {"STRICT"}},
      {[](Descriptor& d) { as_reset(d), d.dst_offset = 96; }, Field::kDstOffset, {"96 + 8"}},
      {[](Descriptor& d) { d.op = Op::kSignal, d.action = RemoteAction::kNone; },
       Field::kRemoteAction,
       {}},
      {[](Descriptor& d) { d.op = Op::kPutValue, d.has_counter = false, d.bytes = 9; },
       Field::kBytes,
       {"9 bytes", "1 to 8"}},
      {[](Descriptor& d) { d.op = Op::kPutValue, d.bytes = 8; }, Field::kCounter, {}},
      {[](Descriptor& d) { d.op = Op::kBadUse, d.bad_field = Field::kPeer, d.value = 5000; },
       Field::kPeer,
       {"peer 5000", "reported by the poster"}},
  };
  for (const Case& one : cases) {
    Field field = Field::kNone;
    const std::string text = refusal(one.change, &field);
    SCOPED_TRACE(text);
    EXPECT_NE(text, "");
    EXPECT_EQ(field, one.field);
    for (const auto& word : one.words) EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

TEST_F(DescriptorCheck, AWindowThatAPeerHasNoPartOfTakesNoByte) {
  EXPECT_NE(refusal([](Descriptor& d) { d.peer = 2, d.dst_offset = 0, d.bytes = 1; }), "");
}

}  // namespace
}  // namespace gind
