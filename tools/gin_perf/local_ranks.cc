// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/local_ranks.h"

#include "tools/gin_perf/exit_code.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace gind::perf {
namespace {

// A folder of its own, removed on destruction.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/gin-perf.XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int exit_code_of_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kFailure);
}

}  // namespace

int run_local_ranks(const Options& options, const std::function<int(const Options&)>& rank) {
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    std::fprintf(stderr, "gin-perf: no temporary folder: %s\n", std::strerror(errno));
    return kFailure;
  }
  const pid_t parent = ::getpid();
  std::vector<pid_t> children;
  int code = kOk;
  for (int r = 0; r < options.nranks; ++r) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(kFailure);
      Options mine = options;
      mine.rank = r;
      mine.id_path = folder.path() + "/id";
      if (!options.sockets.empty()) {
        const auto last = options.sockets.size() - 1;
        const std::string& socket = options.sockets[std::min<std::size_t>(r, last)];
        ::setenv("GIND_SOCKET", socket.c_str(), 1);
      }
      const int result = rank(mine);
      std::fflush(nullptr);
      ::_exit(result);
    }
    if (child < 0) {
      std::fprintf(stderr, "gin-perf: fork of rank %d: %s\n", r, std::strerror(errno));
      code = kFailure;
      break;
    }
    children.push_back(child);
  }
  std::size_t left = children.size();
  if (code != kOk) {
    for (const pid_t c : children) ::kill(c, SIGTERM);
  }
  while (left != 0) {
    int status = 0;
    const pid_t ended = ::wait(&status);
    if (ended < 0) {
      if (errno == EINTR) continue;
      break;
    }
    const auto found = std::find(children.begin(), children.end(), ended);
    if (found == children.end()) continue;
    children.erase(found);
    --left;
    const int one = exit_code_of_status(status);
    if (one == kOk || code != kOk) continue;
    code = one;  // the others would wait for it until their deadlines
    for (const pid_t c : children) ::kill(c, SIGTERM);
  }
  return code;
}

}  // namespace gind::perf
