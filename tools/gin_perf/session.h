// SPDX-License-Identifier: Apache-2.0
// One rank's communicator, window and device communicator, and its handshakes with its partner.
#pragma once

#include "gin/device.cuh"
#include "gin/gin.h"
#include "gind/common/result.h"
#include "tools/gin_perf/options.h"
#include "tools/gin_perf/player.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gind::perf {

// Signals and counters of each context.
inline constexpr ginSignal_t kDataSignal = 0;
inline constexpr ginSignal_t kFinishSignal = 1;
inline constexpr ginSignal_t kAcknowledgeSignal = 2;
inline constexpr ginCounter_t kDataCounter = 0;

// The Error of a gin call: its message is the library's.
Error gin_error(ginResult_t result, const char* call);

class Session {
 public:
  // Joins the communicator and registers `window_bytes`; collective over the ranks.
  static Result<std::unique_ptr<Session>> open(const Options& options, Player& player,
                                               std::uint64_t window_bytes);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Leaves in order; the destructor does it silently.
  Result<void> close();

  // The contexts that are measured, and who posts to them.
  const ginDevComm_t& dev() const { return dev_; }
  Player& player() const { return *player_; }
  bool own_contexts() const { return own_contexts_; }  // one poster each
  ginWindow_t window() const { return window_; }
  char* memory() const { return memory_; }
  const ginCommProperties_t& properties() const { return properties_; }
  int rank() const { return rank_; }
  int partner() const { return rank_ ^ 1; }
  bool leads() const { return rank_ % 2 == 0; }  // the rank of the pair that starts and measures
  ginWaitOptions wait_options() const { return {timeout_ns_, nullptr}; }

  // Both ranks of the pair have come here.
  Result<void> handshake();
  // Both tell `mine` (below 2^31), both learn the other's.
  Result<std::uint64_t> exchange(std::uint64_t mine);
  // On rank 0 the sum of what all ranks give; on the others `mine`.
  Result<std::uint64_t> total(std::uint64_t mine);
  // The error of an operation on a context: its code, and what the communicator has to say of it.
  Error operation_error(ginResult_t result, const std::string& what) const;

 private:
  Session() = default;
  Result<void> join(const Options& options);
  Result<void> set_up(const Options& options, std::uint64_t window_bytes);
  Result<void> make_contexts(const Options& options);

  ginComm_t comm_ = nullptr;
  char* memory_ = nullptr;
  ginWindow_t window_{};
  Player* player_ = nullptr;
  bool own_contexts_ = false;
  ginDevComm_t dev_{};
  ginDevComm_t talk_{};  // the host's, for handshakes
  std::vector<ginDevComm_t> idle_;
  ginCommProperties_t properties_{};
  int rank_ = 0;
  bool pairs_ = true;  // this rank works with its partner alone
  std::int64_t timeout_ns_ = 0;
  std::uint64_t handshakes_ = 0;
  std::uint64_t told_ = 0;
  std::uint64_t totals_ = 0;
  std::uint64_t totalled_ = 0;
};

}  // namespace gind::perf
