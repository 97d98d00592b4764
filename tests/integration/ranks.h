// SPDX-License-Identifier: Apache-2.0
// Ranks as processes: each a child that runs the test's body with libginclient.
#pragma once

#include "gin/device.cuh"
#include "gin/gin.h"

#include <sys/types.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gind::test {

// Ends a rank's body; the text reaches the test.
struct RankFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws RankFailure unless `result` is ginSuccess.
void check(ginResult_t result, const std::string& what);
void expect(bool condition, const std::string& what);

struct Shared;  // between the ranks of one run and the test

class Rank {
 public:
  Rank(Shared* shared, int rank, int nranks) : shared_(shared), rank_(rank), nranks_(nranks) {}
  int rank() const { return rank_; }
  int nranks() const { return nranks_; }

  // The unique id, made by rank 0's gind.
  ginUniqueId unique_id();
  ginComm_t init();
  // Out-of-band barrier of all ranks (bounded).
  void barrier();
  // Progress that the test's process can see and wait for.
  void announce(int value);

 private:
  Shared* shared_;
  int rank_;
  int nranks_;
  int barriers_ = 0;
};

struct RankResult {
  int status = -1;   // exit status, or 128 + signal
  std::string text;  // of the RankFailure
};

class RankRun {
 public:
  using Body = std::function<void(Rank&)>;
  // Starts one child for each socket.
  RankRun(const std::vector<std::string>& sockets, const Body& body);
  ~RankRun();  // kills what is left

  void kill(int rank, int signal);
  // Until rank `rank` has announced at least `value`; false after `seconds`.
  bool wait_announced(int rank, int value, int seconds = 60);
  // Waits for all; those that do not end in time are killed, which their status shows.
  std::vector<RankResult> finish(int seconds);

 private:
  Shared* shared_;
  std::vector<pid_t> pids_;
};

// Runs `body` and returns what failed, as text; "" when all ranks ended well.
std::string run_ranks(const std::vector<std::string>& sockets, const RankRun::Body& body,
                      int seconds = 100);

// What most bodies need: a communicator, one window of `bytes`, a device communicator.
struct World {
  ginComm_t comm = nullptr;
  char* memory = nullptr;
  ginWindow_t window{};
  ginDevComm_t dev{};
};
World make_world(Rank& rank, std::size_t bytes,
                 const ginDevCommRequirements_t* requirements = nullptr,
                 unsigned window_flags = GIN_WIN_DEFAULT);
// Collective, in order: finalize, destroy everything.
void end_world(World& world);

inline constexpr std::int64_t kWaitNs = 60'000'000'000;  // of a wait that is expected to succeed

}  // namespace gind::test
