// SPDX-License-Identifier: Apache-2.0
// Who posts in the queue test: threads of the CPU or of a GPU, and the memory they need.
#pragma once

#include "gin/queues/producer.h"
#include "gind/common/result.h"
#include "kernels/queue_stream.cuh"

#include <cstdint>
#include <memory>
#include <string>

namespace gind::perf {

struct QueueCase {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;  // of a block
  std::uint32_t units = 1;    // of a record: 1, 2 or 4
  gin::kernels::PostMode mode = gin::kernels::PostMode::kTogether;
  std::uint64_t records = 0;  // of each thread

  std::uint32_t posters() const { return blocks * threads; }
  bool own_rings() const {
    using gin::kernels::PostMode;
    return mode == PostMode::kOwn || mode == PostMode::kSession || mode == PostMode::kWarp;
  }
  std::uint32_t rings() const { return own_rings() ? blocks : 1; }
  std::uint64_t total() const { return records * posters(); }
};

// Rings in memory that both sides reach.  One run at a time.
class QueueDevice {
 public:
  virtual ~QueueDevice() = default;
  virtual std::string name() const = 0;
  virtual bool is_gpu() const = 0;
  // Fresh rings that begin at position `start`, a multiple of twice the depth; what was set up
  // before is gone.
  virtual Result<void> set_up(std::uint32_t rings, std::uint32_t log2_depth,
                              std::uint64_t start) = 0;
  virtual const gin::queues::Unit* units(std::uint32_t ring) const = 0;
  virtual gin::queues::ContextControl* control(std::uint32_t ring) const = 0;
  virtual std::uint64_t* answer() const = 0;  // of round trips

  // Starts the posters and returns.  A deadline ends each wait of theirs.
  virtual Result<void> start(const QueueCase& what, std::uint64_t timeout_ns) = 0;
  virtual Result<void> start_round_trips(std::uint64_t trips, std::uint64_t* took_ns,
                                         std::uint64_t timeout_ns) = 0;
  // Memory for took_ns.
  virtual std::uint64_t* times(std::uint64_t trips) = 0;
  // When all posters have ended: the first error of theirs.
  virtual Result<void> join() = 0;
};

std::unique_ptr<QueueDevice> make_cpu_queue_device();
// Errors: ginNotSupported (built without the CUDA parts), ginUnhandledCudaError (no usable GPU).
Result<std::unique_ptr<QueueDevice>> make_gpu_queue_device(int ordinal);

}  // namespace gind::perf
