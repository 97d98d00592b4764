// SPDX-License-Identifier: Apache-2.0
// The client's half of a device communicator: the control segment and the poster's private state.
#pragma once

#include "gin/gin.h"
#include "gin/queues/segment.h"
#include "gind/common/fd.h"
#include "gind/common/memfd.h"
#include "gind/common/result.h"
#include "gind/protocol/client.h"
#include "gpu/gpu.h"
#include "private_memory.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gind::client {

// What the requirements ask for, with gind's defaults filled in.
struct DevCommPlan {
  gin::queues::SegmentShape shape;  // its signals include those of the barriers
  std::uint32_t signals = 0;        // for the application
  std::uint32_t barriers = 0;
};
Result<DevCommPlan> plan_of(const ginDevCommRequirements_t& requirements,
                            const protocol::HelloReply& defaults, int nranks);

// World ranks by place in a team, and this rank's own place.
struct TeamTables {
  std::vector<std::uint16_t> local;  // of this gind, ascending
  std::vector<std::uint16_t> rail;   // of each gind the rank at this rank's place, where it has one
  std::int32_t local_rank = 0;
  std::int32_t rail_rank = 0;
};

class DeviceCommunicator {
 public:
  // Makes and maps the segment; its memfd then goes to gind.  gpu: whose kernels post, null for the
  // host.
  static Result<std::unique_ptr<DeviceCommunicator>> prepare(const DevCommPlan& plan,
                                                             ginSharing_t sharing,
                                                             std::shared_ptr<Gpu> gpu);
  int memfd() const { return memfd_.get(); }

  // When gind has published it: checks its header and builds the handle.  What is not about the
  // segment is the caller's to fill in: rank, timeout, error word and abort flag.
  Result<void> finish(std::uint32_t id, const TeamTables& teams);

  ginDevComm_t handle{};

 private:
  // The posters' memory behind the handle, with the heads at `start`.
  Result<void> make_state(const std::vector<std::uint64_t>& start, const TeamTables& teams);
  Result<void> write_state(std::uint64_t offset, const void* from, std::uint64_t bytes);

  DevCommPlan plan_;
  gin::queues::SegmentShape shape_;
  gin::queues::SegmentLayout layout_;
  Fd memfd_;
  Mapping segment_;
  std::shared_ptr<Gpu> gpu_;
  GpuMapping gpu_segment_;
  PrivateMemory state_;  // one of the two
  GpuMemory gpu_state_;
};

}  // namespace gind::client
