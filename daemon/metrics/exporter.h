// SPDX-License-Identifier: Apache-2.0
// Serves the metrics over HTTP at /metrics.
#pragma once

#include "daemon/metrics/counters.h"
#include "gind/common/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gind {

// Where the figures are.  What the pointers name must live until the exporter is gone.
struct MetricsSources {
  std::vector<const ProxyCounters*> proxies;  // label proxy: the index
  const ControlCounters* control = nullptr;
  std::string version;
  std::string transport;  // "ofi"
  std::string provider;   // "tcp;ofi_rxm"
  std::string signal_mode;
};

class MetricsExporter {
 public:
  // `listen` as in the option metrics.listen: "127.0.0.1:9408", "[::1]:9408"; port 0 takes a free
  // one.  Errors: a text that is no such address, an address that is not this machine's, a port
  // that is taken, IPv6 where the HTTP library was built without: each names the address and
  // what to change.
  static Result<std::unique_ptr<MetricsExporter>> start(
      const std::string& listen, std::shared_ptr<const MetricsSources> sources);

  ~MetricsExporter();  // ends its threads
  MetricsExporter(const MetricsExporter&) = delete;
  MetricsExporter& operator=(const MetricsExporter&) = delete;

  std::uint16_t port() const;  // the real one

 private:
  struct State;
  explicit MetricsExporter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gind
