// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/process_stats.h"

#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace gind {

namespace {

double seconds(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::uint64_t count_fds() {
  DIR* const dir = ::opendir("/proc/self/fd");
  if (dir == nullptr) return 0;
  std::uint64_t n = 0;
  while (const dirent* entry = ::readdir(dir)) n += entry->d_name[0] != '.';
  ::closedir(dir);
  return n - 1;  // not the one that reads the folder
}

}  // namespace

std::optional<ProcessStats> read_process_stats() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The command's name may hold spaces and parentheses: fields are counted from behind it.
  const std::size_t close = line.rfind(')');
  if (close == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(close + 1));
  std::string skipped;
  std::uint64_t utime = 0, stime = 0, start = 0, vsize = 0, rss = 0;
  for (int field = 3; field <= 24; ++field) {  // numbers of proc(5)
    switch (field) {
      case 14:
        fields >> utime;
        break;
      case 15:
        fields >> stime;
        break;
      case 22:
        fields >> start;
        break;
      case 23:
        fields >> vsize;
        break;
      case 24:
        fields >> rss;
        break;
      default:
        fields >> skipped;
    }
  }
  if (!fields) return std::nullopt;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ProcessStats stats;
  stats.cpu_seconds = static_cast<double>(utime + stime) / ticks;
  stats.virtual_bytes = vsize;
  stats.resident_bytes = rss * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  stats.open_fds = count_fds();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.max_fds = limit.rlim_cur;
  // Once only: clock adjustments must not make the start time wander.  (/proc/stat's btime is not
  // there under ProcSubset=pid.)
  static const double boot = seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME);
  stats.start_time_seconds = boot + static_cast<double>(start) / ticks;
  return stats;
}

}  // namespace gind
