// SPDX-License-Identifier: Apache-2.0
// Variants of gind that are wrong on purpose: the checker sees each of them, and says what is
// wrong.
#include "daemon/proxy/record.h"
#include "run.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gind::sim {
namespace {

using test::order::Flaw;

struct Case {
  const char* name;
  SignalMode mode;
  AdversaryFault fault;
  std::vector<std::string> says;  // one of them
  void (*tamper)(std::span<std::byte>) = nullptr;
  test::order::Flaw flaw = test::order::Flaw::kNone;
  std::uint32_t delay = 12;
};

void with_record(std::span<std::byte> payload, void (*change)(WireRecord&)) {
  if (payload.size() < sizeof(WireRecord)) return;
  WireRecord record;
  std::memcpy(static_cast<void*>(&record), payload.data(), sizeof record);
  change(record);
  std::memcpy(payload.data(), &record, sizeof record);
}

// A weak signal vouches for one piece of its put fewer.
void shorten(std::span<std::byte> payload) {
  with_record(payload, [](WireRecord& r) {
    if (r.kind == RecordKind::kSignal && r.pieces > 1 && r.pieces != kNothing) --r.pieces;
  });
}
// An increment becomes another's.
void change(std::span<std::byte> payload) {
  with_record(payload, [](WireRecord& r) {
    if (r.kind == RecordKind::kSignal && r.addend == 1ull << 40) r.addend = 1ull << 41;
  });
}
// A quiet is answered before what it stands behind has come.
void hurry(std::span<std::byte> payload) {
  with_record(payload, [](WireRecord& r) {
    if (r.kind == RecordKind::kFence) r.pieces = 1;
  });
}
// fetchAdd brings a wrong old value.
void misquote(std::span<std::byte> payload) {
  with_record(payload, [](WireRecord& r) {
    if (r.kind == RecordKind::kAtomicReply) ++r.addend;
  });
}

class Broken : public testing::TestWithParam<Case> {};

TEST_P(Broken, IsSeenByTheChecker) {
  const Case& c = GetParam();
  std::string seen;
  for (std::uint64_t seed = 1; seed <= 20 && seen.empty(); ++seed) {
    RunOptions options;
    options.seed = seed;
    options.operations = 3000;
    options.flaw = c.flaw;
    options.world.ranks = {1, 1};
    options.world.piece_bytes = 1024;
    options.world.adversary.seed = seed;
    options.world.adversary.mode = c.mode;
    options.world.adversary.fault = c.fault;
    options.world.adversary.fault_one_in = 20;
    options.world.adversary.delay = c.delay;
    if (c.tamper != nullptr) options.world.adversary.tamper = c.tamper;
    const RunResult result = run(options);
    seen = result.good() ? "" : result.text();
  }
  bool said = false;
  for (const std::string& text : c.says) said |= seen.find(text) != std::string::npos;
  EXPECT_TRUE(said) << "seen: " << seen;
  std::printf("%s\n", seen.substr(0, 300).c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Variants, Broken,
    testing::Values(
        Case{"SignalBeforeDataByTheFabric",
             SignalMode::kRecord,
             AdversaryFault::kSendBeforeWrites,
             {"is there, but the data of", "is there before"}},
        Case{"SignalBeforeDataByThePoster",
             SignalMode::kRecord,
             AdversaryFault::kNone,
             {"is there, but the data of", "is there before its data"},
             nullptr,
             Flaw::kSignalFirst},
        Case{"AtomicBeforeData",
             SignalMode::kAtomic,
             AdversaryFault::kSendBeforeWrites,
             {"is there, but the data of", "is there before"}},
        Case{"LostIncrement",
             SignalMode::kRecord,
             AdversaryFault::kLoseSend,
             {"lost", "is there before the"}},
        Case{"DoubledIncrement",
             SignalMode::kRecord,
             AdversaryFault::kDoubleSend,
             {"which makes none", "which no row of its increments gives"}},
        Case{"ChangedIncrement",
             SignalMode::kSequence,
             AdversaryFault::kNone,
             {"which makes none"},
             change},
        Case{"WeakTakenForStrong",
             SignalMode::kSequence,
             AdversaryFault::kNone,
             {"rule 2"},
             nullptr,
             Flaw::kWeakForStrong},
        Case{"WeakBeforeItsPut", SignalMode::kSequence, AdversaryFault::kNone, {"rule 3"}, shorten},
        Case{"CounterBeforeLocalCompletion",
             SignalMode::kRecord,
             AdversaryFault::kDoneBeforeRead,
             {"the source was not free yet"},
             nullptr,
             Flaw::kNone,
             200},
        Case{"SourceReusedWithoutWaiting",
             SignalMode::kRecord,
             AdversaryFault::kNone,
             {"the source was not free yet"},
             nullptr,
             Flaw::kEagerReuse,
             200},
        Case{"FlushByCount",
             SignalMode::kSequence,
             AdversaryFault::kDoneByCount,
             {"the source was not free yet", "get:"}},
        Case{"QuietByItsNeighbour",
             SignalMode::kSequence,
             AdversaryFault::kNone,
             {"rule 4"},
             hurry,
             Flaw::kNone,
             200},
        Case{"WrongOldValue", SignalMode::kRecord, AdversaryFault::kNone, {"fetchAdd"}, misquote}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace gind::sim
