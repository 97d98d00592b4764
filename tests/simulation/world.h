// SPDX-License-Identifier: Apache-2.0
// Ranks, their ginds' proxy threads and a fabric between them, all in one thread: who runs when is
// decided by a seed, so that a run can be repeated.  The code that runs is gind's and the device
// API's own; only the control plane is left out.
#pragma once

#include "daemon/proxy/proxy_thread.h"
#include "gin/device.cuh"
#include "gind/transports/adversary.h"
#include "gind/transports/loopback.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gind::sim {

struct WorldOptions {
  std::vector<int> ranks = {1, 1};  // of each node
  std::uint32_t contexts = 2;
  std::uint32_t signals = 64;
  std::uint32_t counters = 64;
  std::uint32_t ring_units = 4096;
  std::uint64_t window_bytes = 0;
  std::uint64_t piece_bytes = 4096;
  std::uint64_t ring_start = 0;
  std::uint64_t sequence_start = 0;
  AdversaryOptions adversary;     // of the fabric; the mode is that of the signals
  bool adverse_loopback = false;  // the way between ranks of one node, too
};

class World : public ProxyEvents {
 public:
  explicit World(const WorldOptions& options);
  ~World() override;

  int nodes() const { return static_cast<int>(options_.ranks.size()); }
  int ranks() const { return static_cast<int>(sides_.size()); }
  // What rank r's kernels would be given.
  const ginDevComm_t& comm(int rank) const { return sides_[static_cast<std::size_t>(rank)]->comm; }
  const ginWindow_t& window(int rank) const {
    return sides_[static_cast<std::size_t>(rank)]->window;
  }
  // One turn of a node's proxy thread.
  void turn(int node);
  // "" or what gind has reported.
  const std::string& faults() const { return faults_; }
  std::string metrics() const;

 private:
  void context_fault(std::uint64_t view_id, std::uint32_t dev_comm, std::uint32_t context,
                     ginResult_t code, std::string text) override;
  void peer_fault(std::uint64_t view_id, std::uint32_t peer, ginResult_t code,
                  std::string text) override;

  struct Pages {
    explicit Pages(std::uint64_t bytes);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    char* data;
    std::uint64_t bytes;
  };
  struct Side {
    int node = 0;
    RankView view;
    std::unique_ptr<Pages> segment, state, memory;
    gin::queues::SegmentView layout;
    std::unique_ptr<MemoryRegion> fabric, loopback, signals;
    WindowView window_view;
    std::vector<ContextQueue*> queues;
    ginDevComm_t comm{};
    ginWindow_t window{};
    std::uint32_t first_flow = 0;
  };
  struct Node {
    std::unique_ptr<Transport> plain_loopback, loopback, fabric;
    std::unique_ptr<ProxyThread> proxy;
  };

  void make_node(std::uint64_t seed);
  void make_side(int rank, int node);
  void make_handle(Side& side, int rank);
  void connect(int rank);

  WorldOptions options_;
  gin::queues::SegmentShape shape_;
  std::unique_ptr<Transport> wire_;  // what the nodes' fabrics go over
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::string faults_;
  std::uint64_t now_ns_ = 1;
};

}  // namespace gind::sim
