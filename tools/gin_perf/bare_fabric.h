// SPDX-License-Identifier: Apache-2.0
// The baseline: libfabric's own calls in a loop, without gind, between the same two processes.
#pragma once

#include "gind/common/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gind::perf {

// One end.  All waits are bounded by the timeout.  Not thread safe.
class BareFabric {
 public:
  struct Options {
    std::string provider;
    std::string address;        // local IP address to bind; empty: the provider's choice
    std::uint64_t largest = 0;  // bytes of a message
    std::uint64_t depth = 1;    // writes in flight
    double timeout_s = 60;
  };
  // Errors: ginNotSupported (built without libfabric), and what libfabric says.
  static Result<std::unique_ptr<BareFabric>> open(const Options& options);
  virtual ~BareFabric() = default;

  // What the other end needs to reach this one, for it to pass to connect.
  virtual std::vector<std::uint8_t> card() const = 0;
  virtual Result<void> connect(const std::vector<std::uint8_t>& card) = 0;

  // Ping-pong of writes, each seen by its last byte; both ends call it.  Nanoseconds of each round
  // trip at the end that starts.
  virtual Result<std::vector<std::uint64_t>> ping_pong(std::uint64_t bytes,
                                                       std::uint64_t iterations, bool starts) = 0;
  // A stream of writes with a bounded number in flight, until the receiver has answered the last.
  // Seconds that it took, at the sender.
  virtual Result<double> stream(std::uint64_t bytes, std::uint64_t writes, bool sends) = 0;

  // Messages whose content was looked at when they came.
  virtual std::uint64_t checked() const = 0;
};

}  // namespace gind::perf
