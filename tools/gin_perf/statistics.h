// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace gind::perf {

struct Statistics {
  double min = 0, max = 0, median = 0, mean = 0, deviation = 0, p99 = 0, p999 = 0;
};

// Of a list that is not empty, in its unit.  Percentiles by nearest rank; the deviation is the
// sample's.
Statistics statistics_of(std::vector<double> values);

}  // namespace gind::perf
