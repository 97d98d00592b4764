// SPDX-License-Identifier: Apache-2.0
// Rules 1 to 9 of the device API with kernels as senders and receivers.  $HISTORY_OPERATIONS:
// operations of each stream.
#include "history/checker.h"
#include "history/receiver.h"
#include "history/sender.h"
#include "kernel_run.cuh"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace gind::test {
namespace {

using order::Progress;

// One end of a stream; a block plays it.
struct End {
  order::Place place;
  order::SenderState sender;
  order::ReceiverState receiver;
  order::Log<order::Observation> seen;
  order::Log<order::SenderEvent> events;
  bool sends;
  order::Flaw flaw;
  int outcome;  // Progress
};

constexpr std::uint64_t kGiveUpNs = 40'000'000'000;

template <typename Coop>
__global__ void play(End* ends) {
  End& end = ends[blockIdx.x];
  __shared__ std::uint64_t scratch[2];
  __shared__ int shared_outcome;
  const Coop coop{};
  const std::uint64_t start = gin::queues::now_ns();
  Progress p = Progress::kIdle;
  for (;;) {
    if (end.sends) {
      order::Sender sender(end.place, end.sender, end.events, true, end.flaw);
      p = sender.step(coop);
    } else {
      order::Receiver receiver(end.place, end.receiver, end.seen);
      p = receiver.look(coop, scratch);
    }
    if (coop.thread_rank() == 0) {
      const bool late = gin::queues::now_ns() - start > kGiveUpNs;
      shared_outcome = static_cast<int>(late ? Progress::kFailed : p);
    }
    coop.sync();
    const int outcome = shared_outcome;
    coop.sync();
    if (outcome == static_cast<int>(Progress::kDone) ||
        outcome == static_cast<int>(Progress::kFailed)) {
      if (coop.thread_rank() == 0) end.outcome = outcome;
      return;
    }
  }
}

template <typename T>
T* managed(std::size_t count) {
  void* p = nullptr;
  cuda_check(cudaMallocManaged(&p, count * sizeof(T)), "cudaMallocManaged");
  std::memset(p, 0, count * sizeof(T));
  return static_cast<T*>(p);
}

struct Options {
  int contexts = 2;
  int threads = 32;
  std::uint64_t operations = 3000;
  int launches = 4;  // between them signals, counters and shadows persist
  int ring_units = 0;
  order::Flaw flaw = order::Flaw::kNone;
};

// Two ranks of one process, so that their kernels run at the same time without MPS.
std::vector<World> two_worlds(const std::vector<std::string>& sockets, const order::Layout& layout,
                              const Options& options) {
  std::vector<World> worlds(2);
  ginUniqueId id{};
  ::setenv("GIND_SOCKET", sockets[0].c_str(), 1);
  check(ginGetUniqueId(&id), "ginGetUniqueId");
  std::string failure[2];
  const auto join = [&](int r) {
    try {
      cuda_check(cudaSetDevice(0), "cudaSetDevice");
      cuda_check(cudaFree(nullptr), "a context");
      World& w = worlds[static_cast<std::size_t>(r)];
      check(ginCommInitRank(&w.comm, 2, id, r), "ginCommInitRank");
      void* memory = nullptr;
      check(ginMemAlloc(w.comm, &memory, layout.bytes(), ginMemHost), "ginMemAlloc");
      w.memory = static_cast<char*>(memory);
      check(
          ginCommWindowRegister(w.comm, memory, layout.bytes(), &w.window, GIN_WIN_STRICT_ORDERING),
          "ginCommWindowRegister");
      ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
      need.contexts = options.contexts;
      need.signals = static_cast<int>(layout.signals());
      need.counters = static_cast<int>(layout.counters());
      need.queueDepth = options.ring_units;
      need.poster = ginPosterGpu;
      need.timeoutNs = 20'000'000'000;
      check(ginDevCommCreate(w.comm, &need, &w.dev), "ginDevCommCreate");
    } catch (const std::exception& e) {
      failure[r] = e.what();
    }
  };
  std::thread first(join, 0);
  // The environment names the gind when a connection is opened, which has long happened then.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ::setenv("GIND_SOCKET", sockets[1].c_str(), 1);
  std::thread second(join, 1);
  first.join();
  second.join();
  for (const std::string& f : failure) expect(f.empty(), f);
  return worlds;
}

void launch(const Options& options, int blocks, End* ends) {
  if (options.threads == 1) {
    play<ginCoopThread><<<blocks, 1>>>(ends);
  } else if (options.threads == 8) {
    play<ginCoopTile<8>><<<blocks, 8>>>(ends);
  } else if (options.threads == 32) {
    play<ginCoopWarp><<<blocks, 32>>>(ends);
  } else {
    play<ginCoopBlock><<<blocks, options.threads>>>(ends);
  }
  cuda_check(cudaDeviceSynchronize(), "play");
}

// What the checker says; "" when all rules held.
std::string play_history(const std::vector<std::string>& sockets, const Options& options) {
  const order::Layout layout{2, static_cast<std::uint32_t>(options.contexts)};
  std::vector<World> worlds = two_worlds(sockets, layout, options);
  for (std::uint32_t r = 0; r < 2; ++r) {
    auto* kept = reinterpret_cast<std::uint64_t*>(worlds[r].memory + layout.kept());
    for (std::uint64_t i = 0; i < order::kSlotBytes / 8; ++i) {
      kept[i] = order::Stream::kept(1, r, i);
    }
  }
  const int blocks = 8 * options.contexts;  // 4 streams a context, 2 ends each
  End* const ends = managed<End>(static_cast<std::size_t>(blocks));
  int n = 0;
  for (std::uint32_t from = 0; from < 2; ++from) {
    for (std::uint32_t to = 0; to < 2; ++to) {
      for (std::uint32_t c = 0; c < layout.contexts; ++c) {
        for (const bool sends : {true, false}) {
          const World& w = worlds[sends ? from : to];
          End& end = *new (&ends[n++]) End();
          end.place = order::Place{w.dev, w.window, layout, order::Stream{1, from, to, c}, 0};
          end.sends = sends;
          end.flaw = options.flaw;
          if (sends) {
            end.events.capacity = options.operations + 1;
            end.events.entries = pinned<order::SenderEvent>(end.events.capacity);
          } else {
            end.seen.capacity = 8 * options.operations;
            end.seen.entries = pinned<order::Observation>(end.seen.capacity);
          }
        }
      }
    }
  }
  bool failed = false;
  for (int l = 1; l <= options.launches && !failed; ++l) {
    for (int i = 0; i < blocks; ++i) {
      ends[i].place.operations = options.operations * static_cast<std::uint64_t>(l) /
                                 static_cast<std::uint64_t>(options.launches);
    }
    launch(options, blocks, ends);
    for (int i = 0; i < blocks; ++i) {
      failed |= ends[i].outcome != static_cast<int>(Progress::kDone);
    }
  }
  std::string verdicts;
  std::uint64_t operations = 0;
  std::uint64_t observations = 0;
  for (int i = 0; i < blocks; ++i) {
    End& end = ends[i];
    order::Checker checker(end.place.stream, options.operations);
    for (std::uint64_t k = 0; k < end.events.count; ++k) checker.event(end.events.entries[k]);
    for (std::uint64_t k = 0; k < end.seen.count; ++k) checker.observe(end.seen.entries[k]);
    if (end.sends && !checker.found()) continue;
    const order::Verdict verdict = checker.finish();
    operations += verdict.operations;
    observations += verdict.observations;
    const order::Stream& s = end.place.stream;
    if (!verdict.good() || failed) {
      verdicts += "stream " + std::to_string(s.source) + " to " + std::to_string(s.target) +
                  " context " + std::to_string(s.context) + " (error " +
                  std::to_string(end.sends ? end.sender.error : end.receiver.error) +
                  "): " + verdict.text() + "\n";
    }
  }
  if (verdicts.empty()) {
    std::printf("%llu operations, %llu observations checked\n",
                static_cast<unsigned long long>(operations),
                static_cast<unsigned long long>(observations));
    std::fflush(stdout);
  }
  for (World& w : worlds) check(ginCommDestroy(w.comm), "ginCommDestroy");
  return verdicts;
}

struct Case {
  const char* name;
  int nodes;
  Options options;
  std::vector<std::string> set;
};

std::uint64_t operations_of(const Case& c) {
  const char* text = std::getenv("HISTORY_OPERATIONS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : c.options.operations;
}

// In a process of its own, since it uses the GPU and other tests fork.
std::string in_a_process(const Case& c) {
  const std::string provider = c.nodes == 1 ? "loopback" : "tcp;ofi_rxm";
  Cluster cluster({.nodes = c.nodes, .provider = provider, .namespaces = false, .set = c.set});
  std::vector<std::string> sockets = {cluster.node(0).socket(), cluster.node(c.nodes - 1).socket()};
  Options options = c.options;
  options.operations = operations_of(c);
  const std::string failures = run_ranks(
      {sockets[0]},
      [&](Rank&) {
        const std::string verdict = play_history(sockets, options);
        if (!verdict.empty()) throw RankFailure(verdict);
      },
      170);
  return failures.empty() ? "" : failures + cluster.logs();
}

class GpuHistory : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { GIND_SKIP_WITHOUT_GPU(); }
};

TEST_P(GpuHistory, KeepsAllRules) { EXPECT_EQ(in_a_process(GetParam()), ""); }

const char* const kSmall = "proxy.piece_bytes=4KiB";
INSTANTIATE_TEST_SUITE_P(
    Coops, GpuHistory,
    testing::Values(Case{"LoopbackWarp", 1, {2, 32}, {kSmall}},
                    Case{"LoopbackBlock", 1, {2, 128}, {kSmall}},
                    Case{"LoopbackThread", 1, {2, 1, 1500}, {kSmall}},
                    Case{"LoopbackTile", 1, {2, 8}, {kSmall}},
                    Case{"LoopbackSmallRing", 1, {1, 32, 3000, 4, 64}, {kSmall}},
                    Case{"LoopbackAdversary", 1, {2, 32}, {kSmall, "debug.adversary_seed=5"}},
                    Case{"TcpWarp", 2, {2, 32}, {kSmall}},
                    Case{"TcpSequence", 2, {2, 32}, {kSmall, "transport.signal_mode=sequence"}},
                    Case{"TcpSequenceAdversary",
                         2,
                         {2, 32},
                         {kSmall, "transport.signal_mode=sequence", "debug.adversary_seed=5"}}),
    [](const auto& one) { return std::string(one.param.name); });

class GpuBrokenHistory : public GpuHistory {};

TEST_P(GpuBrokenHistory, IsSeenByTheChecker) {
  const std::string verdict = in_a_process(GetParam());
  EXPECT_TRUE(verdict.find("rule") != std::string::npos) << verdict;
}

INSTANTIATE_TEST_SUITE_P(
    Flaws, GpuBrokenHistory,
    testing::Values(
        Case{"SignalFirst", 2, {2, 32, 3000, 1, 0, order::Flaw::kSignalFirst}, {kSmall}},
        Case{"EagerReuse",
             2,
             {2, 32, 3000, 1, 0, order::Flaw::kEagerReuse},
             {kSmall, "debug.adversary_seed=5"}},
        Case{"WeakForStrong",
             2,
             {2, 32, 3000, 1, 0, order::Flaw::kWeakForStrong},
             {kSmall, "transport.signal_mode=sequence", "debug.adversary_seed=5"}}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace gind::test
