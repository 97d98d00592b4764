// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/exporter.h"

#include "daemon/config/address.h"
#include "daemon/metrics/families.h"
#include "gind/common/fd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stop_token>
#include <thread>

namespace gind {

namespace {

Error cannot_listen(const std::string& listen, int err) {
  std::string remedy = "set metrics.listen to an address of this machine and a free port";
  if (err == EADDRINUSE) remedy = "another process has this port; " + remedy;
  return {ginSystemError, "metrics.listen " + listen + ": " + errno_text(err) + "; " + remedy +
                              ", or metrics.enabled = false"};
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const HostPort& at) {
  SocketAddress out;
  if (at.v6) {
    auto* const a = reinterpret_cast<sockaddr_in6*>(&out.storage);
    a->sin6_family = AF_INET6;
    a->sin6_port = htons(at.port);
    ::inet_pton(AF_INET6, at.host.c_str(), &a->sin6_addr);
    out.size = sizeof *a;
  } else {
    auto* const a = reinterpret_cast<sockaddr_in*>(&out.storage);
    a->sin_family = AF_INET;
    a->sin_port = htons(at.port);
    ::inet_pton(AF_INET, at.host.c_str(), &a->sin_addr);
    out.size = sizeof *a;
  }
  return out;
}

// The HTTP server says nothing of why it cannot listen: try it first.
Result<void> try_listen(const std::string& listen, const HostPort& at) {
  const SocketAddress address = socket_address(at);
  const Fd fd(::socket(at.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return cannot_listen(listen, errno);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.v6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), 1) != 0) {
    return cannot_listen(listen, errno);
  }
  return {};
}

}  // namespace

struct MetricsExporter::State {
  std::shared_ptr<prometheus::Collectable> collector;  // the exposer holds a weak pointer
  std::unique_ptr<prometheus::Exposer> exposer;
  HostPort at;  // with the real port
};

MetricsExporter::MetricsExporter(std::unique_ptr<State> state) : state_(std::move(state)) {}
MetricsExporter::~MetricsExporter() {
  // civetweb's acceptor looks for the end only between polls of two seconds: connections wake it.
  std::jthread waker([address = socket_address(state_->at)](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Fd fd(
          ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      (void)::connect(fd.get(), address.get(), address.size);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  state_->exposer.reset();
}

std::uint16_t MetricsExporter::port() const { return state_->at.port; }

Result<std::unique_ptr<MetricsExporter>> MetricsExporter::start(
    const std::string& listen, std::shared_ptr<const MetricsSources> sources) {
  const auto at = parse_host_port(listen);
  if (!at) return at.error().with_context("metrics.listen");
  if (auto tried = try_listen(listen, at.value()); !tried) return tried.error();
  try {
    auto state = std::make_unique<State>();
    state->collector = std::make_shared<MetricsCollector>(std::move(sources));
    // A scraper that connects and says nothing holds a thread for no longer than the timeout.
    state->exposer = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", listen, "num_threads", "2", "request_timeout_ms", "5000"});
    state->exposer->RegisterCollectable(state->collector);
    state->at = at.value();
    state->at.port = static_cast<std::uint16_t>(state->exposer->GetListeningPorts().at(0));
    return std::unique_ptr<MetricsExporter>(new MetricsExporter(std::move(state)));
  } catch (const std::exception& error) {
    // The address itself was fine a moment ago; the server's library may lack IPv6 (Debian's
    // civetweb does) and does not say so.
    const char* const cause = at.value().v6
                                  ? "; civetweb is often built without IPv6: use an IPv4 address"
                                  : "; is the port free?";
    return Error{ginSystemError, "metrics.listen " + listen + ": the HTTP server did not start (" +
                                     error.what() + ")" + cause};
  }
}

}  // namespace gind
