// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/config/config.h"
#include "gind/common/result.h"

#include <memory>
#include <string>

namespace gind {

// The whole daemon, put together from a configuration.
class Daemon {
 public:
  // Opens the transports, the peer link, the socket and the metrics; whatever is taken or missing
  // is an error that names it.  Nothing is left behind on failure.
  static Result<std::unique_ptr<Daemon>> create(const Config& config);
  ~Daemon();

  // Serves until SIGTERM or SIGINT, on the calling thread; then ends all clients' communicators,
  // within timeouts.teardown.
  Result<void> run();

  // "127.0.0.1:9408", or "" when metrics are off.
  const std::string& metrics_address() const;

 private:
  struct State;
  explicit Daemon(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gind
