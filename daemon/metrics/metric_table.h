// SPDX-License-Identifier: Apache-2.0
// Every metric gind exports: name, type, labels and help.  docs/metrics.md shows the same (tested).
#pragma once

#include <span>
#include <string_view>

namespace gind {

enum class MetricKind { kGauge, kCounter, kHistogram };

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  std::string_view labels;  // "op" or "transport, provider"; empty: none
  std::string_view help;
};

std::span<const MetricInfo> metric_table();
// Null when there is none of that name.
const MetricInfo* find_metric(std::string_view name);

}  // namespace gind
