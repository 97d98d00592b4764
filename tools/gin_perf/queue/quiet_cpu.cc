// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/queue/quiet_cpu.h"

#include "gin/queues/wait.h"

#include <cstdint>

namespace gind::perf {
namespace {

constexpr std::uint64_t kTryNs = 300'000;

bool stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

// Steps of a loop with several chains, so that it wants all of a core.
std::uint64_t speed() {
  const std::uint64_t until = gin::queues::now_ns() + kTryNs;
  std::uint64_t steps = 0, a = 1, b = 2, c = 3, d = 4;
  while (gin::queues::now_ns() < until) {
    for (int i = 0; i < 2000; ++i) {
      a = a * 3 + 1, b = b * 5 + 1, c ^= c << 7, d ^= d >> 9;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
    ++steps;
  }
  return steps;
}

}  // namespace

QuietCpu::QuietCpu() {
  if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  int best = -1;
  std::uint64_t most = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before_) || !stay_on(cpu)) continue;
    if (const std::uint64_t s = speed(); s > most) {
      most = s;
      best = cpu;
    }
  }
  pinned_ = best >= 0 && stay_on(best);
  if (!pinned_) ::sched_setaffinity(0, sizeof before_, &before_);
}

QuietCpu::~QuietCpu() {
  if (pinned_) ::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace gind::perf
