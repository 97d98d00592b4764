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
#include <cstring>

namespace gind {

namespace {

Error cannot_listen(const std::string& listen, int err) {
  std::string remedy = "set metrics.listen to an address of this machine and a free port";
  if (err == EADDRINUSE) remedy = "another process has this port; " + remedy;
  return {ginSystemError, "metrics.listen " + listen + ": " + errno_text(err) + "; " + remedy +
                              ", or metrics.enabled = false"};
}

// The HTTP server says nothing of why it cannot listen: try it first.
Result<void> try_listen(const std::string& listen, const HostPort& at) {
  sockaddr_storage address{};
  socklen_t size = 0;
  if (at.v6) {
    auto* const a = reinterpret_cast<sockaddr_in6*>(&address);
    a->sin6_family = AF_INET6;
    a->sin6_port = htons(at.port);
    ::inet_pton(AF_INET6, at.host.c_str(), &a->sin6_addr);
    size = sizeof *a;
  } else {
    auto* const a = reinterpret_cast<sockaddr_in*>(&address);
    a->sin_family = AF_INET;
    a->sin_port = htons(at.port);
    ::inet_pton(AF_INET, at.host.c_str(), &a->sin_addr);
    size = sizeof *a;
  }
  const Fd fd(::socket(at.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return cannot_listen(listen, errno);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.v6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(fd.get(), 1) != 0) {
    return cannot_listen(listen, errno);
  }
  return {};
}

}  // namespace

struct MetricsExporter::State {
  std::shared_ptr<prometheus::Collectable> collector;  // the exposer holds a weak pointer
  std::unique_ptr<prometheus::Exposer> exposer;
};

MetricsExporter::MetricsExporter(std::unique_ptr<State> state) : state_(std::move(state)) {}
MetricsExporter::~MetricsExporter() = default;

std::uint16_t MetricsExporter::port() const {
  const std::vector<int> ports = state_->exposer->GetListeningPorts();
  return ports.empty() ? 0 : static_cast<std::uint16_t>(ports.front());
}

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
    return std::unique_ptr<MetricsExporter>(new MetricsExporter(std::move(state)));
  } catch (const std::exception& error) {
    return Error{ginSystemError, "metrics.listen " + listen + ": the HTTP server did not start (" +
                                     error.what() + "); is the port free?"};
  }
}

}  // namespace gind
