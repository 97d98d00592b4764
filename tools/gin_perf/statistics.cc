// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gind::perf {

Statistics statistics_of(std::vector<double> values) {
  Statistics s;
  if (values.empty()) return s;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const auto rank = [&](double part) {
    const auto i = static_cast<std::size_t>(std::ceil(part * n));
    return values[std::clamp<std::size_t>(i, 1, values.size()) - 1];
  };
  s.min = values.front();
  s.max = values.back();
  s.median = rank(0.5);
  s.p99 = rank(0.99);
  s.p999 = rank(0.999);
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - s.mean) * (v - s.mean);
  s.deviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  return s;
}

}  // namespace gind::perf
