// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/exit_code.h"
#include "tools/gin_perf/local_ranks.h"
#include "tools/gin_perf/queue/run.h"
#include "tools/gin_perf/tests.h"

#if defined(GIND_PERF_OFI)
#include "gind/transports/ofi.h"
#endif

#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

namespace gind::perf {
namespace {

std::uint64_t window_bytes_of(const Options& options) {
  if (is_collective(options.test)) return collective_window_bytes(options);
  return options.test == Test::kPutLat ? put_lat_window_bytes(options)
                                       : put_stream_window_bytes(options);
}

Result<void> run_pair(Session& session, const Options& options, Report& report,
                      Verified* verified) {
  auto baseline = Baseline::open(session, options);
  if (!baseline) return baseline.error();
  Baseline* const compare = baseline.value().get();
  auto ran = options.test == Test::kPutLat
                 ? run_put_lat(session, options, compare, report, verified)
                 : run_put_stream(session, options, compare, report, verified);
  if (!ran) return ran.error();
  // Rank 0 reports what both ranks of its pair have checked.
  for (std::uint64_t* count : {&verified->messages, &verified->stamps}) {
    auto theirs = session.exchange(*count & 0x7fffffff);
    if (!theirs) return theirs.error();
    *count += theirs.value();
  }
  auto mebibytes = session.exchange(verified->bytes >> 20);
  if (!mebibytes) return mebibytes.error();
  auto rest = session.exchange(verified->bytes & 0xfffff);
  if (!rest) return rest.error();
  verified->bytes += (mebibytes.value() << 20) + rest.value();
  return {};
}

Result<void> run(const Options& options) {
  std::unique_ptr<Player> player = make_cpu_player();
  if (options.gpu) {
    auto gpu = make_gpu_player(options.gpu_ordinal);
    if (!gpu) return gpu.error();
    player = std::move(gpu).value();
  }
  auto opened = Session::open(options, *player, window_bytes_of(options));
  if (!opened) return opened.error();
  Session& session = *opened.value();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.hold_s));
  Report report(options, player->name(), session.properties(), session.rank() != 0);
  Verified verified;
  auto ran = is_collective(options.test) ? run_collective(session, options, report, &verified)
                                         : run_pair(session, options, report, &verified);
  if (!ran) return ran.error();
  if (auto done = report.finish(options, verified); !done) return done.error();
  if (auto closed = session.close(); !closed) return closed.error();
  if (verified.wrong == 0) return {};
  return Error{ginInternalError, "wrong data: " + std::to_string(verified.wrong) + " results"};
}

int run_rank(const Options& options) {
  const auto ran = run(options);
  if (ran) return kOk;
  std::fprintf(stderr, "gin-perf: rank %d: %s\n", options.rank, ran.error().message.c_str());
  return exit_code_of(ran.error().code);
}

}  // namespace
}  // namespace gind::perf

int main(int argc, char** argv) try {
#if defined(GIND_PERF_OFI)
  gind::prepare_process_for_ofi();
#endif
  using namespace gind::perf;
  const auto parsed = parse_options(argc, argv);
  if (!parsed) {
    std::fprintf(stderr, "gin-perf: %s\nRun gin-perf --help for usage.\n",
                 parsed.error().message.c_str());
    return kUsage;
  }
  if (!parsed.value().run) {
    std::fputs(parsed.value().text.c_str(), stdout);
    return kOk;
  }
  const Options& options = parsed.value().options;
  if (options.test == Test::kQueue) {
    const auto ran = run_queue(options);
    if (ran) return kOk;
    std::fprintf(stderr, "gin-perf queue: %s\n", ran.error().message.c_str());
    return ran.error().code == ginInvalidArgument ? kUsage : exit_code_of(ran.error().code);
  }
  return options.local_ranks ? run_local_ranks(options, run_rank) : run_rank(options);
} catch (const std::exception& e) {
  std::fprintf(stderr, "gin-perf: %s\n", e.what());
  return gind::perf::kFailure;
}
