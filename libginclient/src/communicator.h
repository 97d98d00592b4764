// SPDX-License-Identifier: Apache-2.0
// What a ginComm_t is.
#pragma once

#include "allocation.h"
#include "connection.h"
#include "device_communicator.h"
#include "gin/gin.h"
#include "monitor.h"
#include "peer_part.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gind::client {

// Calls are serialised by a mutex, but for abort and async_error.
class Communicator {
 public:
  static Result<std::unique_ptr<Communicator>> join(int nranks, const ginUniqueId& id, int rank);
  // Says goodbye where gind is there to hear it.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Result<void> finalize();
  void abort() { connection_->abort(); }
  std::optional<Error> async_error();
  int nranks() const { return info_.nranks; }
  int rank() const { return info_.rank; }
  void fill(ginCommProperties_t* properties) const;

  Result<void*> allocate(std::uint64_t bytes);
  Result<void> free(void* ptr);
  Result<ginWindow_t> register_window(void* ptr, std::uint64_t bytes, unsigned flags);
  Result<void> deregister_window(ginWindow_t window);
  Result<void*> peer_pointer(ginWindow_t window, int peer);
  Result<ginDevComm_t> create_device_communicator(const ginDevCommRequirements_t& requirements);
  Result<void> destroy_device_communicator(const ginDevComm_t& handle);

 private:
  Communicator(std::shared_ptr<Connection> connection, Watch watch,
               const protocol::CommReady& info);

  void await_waits();
  Result<void> tell_freed(const Allocation& allocation);
  // The GPU that `poster` means on this thread, null for the host; its kernels can reach the
  // communicator's words and memory from now on.
  Result<std::shared_ptr<Gpu>> gpu_of(ginPoster_t poster);
  Result<void> use(const std::shared_ptr<Gpu>& gpu);

  // Where a registered window lies; nowhere for a window of no bytes at no address.
  struct Window {
    Allocation* allocation = nullptr;
    char* base = nullptr;
    bool peer_access = false;
    std::map<int, PeerPart> peers = {};  // by world rank: of this gind, but for this rank
  };
  Result<void> map_peers(std::uint32_t index, Window* window);

  std::mutex mutex_;
  std::shared_ptr<Connection> connection_;
  GpuMapping gpu_words_;   // of the first GPU; mappings serve all of the process
  std::mutex gpus_mutex_;  // held for moments: async_error waits for no other call
  std::vector<std::shared_ptr<Gpu>> gpus_;
  Watch watch_;
  protocol::CommReady info_;
  TeamTables teams_;
  AllocationTable allocations_;
  Fd nothing_;  // a page that stands in for the memory of windows without any
  std::map<std::uint32_t, Window> windows_;                                            // by index
  std::map<std::uint32_t, std::unique_ptr<DeviceCommunicator>> device_communicators_;  // by id
};

// Asks the local gind for a unique id, over a connection of its own.
Result<ginUniqueId> new_unique_id();

}  // namespace gind::client

struct ginComm {
  std::unique_ptr<gind::client::Communicator> impl;
};
