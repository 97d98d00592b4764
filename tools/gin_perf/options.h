// SPDX-License-Identifier: Apache-2.0
// gin-perf's command line.
#pragma once

#include "gind/common/result.h"
#include "kernels/collectives/run.cuh"

#include <cstdint>
#include <string>
#include <vector>

namespace gind::perf {

enum class Test {
  kPutLat,
  kPutBw,
  kPutRate,
  kQueue,
  kAllToAll,
  kAllGather,
  kReduceScatter,
  kAllReduce
};
const char* name_of(Test test);
bool is_collective(Test test);
gin::kernels::CollectiveKind kind_of(Test test);  // of a collective
const char* name_of(gin::kernels::ElementType type);
const char* name_of(gin::kernels::Reduction reduction);

struct Options {
  Test test = Test::kPutLat;
  std::uint64_t size = 0;  // bytes; 0 with all_sizes
  bool all_sizes = false;
  std::uint64_t iterations = 0;  // of each size and context
  double duration_s = 0;         // 0: by iterations
  std::uint64_t depth = 0;       // puts in flight per context
  int contexts = 1;
  int idle_contexts = 0;  // beside those that are measured
  int queue_units = 0;    // 0: the daemon's default
  double hold_s = 0;      // between set-up and the test
  bool exclusive = false;
  bool verify = true;
  double timeout_s = 60;
  std::string json_path;
  bool baseline = false;          // compare with the bare provider
  std::string baseline_provider;  // empty: the communicator's
  std::string baseline_address;   // local IP address to bind; empty: libfabric's choice
  int baseline_rounds = 9;
  bool gpu = false;  // kernels post, not threads of the CPU
  int gpu_ordinal = 0;

  // Collectives only.
  gin::kernels::ElementType element = gin::kernels::ElementType::kFloat;
  gin::kernels::Reduction reduction = gin::kernels::Reduction::kSum;
  int threads = 256;  // of a block, on a GPU

  // queue only; empty or 0: the whole table
  std::string grid;        // BLOCKSxTHREADS
  int units = 0;           // of a record
  std::string queue_mode;  // shared, alone, exclusive, session, warp

  int nranks = 2;
  int rank = -1;
  std::string id_path;
  bool local_ranks = false;
  std::vector<std::string> sockets;  // local ranks: of rank i, the last one for all that follow

  std::vector<std::uint64_t> sizes() const;
};

struct ParsedOptions {
  Options options;
  bool run = false;  // false: help or version was asked for, `text` is it
  std::string text;
};

// Errors: ginInvalidArgument with the text to print.
Result<ParsedOptions> parse_options(int argc, const char* const* argv);

}  // namespace gind::perf
