// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/daemon.h"

#include "daemon/config/address.h"
#include "daemon/control/client_server.h"
#include "daemon/control/local_rank.h"
#include "daemon/control/proxy_events.h"
#include "daemon/control/transports.h"
#include "daemon/control/version.h"
#include "daemon/log/log.h"
#include "daemon/metrics/exporter.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <thread>

namespace gind {

struct Daemon::State {
  explicit State(const Config& config) : node{.config = config, .io = io} {}
  ~State();

  Result<void> open();
  Result<void> open_proxies();
  Result<void> open_peers();
  Result<void> open_metrics();
  void stop(const std::string& why);
  void wait_for_ranks(std::chrono::steady_clock::time_point deadline);

  boost::asio::io_context io{1};
  Transports transports;
  Node node;
  ProxyEventsToRanks events{node};
  std::unique_ptr<ClientServer> server;
  std::unique_ptr<MetricsExporter> metrics;
  std::string metrics_address;
  boost::asio::signal_set signals{io};
  boost::asio::steady_timer stop_timer{io};
  bool stopping = false;
};

namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

constexpr unsigned kFewCores = 4;

std::uint32_t proxy_threads(const Config& config) {
  if (config.proxy.threads != 0) return config.proxy.threads;
  return std::thread::hardware_concurrency() <= kFewCores ? 1 : 2;
}

Result<void> check_cpu(std::uint32_t cpu) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || cpu >= CPU_SETSIZE ||
      !CPU_ISSET(cpu, &allowed)) {
    return Error{ginInvalidArgument,
                 fmt::format("proxy.cpus: CPU {} does not exist or is not allowed for gind (see "
                             "taskset -p {})",
                             cpu, ::getpid())};
  }
  return {};
}

}  // namespace

Result<void> Daemon::State::open_proxies() {
  const Config& config = node.config;
  const std::uint32_t threads = proxy_threads(config);
  for (std::uint32_t i = 0; i < threads; ++i) {
    ProxyOptions options;
    options.index = i;
    if (!config.proxy.cpus.empty()) {
      const std::uint32_t cpu = config.proxy.cpus[i % config.proxy.cpus.size()];
      if (const auto fine = check_cpu(cpu); !fine) return fine.error();
      options.cpu = static_cast<int>(cpu);
    }
    options.burst = config.proxy.burst;
    options.burst_bytes = config.proxy.burst_bytes;
    options.piece_bytes = config.proxy.piece_bytes;
    for (const Transport* t : {transports.fabric.get(), transports.loopback.get()}) {
      if (t != nullptr)
        options.piece_bytes = std::min(options.piece_bytes, t->caps().max_write_bytes);
    }
    // Posters, their partners and other ginds want the same few cores (docs/performance.md).
    options.yields = std::thread::hardware_concurrency() <= kFewCores;
    options.spin_ns = static_cast<std::uint64_t>(config.proxy.spin.count());
    options.nap_ns = static_cast<std::uint64_t>(config.proxy.nap.count());
    options.operation_timeout_ns = static_cast<std::uint64_t>(config.timeouts.operation.count());
    options.hole_timeout_ns = static_cast<std::uint64_t>(config.timeouts.hole.count());
    auto proxy =
        ProxyThread::create(options, transports.fabric.get(), *transports.loopback, events);
    if (!proxy) return proxy.error().with_context(fmt::format("proxy thread {}", i));
    node.proxies.push_back(std::move(proxy).value());
  }
  return {};
}

Result<void> Daemon::State::open_peers() {
  const Config& config = node.config;
  if (!is_loopback_address(config.peer.listen)) {
    if (!config.peer.insecure) {
      return Error{ginInvalidUsage,
                   fmt::format("peer.listen {} is not a loopback address and the peer link is not "
                               "authenticated yet: set peer.insecure = true if the network is "
                               "trusted, or listen on 127.0.0.1",
                               config.peer.listen)};
    }
    log_warning(
        fmt::format("peer.insecure is set: anybody who reaches {} port {} can join "
                    "communicators and write to their windows",
                    config.peer.listen, config.peer.port));
  }
  const TransportCaps& caps =
      transports.fabric ? transports.fabric->caps() : transports.loopback->caps();
  NodeInfo self;
  self.instance = node.instance;
  self.name = config.daemon.node_name.empty() ? host_name() : config.daemon.node_name;
  self.transport = caps.name;
  self.provider = caps.provider;
  self.signal_mode = std::string(signal_mode_name(caps.signal_mode));
  if (transports.fabric) {
    for (const auto& proxy : node.proxies) self.endpoints.push_back(proxy->fabric_address());
  }
  PeerOptions options;
  options.listen = config.peer.listen;
  options.port = config.peer.port;
  options.advertise = config.peer.advertise;
  options.rendezvous = config.timeouts.rendezvous;
  options.handshake = config.timeouts.handshake;
  options.log = [](PeerLogLevel level, const std::string& text) {
    log(level == PeerLogLevel::kInfo ? LogLevel::kInfo : LogLevel::kWarning, text);
  };
  auto peers = PeerNetwork::start(io, options, self, node.counters);
  if (!peers) return peers.error();
  node.peers = std::move(peers).value();
  return {};
}

Result<void> Daemon::State::open_metrics() {
  if (!node.config.metrics.enabled) return {};
  auto sources = std::make_shared<MetricsSources>();
  for (const auto& proxy : node.proxies) sources->proxies.push_back(&proxy->counters());
  sources->control = &node.counters;
  sources->version = kVersion;
  const TransportCaps& caps =
      transports.fabric ? transports.fabric->caps() : transports.loopback->caps();
  sources->transport = caps.name;
  sources->provider = caps.provider;
  sources->signal_mode = std::string(signal_mode_name(caps.signal_mode));
  auto started = MetricsExporter::start(node.config.metrics.listen, sources);
  if (!started) return started.error();
  metrics = std::move(started).value();
  const std::string& listen = node.config.metrics.listen;
  metrics_address = listen.substr(0, listen.rfind(':') + 1) + std::to_string(metrics->port());
  return {};
}

Result<void> Daemon::State::open() {
  std::random_device random;
  node.instance = static_cast<std::uint64_t>(random()) << 32 | random();
  // The socket first: it tells a second gind apart before anything else is touched.
  auto listener = ListenerSocket::open(node.config.daemon);
  if (!listener) return listener.error();
  auto opened = open_transports(node.config);
  if (!opened) return opened.error();
  transports = std::move(opened).value();
  node.fabric = transports.fabric.get();
  node.loopback = transports.loopback.get();
  if (const auto fine = open_proxies(); !fine) return fine.error();
  if (const auto fine = open_peers(); !fine) return fine.error();
  if (const auto fine = open_metrics(); !fine) return fine.error();
  for (auto& proxy : node.proxies) proxy->start();
  server = std::make_unique<ClientServer>(node, std::move(listener).value());
  return {};
}

void Daemon::State::stop(const std::string& why) {
  if (stopping) return;
  stopping = true;
  log_info("stopping: " + why);
  server->shutdown("gind is stopping");
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            node.config.timeouts.teardown);
  wait_for_ranks(deadline);
}

void Daemon::State::wait_for_ranks(std::chrono::steady_clock::time_point deadline) {
  if (node.ranks.empty() || std::chrono::steady_clock::now() >= deadline) {
    if (!node.ranks.empty()) {
      log_warning(
          fmt::format("{} ranks had not ended within timeouts.teardown", node.ranks.size()));
    }
    // Peers see this gind as lost from here on.
    node.peers->shutdown();
    io.stop();
    return;
  }
  stop_timer.expires_after(std::chrono::milliseconds(10));
  stop_timer.async_wait([this, deadline](const boost::system::error_code& error) {
    if (!error) wait_for_ranks(deadline);
  });
}

Daemon::State::~State() {
  metrics.reset();  // reads the proxies' counters
  server.reset();
  for (auto& proxy : node.proxies) proxy->stop();
  // Ranks that did not end hold registrations and mappings: those go before the transports do.
  // Handlers that still wait in the io_context may own such ranks.
  node.quarantine.clear();
  std::vector<std::shared_ptr<LocalRank>> left;
  for (const auto& [id, rank] : node.ranks) left.push_back(rank->shared_from_this());
  for (const auto& rank : left) rank->abandon();
  left.clear();
  node.peers.reset();
  node.proxies.clear();
}

Result<std::unique_ptr<Daemon>> Daemon::create(const Config& config) {
  auto state = std::make_unique<State>(config);
  if (const auto opened = state->open(); !opened) return opened.error();
  return std::unique_ptr<Daemon>(new Daemon(std::move(state)));
}

Daemon::Daemon(std::unique_ptr<State> state) : state_(std::move(state)) {}
Daemon::~Daemon() = default;

const std::string& Daemon::metrics_address() const { return state_->metrics_address; }

Result<void> Daemon::run() {
  State& s = *state_;
  s.signals.add(SIGTERM);
  s.signals.add(SIGINT);
  s.signals.async_wait([&s](const boost::system::error_code& error, int number) {
    if (!error) s.stop(number == SIGTERM ? "SIGTERM" : "SIGINT");
  });
  const auto guard = boost::asio::make_work_guard(s.io);
  s.io.run();
  log_info("stopped");
  return {};
}

}  // namespace gind
