// SPDX-License-Identifier: Apache-2.0
// gind and the bare provider in turns, in one run: what gind adds, free of what the machine was
// doing at the time.
#pragma once

#include "gind/common/result.h"
#include "tools/gin_perf/bare_fabric.h"
#include "tools/gin_perf/options.h"
#include "tools/gin_perf/session.h"

#include <functional>
#include <string>
#include <vector>

namespace gind::perf {

// Medians over rounds.  Latency: microseconds one way, `paired` is gind - bare.  Streams: million
// messages a second, `paired` is gind / bare.
struct Comparison {
  double gind = 0;
  double bare = 0;
  double paired = 0;
  int rounds = 0;
};

class Baseline {
 public:
  // Both ranks of the pair.  Null when none was asked for.
  static Result<std::unique_ptr<Baseline>> open(Session& session, const Options& options);

  const std::string& provider() const { return provider_; }
  std::uint64_t checked() const { return fabric_->checked(); }

  // `one_way_us`: runs that many iterations through gind, and tells the median at the leading rank.
  using Round = std::function<Result<double>(std::uint64_t iterations)>;
  Result<Comparison> latency(std::uint64_t bytes, const Round& one_way_us);
  // `rate`: runs that many puts through gind, and tells million puts a second at the leading rank.
  Result<Comparison> stream(std::uint64_t bytes, const Round& rate);

 private:
  Baseline(Session& session, const Options& options) : session_(session), options_(options) {}
  Result<void> connect();
  std::uint64_t iterations() const;

  Session& session_;
  const Options& options_;
  std::string provider_;
  std::unique_ptr<BareFabric> fabric_;
};

}  // namespace gind::perf
