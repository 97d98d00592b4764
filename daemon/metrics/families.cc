// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/families.h"

#include "daemon/log/log.h"
#include "daemon/metrics/family_builder.h"
#include "daemon/metrics/names.h"
#include "daemon/metrics/process_stats.h"

#include <algorithm>

namespace gind {

namespace {

// The sum over all proxy threads of one of their counters.
template <typename Get>
std::uint64_t sum(const MetricsSources& sources, Get get) {
  std::uint64_t total = 0;
  for (const ProxyCounters* proxy : sources.proxies) total += get(*proxy).get();
  return total;
}

// Statistics: nothing is published through them.
double load(const std::atomic<std::uint64_t>& value) {
  return static_cast<double>(value.load(std::memory_order_relaxed));
}

void add_control(const ControlCounters& c, FamilyBuilder& out) {
  out.add("gind_clients", load(c.clients));
  out.add("gind_communicators", load(c.communicators));
  out.add("gind_windows", load(c.windows));
  out.add("gind_pinned_bytes", load(c.pinned_bytes));
  out.add("gind_quarantined_bytes", load(c.quarantined_bytes));
  out.add("gind_peers", load(c.peers_connected), {{"state", "connected"}});
  out.add("gind_peers", load(c.peers_connecting), {{"state", "connecting"}});
  out.add("gind_peer_link_failures_total", load(c.peer_link_failures));
  const std::string_view gone = "gind_client_disconnects_total";
  out.add(gone, load(c.disconnects_clean), {{"reason", "clean"}});
  out.add(gone, load(c.disconnects_died), {{"reason", "died"}});
  out.add(gone, load(c.disconnects_protocol), {{"reason", "protocol"}});
  const std::string_view refused = "gind_handshake_rejected_total";
  out.add(refused, load(c.handshake_rejected_version), {{"reason", "version"}});
  out.add(refused, load(c.handshake_rejected_timeout), {{"reason", "timeout"}});
  out.add(refused, load(c.handshake_rejected_malformed), {{"reason", "malformed"}});
  out.add(refused, load(c.handshake_rejected_limit), {{"reason", "limit"}});
}

void add_operations(const MetricsSources& s, FamilyBuilder& out) {
  for (std::size_t op = 0; op < kOpSlots; ++op) {
    if (op_label(op).empty()) continue;
    const auto n = sum(
        s, [op](const ProxyCounters& p) -> auto& { return p.descriptors[op]; });
    out.add("gind_descriptors_total", static_cast<double>(n), {{"op", op_label(op)}});
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(RejectReason::kCount_); ++i) {
    const auto n = sum(
        s, [i](const ProxyCounters& p) -> auto& { return p.rejected[i]; });
    out.add("gind_descriptors_rejected_total", static_cast<double>(n),
            {{"reason", reject_reason_name(static_cast<RejectReason>(i))}});
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(FailReason::kCount_); ++i) {
    const auto n = sum(
        s, [i](const ProxyCounters& p) -> auto& { return p.failed[i]; });
    out.add("gind_operations_failed_total", static_cast<double>(n),
            {{"reason", fail_reason_name(static_cast<FailReason>(i))}});
  }
}

void add_durations(const MetricsSources& s, FamilyBuilder& out) {
  for (std::size_t op = 0; op < kOpSlots; ++op) {
    if (op_label(op).empty()) continue;
    std::array<std::uint64_t, kDurationBoundsNs.size() + 1> buckets{};
    std::uint64_t sum_ns = 0;
    for (const ProxyCounters* proxy : s.proxies) {
      const HotHistogram& h = proxy->duration[op];
      for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i] += h.bucket[i].get();
      sum_ns += h.sum_ns.get();
    }
    out.add_histogram("gind_operation_duration_seconds", buckets, sum_ns, {{"op", op_label(op)}});
  }
}

void add_totals(const MetricsSources& s, FamilyBuilder& out) {
  const auto add = [&](std::string_view name, HotCounter ProxyCounters::*counter) {
    const auto n = sum(
        s, [counter](const ProxyCounters& p) -> auto& { return p.*counter; });
    out.add(name, static_cast<double>(n));
  };
  add("gind_contexts", &ProxyCounters::contexts);
  add("gind_outstanding_operations", &ProxyCounters::outstanding);
  add("gind_signals_applied_total", &ProxyCounters::signals_applied);
  add("gind_records_refused_total", &ProxyCounters::records_refused);
  add("gind_transport_backpressure_total", &ProxyCounters::backpressure);
}

void add_proxies(const MetricsSources& s, FamilyBuilder& out) {
  const auto add = [&](std::string_view name, HotCounter ProxyCounters::*counter, double unit) {
    for (std::size_t i = 0; i < s.proxies.size(); ++i) {
      out.add(name, static_cast<double>((s.proxies[i]->*counter).get()) * unit,
              {{"proxy", std::to_string(i)}});
    }
  };
  constexpr double kNs = 1e-9;
  add("gind_proxy_busy_seconds_total", &ProxyCounters::busy_ns, kNs);
  add("gind_proxy_idle_seconds_total", &ProxyCounters::idle_ns, kNs);
  add("gind_proxy_sleep_seconds_total", &ProxyCounters::sleep_ns, kNs);
  add("gind_proxy_cycle_max_seconds", &ProxyCounters::cycle_max_ns, kNs);
  add("gind_proxy_loops_total", &ProxyCounters::loops, 1);
}

void add_process(FamilyBuilder& out) {
  const auto stats = read_process_stats();
  if (!stats) return;
  out.add("process_cpu_seconds_total", stats->cpu_seconds);
  out.add("process_resident_memory_bytes", static_cast<double>(stats->resident_bytes));
  out.add("process_virtual_memory_bytes", static_cast<double>(stats->virtual_bytes));
  out.add("process_open_fds", static_cast<double>(stats->open_fds));
  out.add("process_max_fds", static_cast<double>(stats->max_fds));
  out.add("process_start_time_seconds", stats->start_time_seconds);
}

}  // namespace

MetricsCollector::MetricsCollector(std::shared_ptr<const MetricsSources> sources)
    : sources_(std::move(sources)) {}

std::uint64_t MetricsCollector::payload_out(std::uint64_t all, std::uint64_t local) const {
  const std::lock_guard lock(mutex_);
  payload_out_ = std::max(payload_out_, all > local ? all - local : 0);
  return payload_out_;
}

std::vector<prometheus::MetricFamily> MetricsCollector::Collect() const {
  const MetricsSources& s = *sources_;
  FamilyBuilder out;
  out.add("gind_build_info", 1, {{"version", s.version}});
  out.add("gind_config_info", 1,
          {{"transport", s.transport}, {"provider", s.provider}, {"signal_mode", s.signal_mode}});
  if (s.control != nullptr) add_control(*s.control, out);
  add_operations(s, out);
  add_durations(s, out);
  const auto local = sum(
      s, [](const ProxyCounters& p) -> auto& { return p.bytes_local; });
  const auto all = sum(
      s, [](const ProxyCounters& p) -> auto& { return p.bytes_out; });
  out.add("gind_payload_bytes_total", static_cast<double>(payload_out(all, local)),
          {{"direction", "out"}});
  out.add("gind_payload_bytes_total", static_cast<double>(local), {{"direction", "local"}});
  out.add("gind_payload_bytes_total",
          static_cast<double>(sum(
              s, [](const ProxyCounters& p) -> auto& { return p.bytes_in; })),
          {{"direction", "in"}});
  add_totals(s, out);
  add_proxies(s, out);
  for (std::size_t i = 0; i < kLogLevelNames.size(); ++i) {
    out.add("gind_log_messages_total", static_cast<double>(log_count(static_cast<LogLevel>(i))),
            {{"level", kLogLevelNames[i]}});
  }
  add_process(out);
  return std::move(out).take();
}

}  // namespace gind
