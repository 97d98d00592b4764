// SPDX-License-Identifier: Apache-2.0
// Strong and weak signals, puts without one and signals alone, mixed on several contexts at once,
// every byte of every message checked the moment a signal vouches for it.
#include "cluster.h"
#include "ranks.h"
#include "stream_history.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace gind::test {
namespace {

constexpr std::size_t kSlots = 32;  // operations in flight; a strong signal comes more often
constexpr std::uint64_t kLargest = 128 << 10;
constexpr int kContexts = 2;
constexpr ginSignal_t kStrong = 0;
constexpr ginSignal_t kWeak = 1;
constexpr ginSignal_t kConfirmed = 2;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xd1342543de82ef95u + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  return z ^ (z >> 29);
}

// What both sides know of a stream.
struct Stream {
  std::uint64_t seed;
  std::size_t operations;

  std::uint64_t bytes(std::size_t i) const {
    const std::uint64_t h = mix(seed, 2 * i);
    return h % 4 != 0 ? 8 * (1 + h / 4 % 16) : 8 * (1 + h / 4 % (kLargest / 8));
  }
  std::uint64_t word(std::size_t i, std::uint64_t at) const { return mix(seed + i, at); }
  std::vector<Operation> list() const {
    std::vector<Operation> all;
    for (std::size_t i = 0; i < operations; ++i) {
      const std::uint64_t h = mix(seed, 2 * i + 1);
      Operation op;
      if (i + 1 == operations || i % (kSlots / 2) == kSlots / 2 - 1 || h % 3 == 0) {
        op = {h % 16 != 0, Operation::Signal::kStrong, 1 + h / 16 % 5};
      } else if (h % 3 == 1) {
        op.signal = Operation::Signal::kWeak;
      }
      all.push_back(op);
    }
    return all;
  }
};

// Each rank streams to the next on every context; one thread sends, one receives.
class MixedTraffic {
 public:
  MixedTraffic(Rank& rank, std::size_t operations) : operations_(operations) {
    ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
    need.contexts = kContexts;
    world_ = make_world(rank, 2 * kContexts * kSlots * kLargest, &need);
    to_ = (rank.rank() + 1) % rank.nranks();
    from_ = (rank.rank() + rank.nranks() - 1) % rank.nranks();
    rank.barrier();
  }

  void run() {
    std::vector<std::thread> threads;
    for (int c = 0; c < kContexts; ++c) {
      threads.emplace_back([this, c] { guarded([&] { send(c); }); });
      threads.emplace_back([this, c] { guarded([&] { receive(c); }); });
    }
    for (std::thread& t : threads) t.join();
    if (!first_failure_.empty()) throw RankFailure(first_failure_);
    end_world(world_);
  }

 private:
  Stream stream_of(int rank, int context) const {
    return {mix(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(context)) >> 8,
            operations_};
  }
  static std::uint64_t slot(int context, std::size_t i) {
    return (static_cast<std::uint64_t>(context) * kSlots + i % kSlots) * kLargest;
  }
  ginWaitOptions wait() { return {kWaitNs, reinterpret_cast<const std::uint32_t*>(&stop_)}; }

  template <typename F>
  void guarded(F f) {
    try {
      f();
    } catch (const RankFailure& failure) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (first_failure_.empty()) first_failure_ = failure.what();
      stop_.store(1);
    }
  }

  void send(int context) {
    const ginContext ctx{world_.dev, context};
    const ginTeam_t team = ginTeamWorld(world_.dev);
    const Stream stream = stream_of(world_.dev.rank, context);
    const auto operations = stream.list();
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (i >= kSlots) {  // the slot's last message was confirmed, and its source read
        check(ctx.waitSignal(ginCoopThread{}, kConfirmed, i - kSlots + 1, 64, wait()), "confirmed");
        check(ctx.flush(ginCoopThread{}, wait()), "flush");
      }
      const Operation& op = operations[i];
      if (!op.data) {
        check(ctx.signal(team, to_, ginSignalAdd{kStrong, op.addend}, ginCoopThread{}, wait()),
              "signal");
        continue;
      }
      const std::uint64_t source = (kContexts * kSlots) * kLargest + slot(context, i);
      auto* words = reinterpret_cast<std::uint64_t*>(world_.memory + source);
      for (std::uint64_t w = 0; w < stream.bytes(i) / 8; ++w) words[w] = stream.word(i, w);
      const auto put = [&](auto action) {
        check(ctx.put(team, to_, world_.window, slot(context, i), world_.window, source,
                      stream.bytes(i), action, ginNoLocalAction{}, ginCoopThread{}, ginFenceDefault,
                      wait()),
              "put");
      };
      if (op.signal == Operation::Signal::kStrong) {
        put(ginSignalAdd{kStrong, op.addend});
      } else if (op.signal == Operation::Signal::kWeak) {
        put(ginWeakSignalInc{kWeak});
      } else {
        put(ginNoRemoteAction{});
      }
    }
    check(ctx.waitSignal(ginCoopThread{}, kConfirmed, operations.size(), 64, wait()), "the end");
  }

  void receive(int context) {
    const ginContext ctx{world_.dev, context};
    const Stream stream = stream_of(from_, context);
    StreamChecker checker(stream.list());
    const auto visible = [&](std::size_t i) {
      const auto* got =
          reinterpret_cast<const volatile std::uint64_t*>(world_.memory + slot(context, i));
      for (std::uint64_t w = 0; w < stream.bytes(i) / 8; ++w) {
        if (got[w] != stream.word(i, w)) return false;
      }
      return true;
    };
    const gin::queues::WaitLimits limits{static_cast<std::uint64_t>(kWaitNs), wait().abortFlag,
                                         nullptr, world_.dev.commError};
    std::optional<gin::queues::Waiter> waiter(std::in_place, limits);
    while (!checker.complete()) {
      StreamObservation seen;
      seen.strong = ctx.readSignal(kStrong);
      seen.weak = ctx.readSignal(kWeak);
      seen.visible = visible;
      const std::size_t before = checker.confirmed();
      const auto fault = checker.observe(seen);
      if (fault) throw RankFailure("context " + std::to_string(context) + ": " + *fault);
      if (checker.confirmed() == before) {
        if (const ginResult_t stop = waiter->step(); stop != ginSuccess) {
          throw RankFailure(std::string("no progress, ") + ginGetErrorString(stop) + ": " +
                            checker.finish().value_or(""));
        }
        continue;
      }
      waiter.emplace(limits);
      check(ctx.signal(ginTeamWorld(world_.dev), from_,
                       ginSignalAdd{kConfirmed, checker.confirmed() - before}, ginCoopThread{},
                       wait()),
            "confirming");
    }
  }

  std::size_t operations_;
  World world_;
  int to_ = 0;
  int from_ = 0;
  std::atomic<std::uint32_t> stop_{0};
  std::mutex mutex_;
  std::string first_failure_;
};

struct Case {
  const char* name;
  std::string provider;
  std::vector<int> ranks;
  std::vector<std::string> set;
};
class MixedOrder : public testing::TestWithParam<Case> {};

TEST_P(MixedOrder, EachSignalVouchesForWhatItPromises) {
  const Case& c = GetParam();
  Cluster cluster({.nodes = static_cast<int>(c.ranks.size()),
                   .provider = c.provider,
                   .namespaces = false,
                   .set = c.set});
  const std::string failure =
      run_ranks(cluster.place(c.ranks), [](Rank& rank) { MixedTraffic(rank, 1500).run(); });
  EXPECT_EQ(failure, "") << cluster.logs();
}

INSTANTIATE_TEST_SUITE_P(
    Fabrics, MixedOrder,
    testing::Values(Case{"Tcp", "tcp;ofi_rxm", {1, 1}, {}},
                    Case{"TcpSequence", "tcp;ofi_rxm", {1, 1}, {"transport.signal_mode=sequence"}},
                    Case{"TcpTwoProxies", "tcp;ofi_rxm", {2, 2}, {"proxy.threads=2"}},
                    Case{"Shm", "shm", {1, 1}, {}}, Case{"Loopback", "loopback", {2}, {}}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace gind::test
