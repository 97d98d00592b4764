// SPDX-License-Identifier: Apache-2.0
// Builds prometheus-cpp's families with names, types and help from the metric table.
#pragma once

#include "daemon/metrics/counters.h"

#include <prometheus/metric_family.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gind {

class FamilyBuilder {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  // A family without label, or one series of a family with labels.  Series of a family follow
  // each other.  The name must be in the metric table.
  void add(std::string_view name, double value, const Labels& labels = {});
  void add_histogram(std::string_view name, std::span<const std::uint64_t> buckets,
                     std::uint64_t sum_ns, const Labels& labels);

  std::vector<prometheus::MetricFamily> take() && { return std::move(families_); }

 private:
  prometheus::ClientMetric& series(std::string_view name, const Labels& labels);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace gind
