// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/metric_table.h"

#include <algorithm>
#include <iterator>

namespace gind {

namespace {

using K = MetricKind;
constexpr MetricInfo kMetrics[] = {
    {"gind_build_info", K::kGauge, "version", "Always 1; the version of this gind."},
    {"gind_config_info", K::kGauge, "transport, provider, signal_mode",
     "Always 1; the fabric in use."},

    {"gind_clients", K::kGauge, "", "Connected clients."},
    {"gind_communicators", K::kGauge, "", "Communicators with a rank on this gind."},
    {"gind_contexts", K::kGauge, "", "Contexts, each with a ring, that proxy threads serve."},
    {"gind_windows", K::kGauge, "", "Registered windows."},
    {"gind_pinned_bytes", K::kGauge, "", "Memory registered for clients."},
    {"gind_quarantined_bytes", K::kGauge, "",
     "Memory of clients that left, never reused because operations on it did not end in time."},
    {"gind_peers", K::kGauge, "state", "Links to other ginds, by state."},
    {"gind_peer_link_failures_total", K::kCounter, "", "Links to other ginds that were lost."},
    {"gind_client_disconnects_total", K::kCounter, "reason",
     "Clients that left: clean, died (the socket closed without a goodbye), or dropped for a "
     "protocol fault."},
    {"gind_handshake_rejected_total", K::kCounter, "reason",
     "Connections refused before they became clients."},

    {"gind_descriptors_total", K::kCounter, "op", "Descriptors accepted, by operation."},
    {"gind_descriptors_rejected_total", K::kCounter, "reason",
     "Descriptors refused; the first of a context puts it in error, later ones count as "
     "context_in_error."},
    {"gind_payload_bytes_total", K::kCounter, "direction",
     "Payload of puts and values: to other nodes (out), or between ranks of this gind (local); "
     "what gets have fetched (in)."},
    {"gind_operations_failed_total", K::kCounter, "reason", "Accepted operations that failed."},
    {"gind_outstanding_operations", K::kGauge, "", "Operations accepted and not yet complete."},
    {"gind_operation_duration_seconds", K::kHistogram, "op",
     "Time from seeing a descriptor to its local completion."},
    {"gind_signals_applied_total", K::kCounter, "",
     "Signals that a proxy thread of this gind applied as the target."},
    {"gind_records_refused_total", K::kCounter, "",
     "Records from peers that name no signal of this gind."},
    {"gind_transport_backpressure_total", K::kCounter, "",
     "Posts that the fabric could not take at once."},

    {"gind_proxy_busy_seconds_total", K::kCounter, "proxy",
     "Time in turns of a proxy thread's loop that found work."},
    {"gind_proxy_idle_seconds_total", K::kCounter, "proxy", "Time in turns that found none."},
    {"gind_proxy_sleep_seconds_total", K::kCounter, "proxy", "Time asleep."},
    {"gind_proxy_cycle_max_seconds", K::kGauge, "proxy", "Longest turn since the start."},
    {"gind_proxy_loops_total", K::kCounter, "proxy", "Turns of a proxy thread's loop."},

    {"gind_log_messages_total", K::kCounter, "level", "Messages written to the log."},

    {"process_cpu_seconds_total", K::kCounter, "", "User and system CPU time."},
    {"process_resident_memory_bytes", K::kGauge, "", "Resident memory."},
    {"process_virtual_memory_bytes", K::kGauge, "", "Virtual memory."},
    {"process_open_fds", K::kGauge, "", "Open file descriptors."},
    {"process_max_fds", K::kGauge, "", "Limit of open file descriptors."},
    {"process_start_time_seconds", K::kGauge, "", "Start of the process, since the epoch."},
};

}  // namespace

std::span<const MetricInfo> metric_table() { return kMetrics; }

const MetricInfo* find_metric(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                   [name](const MetricInfo& m) { return m.name == name; });
  return found == std::end(kMetrics) ? nullptr : found;
}

}  // namespace gind
