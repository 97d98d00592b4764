// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/options.h"

#include "gin/gin.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <map>

namespace gind::perf {
namespace {

constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 30;

struct Defaults {
  Test test;
  const char* help;
  std::uint64_t size, iterations, depth;
};
constexpr Defaults kDefaults[] = {
    {Test::kPutLat, "latency of put + signal: half the round trip of a ping-pong", 8, 1000, 1},
    {Test::kPutBw, "bandwidth of puts in one direction", 65536, 1000, 128},
    {Test::kPutRate, "rate of small puts in one direction", 8, 100'000, 256},
};

struct CollectiveHelp {
  Test test;
  const char* help;
};
constexpr CollectiveHelp kCollectives[] = {
    {Test::kAllToAll, "every rank sends a slot of its own to every rank"},
    {Test::kAllGather, "every rank gets what every rank sends"},
    {Test::kReduceScatter, "every rank gets one shard of the reduction"},
    {Test::kAllReduce, "every rank gets the reduction: reduce-scatter, then all-gather"},
};

void add_device(CLI::App& sub, std::string& device) {
  sub.add_option(
         "--device", device,
         "who posts: cpu (default), gpu, or gpu:N with N the CUDA ordinal; ranks that share "
         "a GPU need MPS, or their kernels take turns")
      ->check(CLI::Validator(
          [](const std::string& text) {
            int n = 0, used = 0;
            const bool numbered = std::sscanf(text.c_str(), "gpu:%d%n", &n, &used) == 1 &&
                                  static_cast<std::size_t>(used) == text.size() && n >= 0;
            return text == "cpu" || text == "gpu" || numbered
                       ? std::string()
                       : text + " is neither cpu, gpu nor gpu:N";
          },
          "cpu|gpu|gpu:N"));
}

void add_baseline(CLI::App& sub, Options& o) {
  CLI::Option* baseline =
      sub.add_option_function<std::string>(
             "--baseline",
             [&o](const std::string& provider) {
               o.baseline = true;
               o.baseline_provider = provider;
             },
             "compare with bare libfabric writes between the same processes, in paired rounds; "
             "PROVIDER: libfabric's name (default: the communicator's)")
          ->expected(0, 1)
          ->type_name("PROVIDER");
  sub.add_option("--baseline-address", o.baseline_address,
                 "local IP address of the bare endpoints (default: libfabric's choice)")
      ->needs(baseline);
  sub.add_option("--baseline-rounds", o.baseline_rounds, "rounds of each kind (default 9)")
      ->needs(baseline)
      ->check(CLI::Range(1, 1001));
}

// Of the tests between ranks.
void add_ranks(CLI::App& sub, Options& o, std::string& device, const char* nranks, int least) {
  sub.add_option("--hold", o.hold_s, "seconds of idleness before the test begins (default 0)")
      ->check(CLI::Range(0.0, 86400.0));
  sub.add_option("--queue-depth", o.queue_units, "ring units per context (default: the daemon's)")
      ->check(CLI::Range(64, 1 << 20));
  sub.add_flag("--exclusive", o.exclusive, "contexts with one poster each, without atomics");
  sub.add_flag("--verify,!--no-verify", o.verify, "check every byte received (default on)");
  sub.add_option("--timeout", o.timeout_s, "seconds until a wait gives up (default 60)")
      ->check(CLI::Range(0.1, 86400.0));
  sub.add_option("--out_json", o.json_path, "write the figures to this file too");
  add_device(sub, device);
  sub.add_option("--nranks,--ranks", o.nranks, nranks)->check(CLI::Range(least, 1024));
  CLI::Option* rank = sub.add_option("--rank", o.rank, "this process's rank");
  sub.add_option("--id-file", o.id_path, "where rank 0 leaves the unique id for the others")
      ->needs(rank);
  sub.add_flag("--local-ranks", o.local_ranks, "start all ranks on this machine")->excludes(rank);
  sub.add_option("--sockets", o.sockets, "with local ranks: gind socket of rank 0, 1 ...")
      ->delimiter(',')
      ->excludes(rank);
}

void add_test(CLI::App& app, const Defaults& d, Options& o, std::string& device) {
  CLI::App* sub = app.add_subcommand(name_of(d.test), d.help);
  sub->add_option("-s,--size", o.size, fmt::format("bytes of a message (default {})", d.size))
      ->check(CLI::Range(std::uint64_t{1}, kMaxSize));
  sub->add_flag("-a,--all", o.all_sizes, "sizes 2, 4, 8 ... 8388608 in turn")->excludes("-s");
  sub->add_option("-n,--iters", o.iterations,
                  fmt::format("messages of each size and context (default {})", d.iterations))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  sub->add_option("-D,--duration", o.duration_s, "run each size for so many seconds instead")
      ->check(CLI::Range(0.01, 86400.0));
  if (d.test != Test::kPutLat) {
    sub->add_option("-t,--tx-depth", o.depth,
                    fmt::format("puts in flight per context (default {})", d.depth))
        ->check(CLI::Range(1, 65536));
    sub->add_option("-q,--qp", o.contexts, "contexts, each with a poster of its own (default 1)")
        ->check(CLI::Range(1, 256));
  }
  sub->add_option("--idle", o.idle_contexts,
                  "contexts of each rank that nobody posts to, beside those measured (default 0)")
      ->check(CLI::Range(0, 16384));
  add_baseline(*sub, o);
  add_ranks(*sub, o, device, "ranks; 2k and 2k+1 are a pair (default 2)", 2);
  sub->callback([&o, d] {
    o.test = d.test;
    if (o.size == 0) o.size = d.size;
    if (o.iterations == 0) o.iterations = d.iterations;
    if (o.depth == 0) o.depth = d.depth;
  });
}

void add_collective(CLI::App& app, const CollectiveHelp& c, Options& o, std::string& device) {
  constexpr std::uint64_t kSize = 1 << 20;
  constexpr std::uint64_t kIterations = 100;
  CLI::App* sub = app.add_subcommand(name_of(c.test), c.help);
  sub->add_option("-s,--size", o.size,
                  fmt::format("bytes that a rank sends or receives, the larger, rounded down to "
                              "whole elements for each rank (default {})",
                              kSize))
      ->check(CLI::Range(std::uint64_t{1}, kMaxSize));
  sub->add_flag("-a,--all", o.all_sizes, "sizes 2, 4, 8 ... 8388608 in turn")->excludes("-s");
  sub->add_option("-n,--iters", o.iterations,
                  fmt::format("calls of each size (default {})", kIterations))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  sub->add_option("-q,--qp", o.contexts,
                  "contexts, each with a block of its own that does its share (default 1)")
      ->check(CLI::Range(1, 256));
  sub->add_option("--type", o.element, "of the elements: float (default), double, int32, uint64")
      ->transform(CLI::CheckedTransformer(std::map<std::string, gin::kernels::ElementType>{
          {"float", gin::kernels::ElementType::kFloat},
          {"double", gin::kernels::ElementType::kDouble},
          {"int32", gin::kernels::ElementType::kInt32},
          {"uint64", gin::kernels::ElementType::kUint64}}));
  sub->add_option("--op", o.reduction, "how elements are reduced: sum (default), max")
      ->transform(CLI::CheckedTransformer(std::map<std::string, gin::kernels::Reduction>{
          {"sum", gin::kernels::Reduction::kSum}, {"max", gin::kernels::Reduction::kMax}}));
  sub->add_option("--threads", o.threads, "of a block, on a GPU (default 256)")
      ->check(CLI::Range(1, 1024));
  add_ranks(*sub, o, device, "ranks (default 2)", 1);
  sub->callback([&o, c] {
    o.test = c.test;
    if (o.size == 0) o.size = kSize;
    if (o.iterations == 0) o.iterations = kIterations;
  });
}

void add_queue(CLI::App& app, Options& o, std::string& device) {
  CLI::App* sub = app.add_subcommand(
      name_of(Test::kQueue), "the ring alone, without gind: rate of records, and round trip");
  sub->add_option("--grid", o.grid, "BLOCKSxTHREADS of posters (default: a table of grids)");
  sub->add_option("--units", o.units, "16-byte units of a record: 1, 2 or 4 (default: each)");
  sub->add_option("--sharing", o.queue_mode,
                  "shared, alone (shared, without common reservations), exclusive (a ring for each "
                  "block of one thread), session (the same, its state in registers), warp (a ring "
                  "for each warp); default: each");
  sub->add_option("-n,--iters", o.iterations, "records of a case (default: enough)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 36));
  sub->add_option("--queue-depth", o.queue_units, "units of a ring, a power of two (default 16384)")
      ->check(CLI::Range(64, 1 << 20));
  sub->add_flag("--verify,!--no-verify", o.verify, "check every record (default on)");
  sub->add_option("--timeout", o.timeout_s, "seconds until a wait gives up (default 60)")
      ->check(CLI::Range(0.1, 86400.0));
  sub->add_option("--out_json", o.json_path, "write the figures to this file too");
  add_device(*sub, device);
  sub->callback([&o] { o.test = Test::kQueue; });
}

Error usage(const std::string& text) { return {ginInvalidArgument, text}; }

}  // namespace

const char* name_of(Test test) {
  switch (test) {
    case Test::kPutLat:
      return "put_lat";
    case Test::kPutBw:
      return "put_bw";
    case Test::kPutRate:
      return "put_rate";
    case Test::kQueue:
      return "queue";
    case Test::kAllToAll:
      return "all_to_all";
    case Test::kAllGather:
      return "all_gather";
    case Test::kReduceScatter:
      return "reduce_scatter";
    case Test::kAllReduce:
      return "all_reduce";
  }
  return "?";
}

bool is_collective(Test test) { return test >= Test::kAllToAll; }

gin::kernels::CollectiveKind kind_of(Test test) {
  switch (test) {
    case Test::kAllToAll:
      return gin::kernels::CollectiveKind::kAllToAll;
    case Test::kAllGather:
      return gin::kernels::CollectiveKind::kAllGather;
    case Test::kReduceScatter:
      return gin::kernels::CollectiveKind::kReduceScatter;
    default:
      return gin::kernels::CollectiveKind::kAllReduce;
  }
}

const char* name_of(gin::kernels::ElementType type) {
  switch (type) {
    case gin::kernels::ElementType::kFloat:
      return "float";
    case gin::kernels::ElementType::kDouble:
      return "double";
    case gin::kernels::ElementType::kInt32:
      return "int32";
    case gin::kernels::ElementType::kUint64:
      return "uint64";
  }
  return "?";
}

const char* name_of(gin::kernels::Reduction reduction) {
  return reduction == gin::kernels::Reduction::kSum ? "sum" : "max";
}

std::vector<std::uint64_t> Options::sizes() const {
  if (!all_sizes) return {size};
  std::vector<std::uint64_t> list;
  for (std::uint64_t s = 2; s <= std::uint64_t{1} << 23; s <<= 1) list.push_back(s);
  return list;
}

Result<ParsedOptions> parse_options(int argc, const char* const* argv) {
  CLI::App app(
      "Latency, bandwidth and message rate of put and signal, and collectives, through gind, with "
      "every byte checked.\nEach rank is a process (--rank, --id-file; $GIND_SOCKET names its "
      "gind), or "
      "--local-ranks starts all.",
      "gin-perf");
  app.set_version_flag("--version", fmt::format("gin-perf {}.{}.{}", GIN_VERSION_MAJOR,
                                                GIN_VERSION_MINOR, GIN_VERSION_PATCH));
  app.footer(
      "Exit codes: 0 ok, 1 failure or wrong data, 2 usage, 3 daemon unreachable, "
      "4 version mismatch.");
  app.require_subcommand(1);
  ParsedOptions parsed;
  Options& o = parsed.options;
  std::string device = "cpu";
  for (const Defaults& d : kDefaults) add_test(app, d, o, device);
  for (const CollectiveHelp& c : kCollectives) add_collective(app, c, o, device);
  add_queue(app, o, device);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    parsed.text = chosen.empty() ? app.help() : chosen[0]->help();
    return parsed;
  } catch (const CLI::CallForVersion& version) {
    parsed.text = std::string(version.what()) + "\n";
    return parsed;
  } catch (const CLI::Error& e) {
    return usage(e.what());
  }
  o.gpu = device.starts_with("gpu");
  if (device.starts_with("gpu:")) o.gpu_ordinal = std::stoi(device.substr(4));
  if (o.test == Test::kQueue) {
    if (o.queue_units != 0 && !std::has_single_bit(static_cast<unsigned>(o.queue_units))) {
      return usage(fmt::format("--queue-depth {}: expected a power of two", o.queue_units));
    }
    parsed.run = true;
    return parsed;
  }
  if (!is_collective(o.test) && o.nranks % 2 != 0) {
    return usage(fmt::format("--nranks {}: ranks work in pairs, an even number", o.nranks));
  }
  if (!o.sockets.empty()) o.local_ranks = true;
  if (o.local_ranks) {
    if (static_cast<int>(o.sockets.size()) > o.nranks) {
      return usage(fmt::format("--sockets: {} sockets for {} ranks", o.sockets.size(), o.nranks));
    }
  } else if (o.rank < 0 || o.rank >= o.nranks || o.id_path.empty()) {
    return usage(o.rank < 0 || o.id_path.empty()
                     ? "give --rank and --id-file (one process a rank), or --local-ranks"
                     : fmt::format("--rank {}: expected 0 to {}", o.rank, o.nranks - 1));
  }
  parsed.run = true;
  return parsed;
}

}  // namespace gind::perf
