// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace gind::test {

using Clock = std::chrono::steady_clock;

struct Shared {
  static constexpr int kMaxRanks = 64;
  std::atomic<int> id_ready;
  ginUniqueId id;
  std::atomic<int> arrived;
  std::atomic<int> announced[kMaxRanks];
  char text[kMaxRanks][1024];
};

namespace {

template <typename Condition>
bool until(const Condition& condition, int seconds) {
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

void check(ginResult_t result, const std::string& what) {
  if (result == ginSuccess) return;
  throw RankFailure(what + ": " + ginGetErrorString(result) + ": " + ginGetLastError());
}

void expect(bool condition, const std::string& what) {
  if (!condition) throw RankFailure("expected: " + what);
}

ginUniqueId Rank::unique_id() {
  if (rank_ == 0) {
    check(ginGetUniqueId(&shared_->id), "ginGetUniqueId");
    shared_->id_ready.store(1, std::memory_order_release);  // pairs with the others' acquire
  }
  expect(until([this] { return shared_->id_ready.load(std::memory_order_acquire) != 0; }, 60),
         "a unique id from rank 0");
  return shared_->id;
}

ginComm_t Rank::init() {
  ginComm_t comm = nullptr;
  check(ginCommInitRank(&comm, nranks_, unique_id(), rank_), "ginCommInitRank");
  return comm;
}

void Rank::barrier() {
  ++barriers_;
  shared_->arrived.fetch_add(1, std::memory_order_acq_rel);
  expect(until(
             [this] {
               return shared_->arrived.load(std::memory_order_acquire) >= barriers_ * nranks_;
             },
             120),
         "all ranks at the barrier");
}

void Rank::announce(int value) {
  shared_->announced[rank_].store(value, std::memory_order_release);
}

RankRun::RankRun(const std::vector<std::string>& sockets, const Body& body) {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared_ = new (memory) Shared();
  const int nranks = static_cast<int>(sockets.size());
  for (int r = 0; r < nranks; ++r) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setenv("GIND_SOCKET", sockets[static_cast<std::size_t>(r)].c_str(), 1);
      int status = 0;
      try {
        Rank rank(shared_, r, nranks);
        body(rank);
      } catch (const std::exception& e) {
        std::strncpy(shared_->text[r], e.what(), sizeof shared_->text[r] - 1);
        status = 1;
      }
      ::_exit(status);
    }
    pids_.push_back(pid);
  }
}

RankRun::~RankRun() {
  finish(0);
  ::munmap(shared_, sizeof(Shared));
}

void RankRun::kill(int rank, int signal) { ::kill(pids_[static_cast<std::size_t>(rank)], signal); }

bool RankRun::wait_announced(int rank, int value, int seconds) {
  return until([&] { return shared_->announced[rank].load(std::memory_order_acquire) >= value; },
               seconds);
}

std::vector<RankResult> RankRun::finish(int seconds) {
  std::vector<RankResult> results(pids_.size());
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  for (std::size_t r = 0; r < pids_.size(); ++r) {
    if (pids_[r] <= 0) continue;
    int status = 0;
    const bool ended = until(
        [&] { return ::waitpid(pids_[r], &status, WNOHANG) == pids_[r]; },
        static_cast<int>(
            std::chrono::duration_cast<std::chrono::seconds>(deadline - Clock::now()).count()));
    if (!ended) {
      ::kill(pids_[r], SIGKILL);
      ::waitpid(pids_[r], &status, 0);
      results[r].text = "did not end in time; ";
    }
    results[r].status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    results[r].text += shared_->text[r];
    pids_[r] = -1;
  }
  return results;
}

std::string run_ranks(const std::vector<std::string>& sockets, const RankRun::Body& body,
                      int seconds) {
  RankRun run(sockets, body);
  std::string failures;
  const auto results = run.finish(seconds);
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (results[r].status == 0) continue;
    failures += "rank " + std::to_string(r) + " ended with " + std::to_string(results[r].status) +
                ": " + results[r].text + "\n";
  }
  return failures;
}

World make_world(Rank& rank, std::size_t bytes, const ginDevCommRequirements_t* requirements,
                 unsigned window_flags) {
  World world;
  world.comm = rank.init();
  void* memory = nullptr;
  check(ginMemAlloc(world.comm, &memory, bytes, ginMemHost), "ginMemAlloc");
  world.memory = static_cast<char*>(memory);
  check(ginCommWindowRegister(world.comm, memory, bytes, &world.window, window_flags),
        "ginCommWindowRegister");
  const ginDevCommRequirements_t defaults = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  check(
      ginDevCommCreate(world.comm, requirements != nullptr ? requirements : &defaults, &world.dev),
      "ginDevCommCreate");
  return world;
}

void end_world(World& world) {
  check(ginCommFinalize(world.comm), "ginCommFinalize");
  check(ginDevCommDestroy(world.comm, &world.dev), "ginDevCommDestroy");
  check(ginCommWindowDeregister(world.comm, world.window), "ginCommWindowDeregister");
  check(ginMemFree(world.comm, world.memory), "ginMemFree");
  check(ginCommDestroy(world.comm), "ginCommDestroy");
}

}  // namespace gind::test
