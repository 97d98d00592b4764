// SPDX-License-Identifier: Apache-2.0
#include "cluster.h"

#include "programs.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace gind::test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool accepts(const std::string& socket) {
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const bool ok = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return ok;
}

int shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str());
}

void must(const std::string& command) {
  if (shell(command) != 0) throw std::runtime_error("failed: " + command);
}

}  // namespace

GindProcess::GindProcess(const std::string& dir, const std::string& name,
                         const NodeOptions& options)
    : dir_(dir), name_(name), options_(options), socket_(dir + "/" + name + ".sock") {
  start();
}

GindProcess::~GindProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGCONT);
  ::kill(pid_, SIGTERM);
  if (wait_end(20) == -1) {
    ::kill(pid_, SIGKILL);
    wait_end(5);
  }
}

void GindProcess::start() {
  std::vector<std::string> args;
  if (!options_.netns.empty()) args = {"ip", "netns", "exec", options_.netns};
  args.push_back(program("gind"));
  const auto set = [&args](const std::string& key_value) {
    args.push_back("--set");
    args.push_back(key_value);
  };
  set("daemon.socket=" + socket_);
  set("daemon.node_name=" + name_);
  set("peer.listen=" + options_.address);
  set("metrics.listen=" + options_.address + ":9408");
  if (!options_.netns.empty()) set("peer.insecure=true");
  if (options_.provider == "loopback") {
    set("transport.kind=loopback");
  } else {
    set("transport.provider=" + options_.provider);
    if (options_.provider != "shm") set("transport.address=" + options_.address);
  }
  for (const auto& s : options_.set) set(s);
  std::vector<char*> argv;
  for (auto& a : args) argv.push_back(a.data());
  argv.push_back(nullptr);
  const std::string log_path = dir_ + "/" + name_ + ".log";
  pid_ = ::fork();
  if (pid_ == 0) {
    const int log_fd = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(log_fd, 1);
    ::dup2(log_fd, 2);
    ::close(log_fd);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  while (!accepts(socket_)) {
    if (!running() || Clock::now() > deadline) {
      throw std::runtime_error("gind " + name_ + " does not serve; its log:\n" + log());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void GindProcess::restart() { start(); }
std::string GindProcess::log() const { return slurp(dir_ + "/" + name_ + ".log"); }

bool GindProcess::running() {
  if (pid_ < 0) return false;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

void GindProcess::kill(int signal) { ::kill(pid_, signal); }

int GindProcess::wait_end(int seconds) {
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (Clock::now() > deadline) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::size_t GindProcess::open_fds() const {
  const fs::directory_iterator fds("/proc/" + std::to_string(pid_) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(fds), end(fds)));
}

std::size_t GindProcess::mappings_of(const std::string& what) const {
  std::istringstream maps(slurp("/proc/" + std::to_string(pid_) + "/maps"));
  std::size_t n = 0;
  for (std::string line; std::getline(maps, line);) n += line.find(what) != std::string::npos;
  return n;
}

double GindProcess::metric(const std::string& sample) const {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9408);
  ::inet_pton(AF_INET, options_.address.c_str(), &to.sin_addr);
  std::string text;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    (void)!::write(fd, request.data(), request.size());
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(n));
    }
  }
  ::close(fd);
  const auto at = text.find("\n" + sample + " ");
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + sample.size() + 2);
}

bool namespaces_allowed(std::string* reason) {
  const std::string ns = "gindtest" + std::to_string(::getpid());
  if (shell("ip netns add " + ns) != 0) {
    *reason = "network namespaces are not allowed here (ip netns add failed)";
    return false;
  }
  shell("ip netns del " + ns);
  return true;
}

bool netem_allowed(std::string* reason) {
  if (!namespaces_allowed(reason)) return false;
  const std::string ns = "gindtest" + std::to_string(::getpid());
  const bool works =
      shell("ip netns add " + ns) == 0 &&
      shell("ip netns exec " + ns + " tc qdisc add dev lo root netem delay 1ms") == 0;
  shell("ip netns del " + ns);
  if (!works) *reason = "this kernel has no netem, or there is no tc";
  return works;
}

Cluster::Cluster(const ClusterOptions& options) {
  std::string pattern = fs::temp_directory_path() / "gind-test.XXXXXX";
  dir_ = ::mkdtemp(pattern.data());
  const auto pid = static_cast<unsigned>(::getpid());
  const std::string tag = std::to_string(pid);
  if (options.namespaces) {
    must("ip netns add gb" + tag);
    namespaces_.push_back("gb" + tag);
    must("ip -n gb" + tag + " link add br0 type bridge");
    must("ip -n gb" + tag + " link set br0 up");
  }
  for (int i = 0; i < options.nodes; ++i) {
    NodeOptions node;
    node.provider = options.provider;
    node.set = options.set;
    // A loopback address that no other test process uses at the same time.
    node.address = "127." + std::to_string(64 + pid / 65536 % 128) + "." +
                   std::to_string(pid / 256 % 256) + "." + std::to_string((pid % 64) * 4 + 1);
    if (options.nodes > 1) {
      node.address = "127." + std::to_string(64 + pid / 64 % 128) + "." +
                     std::to_string(pid % 64 + 1) + "." + std::to_string(i + 1);
    }
    if (options.namespaces) {
      const std::string n = std::to_string(i);
      node.netns = "gn" + tag + "-" + n;
      node.address = "10.91.0." + std::to_string(i + 1);
      must("ip netns add " + node.netns);
      namespaces_.push_back(node.netns);
      must("ip -n gb" + tag + " link add v" + n + " type veth peer name eth0 netns " + node.netns);
      must("ip -n gb" + tag + " link set v" + n + " master br0 up");
      must("ip -n " + node.netns + " addr add " + node.address + "/24 dev eth0");
      must("ip -n " + node.netns + " link set eth0 up");
      must("ip -n " + node.netns + " link set lo up");
      if (!options.netem.empty()) {
        must("ip netns exec " + node.netns + " tc qdisc add dev eth0 root netem " + options.netem);
      }
    }
    nodes_.push_back(std::make_unique<GindProcess>(dir_, "node" + std::to_string(i), node));
  }
}

Cluster::~Cluster() {
  nodes_.clear();
  for (const auto& ns : namespaces_) shell("ip netns del " + ns);
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

std::vector<std::string> Cluster::place(const std::vector<int>& ranks) const {
  std::vector<std::string> sockets;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    sockets.insert(sockets.end(), static_cast<std::size_t>(ranks[i]), nodes_.at(i)->socket());
  }
  return sockets;
}

std::string Cluster::logs() const {
  std::string text;
  for (const auto& node : nodes_) text += "--- " + node->socket() + "\n" + node->log();
  return text;
}

}  // namespace gind::test
