// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/baseline.h"

#include "tools/gin_perf/statistics.h"

#include <algorithm>

namespace gind::perf {
namespace {

double median(std::vector<double> values) { return statistics_of(std::move(values)).median; }

}  // namespace

Result<std::unique_ptr<Baseline>> Baseline::open(Session& session, const Options& options) {
  if (!options.baseline) return std::unique_ptr<Baseline>();
  std::unique_ptr<Baseline> made(new Baseline(session, options));
  made->provider_ = options.baseline_provider;
  const bool fabric_here = std::string(session.properties().transport) == "ofi";
  if (made->provider_.empty() && fabric_here) made->provider_ = session.properties().provider;
  if (made->provider_.empty()) {
    return Error{
        ginInvalidArgument,
        "--baseline: this communicator has no libfabric provider to compare with; name one, "
        "as in --baseline 'tcp;ofi_rxm'"};
  }
  BareFabric::Options bare;
  bare.provider = made->provider_;
  bare.address = options.baseline_address;
  bare.largest = options.sizes().back();
  bare.depth = options.depth * static_cast<std::uint64_t>(options.contexts);
  bare.timeout_s = options.timeout_s;
  auto fabric = BareFabric::open(bare);
  if (!fabric) return fabric.error().with_context("--baseline");
  made->fabric_ = std::move(fabric).value();
  if (auto connected = made->connect(); !connected) return connected.error();
  return made;
}

// The cards go through gind, three bytes at a time: they are short.
Result<void> Baseline::connect() {
  const std::vector<std::uint8_t> mine = fabric_->card();
  auto size = session_.exchange(mine.size());
  if (!size) return size.error();
  std::vector<std::uint8_t> theirs(size.value());
  for (std::size_t at = 0; at < std::max(mine.size(), theirs.size()); at += 3) {
    std::uint64_t part = 0;
    for (std::size_t i = 0; i < 3 && at + i < mine.size(); ++i) {
      part |= std::uint64_t{mine[at + i]} << 8 * i;
    }
    auto got = session_.exchange(part);
    if (!got) return got.error();
    for (std::size_t i = 0; i < 3 && at + i < theirs.size(); ++i) {
      theirs[at + i] = static_cast<std::uint8_t>(got.value() >> 8 * i);
    }
  }
  return fabric_->connect(theirs);
}

std::uint64_t Baseline::iterations() const {
  return std::max<std::uint64_t>(
      options_.iterations / static_cast<std::uint64_t>(options_.baseline_rounds), 16);
}

Result<Comparison> Baseline::latency(std::uint64_t bytes, const Round& one_way_us) {
  std::vector<double> gind, bare, added;
  for (int round = 0; round < options_.baseline_rounds; ++round) {
    if (auto met = session_.handshake(); !met) return met.error();
    auto through_gind = one_way_us(iterations());
    if (!through_gind) return through_gind.error();
    if (auto met = session_.handshake(); !met) return met.error();
    auto times = fabric_->ping_pong(bytes, iterations(), session_.leads());
    if (!times) return times.error();
    std::vector<double> one_way;
    for (const std::uint64_t ns : times.value()) one_way.push_back(static_cast<double>(ns) / 2e3);
    gind.push_back(through_gind.value());
    bare.push_back(median(std::move(one_way)));
    added.push_back(gind.back() - bare.back());
  }
  return Comparison{median(gind), median(bare), median(added), options_.baseline_rounds};
}

Result<Comparison> Baseline::stream(std::uint64_t bytes, const Round& rate) {
  std::vector<double> gind, bare, ratio;
  for (int round = 0; round < options_.baseline_rounds; ++round) {
    if (auto met = session_.handshake(); !met) return met.error();
    auto through_gind = rate(iterations());
    if (!through_gind) return through_gind.error();
    if (auto met = session_.handshake(); !met) return met.error();
    const std::uint64_t writes = iterations() * static_cast<std::uint64_t>(options_.contexts);
    auto seconds = fabric_->stream(bytes, writes, session_.leads());
    if (!seconds) return seconds.error();
    if (!session_.leads()) continue;
    gind.push_back(through_gind.value());
    bare.push_back(static_cast<double>(writes) / seconds.value() / 1e6);
    ratio.push_back(gind.back() / bare.back());
  }
  if (!session_.leads()) return Comparison{};
  return Comparison{median(gind), median(bare), median(ratio), options_.baseline_rounds};
}

}  // namespace gind::perf
