// SPDX-License-Identifier: Apache-2.0
// Builds all families from the counters at each scrape.
#pragma once

#include "daemon/metrics/exporter.h"

#include <prometheus/collectable.h>

#include <memory>
#include <mutex>
#include <vector>

namespace gind {

class MetricsCollector final : public prometheus::Collectable {
 public:
  explicit MetricsCollector(std::shared_ptr<const MetricsSources> sources);

  // Thread safe.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  // Payload that left the node, never less than at an earlier scrape: the two counters it is the
  // difference of are not read at one instant.
  std::uint64_t payload_out(std::uint64_t all, std::uint64_t local) const;

  const std::shared_ptr<const MetricsSources> sources_;
  mutable std::mutex mutex_;
  mutable std::uint64_t payload_out_ = 0;
};

}  // namespace gind
