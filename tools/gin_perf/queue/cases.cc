// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/queue/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace gind::perf {
namespace {

using gin::kernels::PostMode;

struct Grid {
  std::uint32_t blocks, threads;
};
constexpr Grid kGpuShared[] = {{1, 1}, {1, 32}, {8, 32}, {32, 32}, {32, 128}, {132, 256}};
constexpr Grid kGpuOwn[] = {{1, 1}, {8, 1}, {32, 1}, {132, 1}};
constexpr Grid kGpuWarp[] = {{1, 32}, {8, 32}, {32, 32}};
constexpr Grid kCpuShared[] = {{1, 1}, {1, 2}, {1, 4}};
constexpr Grid kCpuOwn[] = {{1, 1}, {2, 1}, {4, 1}};

// Long enough to outlast start and end, short enough for a table of a minute.
constexpr std::uint64_t kGpuRecords = 12'000'000;
constexpr std::uint64_t kCpuRecords = 4'000'000;
constexpr std::uint64_t kLeastOfThread = 64;

std::uint64_t records_of(const Options& o, const Grid& g) {
  const std::uint64_t posters = std::uint64_t{g.blocks} * g.threads;
  if (o.iterations != 0) return std::max<std::uint64_t>(o.iterations / posters, 1);
  std::uint64_t all = o.gpu ? kGpuRecords : kCpuRecords;
  if (posters < 256) all /= 6;  // slower, so that fewer will do
  return std::max(all / posters, kLeastOfThread);
}

Result<Grid> parse_grid(const std::string& text) {
  Grid g{0, 0};
  int used = 0;
  if (std::sscanf(text.c_str(), "%ux%u%n", &g.blocks, &g.threads, &used) == 2 &&
      static_cast<std::size_t>(used) == text.size() && g.blocks >= 1 && g.blocks <= 1024 &&
      g.threads >= 1 && g.threads <= 1024) {
    return g;
  }
  return Error{
      ginInvalidArgument,
      fmt::format("--grid {}: expected BLOCKSxTHREADS, each 1 to 1024, like 32x128", text)};
}

}  // namespace

const char* name_of(PostMode mode) {
  switch (mode) {
    case PostMode::kTogether:
      return "shared";
    case PostMode::kAlone:
      return "alone";
    case PostMode::kOwn:
      return "exclusive";
    case PostMode::kSession:
      return "session";
    case PostMode::kWarp:
      return "warp";
  }
  return "?";
}

double target_of(const QueueCase& c) {
  const bool many = c.blocks >= 8 && c.threads >= 32;
  switch (c.mode) {
    case PostMode::kTogether:
      if (c.posters() == 1) return 3;
      if (c.units == 1 && many) return 160;
      if (c.units == 2 && many) return 100;
      if (c.units == 2 && c.posters() == 32) return 50;
      return 0;
    case PostMode::kOwn:
    case PostMode::kSession:
      if (c.blocks == 1) return 7;
      if (c.blocks == 132) return 90;
      return 0;
    case PostMode::kWarp:
      if (c.blocks == 1) return 85;
      return 0;
    case PostMode::kAlone:
      return 0;
  }
  return 0;
}

Result<std::vector<QueueCase>> queue_cases(const Options& o) {
  std::vector<PostMode> modes = {PostMode::kTogether, PostMode::kAlone, PostMode::kOwn,
                                 PostMode::kSession};
  if (o.gpu) modes.push_back(PostMode::kWarp);
  if (!o.queue_mode.empty()) {
    std::erase_if(modes, [&](PostMode m) { return o.queue_mode != name_of(m); });
    if (modes.empty()) {
      return Error{ginInvalidArgument,
                   fmt::format("--sharing {}: expected shared, alone, exclusive, session{}",
                               o.queue_mode, o.gpu ? " or warp" : "; warp needs --device gpu")};
    }
  }
  std::vector<std::uint32_t> sizes = {1, 2, 4};
  if (o.units != 0) {
    if (o.units != 1 && o.units != 2 && o.units != 4) {
      return Error{ginInvalidArgument, fmt::format("--units {}: expected 1, 2 or 4", o.units)};
    }
    sizes = {static_cast<std::uint32_t>(o.units)};
  }
  std::vector<QueueCase> cases;
  for (const PostMode mode : modes) {
    std::vector<Grid> grids;
    const auto take = [&](const auto& list) { grids.assign(std::begin(list), std::end(list)); };
    const bool own = mode == PostMode::kOwn || mode == PostMode::kSession;
    if (!o.grid.empty()) {
      auto one = parse_grid(o.grid);
      if (!one) return one.error();
      grids = {one.value()};
    } else if (!o.gpu) {
      own ? take(kCpuOwn) : take(kCpuShared);
    } else {
      mode == PostMode::kWarp ? take(kGpuWarp) : own ? take(kGpuOwn) : take(kGpuShared);
    }
    for (const Grid& g : grids) {
      // A one-producer ring has one thread, or one whole warp.
      if ((own && g.threads != 1) || (mode == PostMode::kWarp && g.threads != 32)) {
        if (!o.queue_mode.empty()) {
          return Error{ginInvalidArgument,
                       fmt::format("--grid {}x{}: --sharing {} needs {} a block", g.blocks,
                                   g.threads, name_of(mode), own ? "1 thread" : "32 threads")};
        }
        continue;
      }
      for (const std::uint32_t units : sizes) {
        cases.push_back({g.blocks, g.threads, units, mode, records_of(o, g)});
      }
    }
  }
  return cases;
}

}  // namespace gind::perf
