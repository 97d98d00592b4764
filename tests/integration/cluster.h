// SPDX-License-Identifier: Apache-2.0
// Real gind processes, each a node: on loopback addresses of their own, or in network namespaces.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace gind::test {

struct NodeOptions {
  std::string address;                   // of the peer link and the fabric
  std::string netns;                     // network namespace; empty: this one
  std::string provider = "tcp;ofi_rxm";  // "loopback": a gind without a fabric
  std::vector<std::string> set;          // further KEY=VALUE
};

class GindProcess {
 public:
  // Starts gind and waits until it serves; throws std::runtime_error with its log when it does not.
  GindProcess(const std::string& dir, const std::string& name, const NodeOptions& options);
  ~GindProcess();  // SIGTERM, then SIGKILL
  GindProcess(const GindProcess&) = delete;
  GindProcess& operator=(const GindProcess&) = delete;

  const std::string& socket() const { return socket_; }
  const std::string& address() const { return options_.address; }
  std::string log() const;
  bool running();
  void kill(int signal);
  // Waits for its end; its exit status, or 128 + signal, or -1 after `seconds`.
  int wait_end(int seconds);
  // Starts it again on the same socket after it has ended.
  void restart();

  std::size_t open_fds() const;
  std::size_t mappings_of(const std::string& what) const;  // lines of /proc/PID/maps naming it
  // One sample of its metrics, e.g. "gind_clients"; -1 when it is not there.
  double metric(const std::string& sample) const;

 private:
  void start();
  std::string dir_;
  std::string name_;
  NodeOptions options_;
  std::string socket_;
  pid_t pid_ = -1;
};

struct ClusterOptions {
  int nodes = 2;
  std::string provider = "tcp;ofi_rxm";
  bool namespaces = false;
  std::vector<std::string> set;  // for all nodes
  std::string netem;             // with namespaces: what tc's netem does to what each node sends
};

// True when this process may make network namespaces; else `reason` says why not.
bool namespaces_allowed(std::string* reason);
// The same for netem (the kernel's sch_netem and the program tc).
bool netem_allowed(std::string* reason);

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options);
  ~Cluster();

  GindProcess& node(int i) { return *nodes_.at(static_cast<std::size_t>(i)); }
  int nodes() const { return static_cast<int>(nodes_.size()); }
  // The socket of each rank, `ranks[i]` of them on node i, in that order.
  std::vector<std::string> place(const std::vector<int>& ranks) const;
  std::string logs() const;

 private:
  std::string dir_;
  std::vector<std::string> namespaces_;
  std::vector<std::unique_ptr<GindProcess>> nodes_;
};

}  // namespace gind::test
