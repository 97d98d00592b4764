// SPDX-License-Identifier: Apache-2.0
// The tests: each runs on every rank of a pair, the leading one measures; the collectives on all
// ranks, rank 0 measures.
#pragma once

#include "gind/common/result.h"
#include "tools/gin_perf/baseline.h"
#include "tools/gin_perf/options.h"
#include "tools/gin_perf/report.h"
#include "tools/gin_perf/session.h"

namespace gind::perf {

// Bytes of the window that a test needs on each rank.
std::uint64_t put_lat_window_bytes(const Options& options);
std::uint64_t put_stream_window_bytes(const Options& options);
std::uint64_t collective_window_bytes(const Options& options);

// Runs all sizes.  What was received and found right is counted in *verified; data that is not
// right is an error (ginInternalError) that names where.
// baseline: null, or what to compare with after each size.
Result<void> run_put_lat(Session& session, const Options& options, Baseline* baseline,
                         Report& report, Verified* verified);
Result<void> run_put_stream(Session& session, const Options& options, Baseline* baseline,
                            Report& report, Verified* verified);

// Wrong results are told on stderr and counted in verified->wrong.
Result<void> run_collective(Session& session, const Options& options, Report& report,
                            Verified* verified);

}  // namespace gind::perf
