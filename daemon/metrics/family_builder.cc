// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/family_builder.h"

#include "daemon/metrics/metric_table.h"

#include <limits>

namespace gind {

namespace {

prometheus::MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
    default:
      return prometheus::MetricType::Gauge;
  }
}

}  // namespace

prometheus::ClientMetric& FamilyBuilder::series(std::string_view name, const Labels& labels) {
  if (families_.empty() || families_.back().name != name) {
    prometheus::MetricFamily family;
    family.name = name;
    if (const MetricInfo* info = find_metric(name)) {
      family.help = info->help;
      family.type = type_of(info->kind);
    }
    families_.push_back(std::move(family));
  }
  prometheus::ClientMetric& metric = families_.back().metric.emplace_back();
  for (const auto& [label, value] : labels) {
    metric.label.push_back({std::string(label), std::string(value)});
  }
  return metric;
}

void FamilyBuilder::add(std::string_view name, double value, const Labels& labels) {
  prometheus::ClientMetric& metric = series(name, labels);
  metric.counter.value = value;
  metric.gauge.value = value;
}

void FamilyBuilder::add_histogram(std::string_view name, std::span<const std::uint64_t> buckets,
                                  std::uint64_t sum_ns, const Labels& labels) {
  prometheus::ClientMetric& metric = series(name, labels);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    total += buckets[i];
    const double bound = i < kDurationBoundsNs.size()
                             ? static_cast<double>(kDurationBoundsNs[i]) / 1e9
                             : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({total, bound});
  }
  // From the same reads as the buckets, so that the last one equals the count.
  metric.histogram.sample_count = total;
  metric.histogram.sample_sum = static_cast<double>(sum_ns) / 1e9;
}

}  // namespace gind
