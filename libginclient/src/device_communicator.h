// SPDX-License-Identifier: Apache-2.0
// The client's half of a device communicator: the control segment and the poster's private state.
#pragma once

#include "gin/gin.h"
#include "gin/queues/segment.h"
#include "gind/common/fd.h"
#include "gind/common/memfd.h"
#include "gind/common/result.h"
#include "gind/protocol/client.h"

#include <cstdint>
#include <memory>

namespace gind::client {

// Zeroed anonymous memory, given back on destruction.
class PrivateMemory {
 public:
  static Result<PrivateMemory> allocate(std::uint64_t bytes);
  PrivateMemory() = default;
  PrivateMemory(PrivateMemory&& other) noexcept;
  PrivateMemory& operator=(PrivateMemory&& other) noexcept;
  ~PrivateMemory();
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// The shape that the requirements ask for, with gind's defaults filled in.
Result<gin::queues::SegmentShape> shape_of(const ginDevCommRequirements_t& requirements,
                                           const protocol::HelloReply& defaults, int nranks);

class DeviceCommunicator {
 public:
  // Makes and maps the segment; its memfd then goes to gind.
  static Result<std::unique_ptr<DeviceCommunicator>> prepare(const gin::queues::SegmentShape& shape,
                                                             ginSharing_t sharing);
  int memfd() const { return memfd_.get(); }

  // When gind has published it: checks its header and builds the handle.  What is not about the
  // segment is the caller's to fill in: rank, local ranks, timeout, error word and abort flag.
  Result<void> finish(std::uint32_t id);

  ginDevComm_t handle{};

 private:
  gin::queues::SegmentShape shape_;
  gin::queues::SegmentLayout layout_;
  Fd memfd_;
  Mapping segment_;
  PrivateMemory state_;
};

}  // namespace gind::client
