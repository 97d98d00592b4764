// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/options.h"
#include "gin/queues/descriptor.h"
#include "gin/queues/segment.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace gind {

namespace {

using gin::queues::kMaxContexts;
using gin::queues::kMaxCounters;
using gin::queues::kMaxRingUnits;
using gin::queues::kMaxSignals;
using gin::queues::kMaxWindows;
using gin::queues::kMinRingUnits;

constexpr std::uint64_t kUs = 1'000;
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kHour = 3600 * kSecond;
constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kGiB = 1 << 30;
constexpr std::uint64_t kTomlMax = INT64_MAX;

constexpr Section kSections[] = {
    {"daemon", "The process and the socket that clients connect to."},
    {"log", "Messages go to standard error; under systemd to the journal, with their priority."},
    {"transport", "The fabric between nodes."},
    {"proxy", "The threads that poll rings and drive the fabric."},
    {"limits", "What clients may use; a refusal names the limit and the use."},
    {"defaults", "What a client gets that does not ask for something else."},
    {"peer", "The link between the ginds of several nodes (rendezvous and membership)."},
    {"timeouts", "How long gind waits for others."},
    {"metrics", "The Prometheus endpoint, at http://LISTEN/metrics (docs/metrics.md)."},
    {"debug", "For tests of wrap-around; leave these alone."},
};

#define GIND_AT(member) +[](Config& c) -> Slot { return &c.member; }

using K = ValueKind;
constexpr Option kOptions[] = {
    {"daemon.socket", K::kPath, 1, 107, "", "--socket",
     "Path of the Unix socket that clients connect to.", GIND_AT(daemon.socket)},
    {"daemon.socket_mode", K::kMode, 0, 0, "", "",
     "Permissions of the socket, in octal: who may connect.", GIND_AT(daemon.socket_mode)},
    {"daemon.socket_group", K::kName, 0, 32, "", "",
     "Group that owns the socket. Empty: the group gind runs as.", GIND_AT(daemon.socket_group)},
    {"daemon.node_name", K::kName, 0, 63, "", "",
     "Name of this node in messages. Empty: the host name.", GIND_AT(daemon.node_name)},

    {"log.level", K::kChoice, 0, 0, "trace|debug|info|warning|error|critical", "--log-level",
     "Least severe messages to write.", GIND_AT(log.level)},

    {"transport.kind", K::kChoice, 0, 0, "ofi|loopback", "",
     "\"ofi\": libfabric. \"loopback\": this node only, no fabric.", GIND_AT(transport.kind)},
    {"transport.provider", K::kText, 1, 128, "", "--provider",
     "libfabric's provider, such as \"tcp;ofi_rxm\", \"verbs;ofi_rxm\", \"efa\" or \"shm\". "
     "\"auto\": the best one found. A provider that is named but missing stops gind: it never "
     "falls back to another.",
     GIND_AT(transport.provider)},
    {"transport.device", K::kText, 1, 128, "", "",
     "libfabric's domain, such as \"eth0\" or \"mlx5_0\". \"auto\": the provider's first.",
     GIND_AT(transport.device)},
    {"transport.address", K::kIpAddress, 0, 0, "", "",
     "Local address that the fabric's endpoints bind to. Empty: the provider's choice.",
     GIND_AT(transport.address)},
    {"transport.signal_mode", K::kChoice, 0, 0, "auto|record|atomic|sequence", "",
     "How a signal follows its data. \"auto\": what the fabric's ordering allows; naming a mode "
     "that the fabric cannot carry stops gind.",
     GIND_AT(transport.signal_mode)},
    {"transport.local", K::kChoice, 0, 0, "loopback|fabric", "",
     "How ranks of this gind reach each other: by memory copies, or through the fabric.",
     GIND_AT(transport.local)},

    {"proxy.threads", K::kCount, 0, 64, "", "",
     "Proxy threads. 0: 1 on a machine of up to 4 cores, else 2.", GIND_AT(proxy.threads)},
    {"proxy.cpus", K::kCpuList, 0, 4095, "", "",
     "CPU that each proxy thread is pinned to, one a thread. Empty: not pinned.",
     GIND_AT(proxy.cpus)},
    {"proxy.burst", K::kCount, 1, 4096, "", "", "Descriptors taken from one ring in one turn.",
     GIND_AT(proxy.burst)},
    {"proxy.burst_bytes", K::kBytes, 4 * kKiB, 64 * kGiB, "", "",
     "Payload started for one ring in one turn.", GIND_AT(proxy.burst_bytes)},
    {"proxy.piece_bytes", K::kBytes, 1 * kKiB, 1 * kGiB, "", "",
     "Larger puts are cut to pieces of this size.", GIND_AT(proxy.piece_bytes)},
    {"proxy.spin", K::kDuration, 0, 10 * kSecond, "", "",
     "Busy polling after the last work. Longer: lower latency after a pause, more CPU time.",
     GIND_AT(proxy.spin)},
    {"proxy.nap", K::kDuration, 1 * kUs, 1 * kSecond, "", "",
     "Longest nap when idle: bounds how late a descriptor on an idle node is seen. Naps begin at "
     "50us and grow with the idle time. Inbound traffic wakes gind at once.",
     GIND_AT(proxy.nap)},

    {"limits.clients", K::kCount, 1, 65536, "", "", "Connected clients.", GIND_AT(limits.clients)},
    {"limits.contexts", K::kCount, 1, kMaxContexts, "", "", "Contexts of one device communicator.",
     GIND_AT(limits.contexts)},
    {"limits.windows", K::kCount, 1, kMaxWindows, "", "", "Windows of one communicator.",
     GIND_AT(limits.windows)},
    // A request id has 16 bits for the operation's place, and fences need some, too.
    {"limits.outstanding", K::kCount, 1, 1 << 15, "", "",
     "Unfinished operations of one context; gind stops taking descriptors at the limit.",
     GIND_AT(limits.outstanding)},
    {"limits.pinned_bytes", K::kBytes, 0, kTomlMax, "", "",
     "Registered memory of one client. 0: no limit of gind's own.", GIND_AT(limits.pinned_bytes)},

    {"defaults.ring_units", K::kPowerOfTwo, kMinRingUnits, kMaxRingUnits, "", "",
     "Ring size of a context, in units of 16 bytes.", GIND_AT(defaults.ring_units)},
    {"defaults.contexts", K::kCount, 1, kMaxContexts, "", "", "Contexts of a device communicator.",
     GIND_AT(defaults.contexts)},
    {"defaults.signals", K::kCount, 0, kMaxSignals, "", "", "Signals of a context.",
     GIND_AT(defaults.signals)},
    {"defaults.counters", K::kCount, 0, kMaxCounters, "", "", "Counters of a context.",
     GIND_AT(defaults.counters)},
    {"defaults.barriers", K::kCount, 0, kMaxSignals, "", "",
     "Barriers of a context, as many of them as find room among its signals.",
     GIND_AT(defaults.barriers)},
    {"defaults.wait", K::kDuration, 0, 168 * kHour, "", "",
     "Time after which a device wait ends with an error. \"0s\": never.", GIND_AT(defaults.wait)},

    {"peer.listen", K::kIpAddress, 1, 0, "", "--peer-listen",
     "Address that other ginds connect to. Other than loopback needs peer.insecure = true until "
     "the link is authenticated.",
     GIND_AT(peer.listen)},
    {"peer.port", K::kCount, 0, 65535, "", "--peer-port",
     "TCP port that other ginds connect to. 0: any free port.", GIND_AT(peer.port)},
    {"peer.advertise", K::kIpAddress, 0, 0, "", "",
     "Address that a unique id tells others to dial. Empty: peer.listen or, when that is a "
     "wildcard, the address of the interface with the default route.",
     GIND_AT(peer.advertise)},
    {"peer.insecure", K::kFlag, 0, 0, "", "",
     "Allow the unauthenticated, unencrypted link on other than loopback addresses: for networks "
     "on which every host is trusted.",
     GIND_AT(peer.insecure)},

    {"timeouts.rendezvous", K::kDuration, 10 * kMs, 24 * kHour, "", "",
     "For all ranks of a communicator, or of a collective call, to come.",
     GIND_AT(timeouts.rendezvous)},
    {"timeouts.operation", K::kDuration, 10 * kMs, 24 * kHour, "", "",
     "For one operation to complete before its peer is put in error.", GIND_AT(timeouts.operation)},
    {"timeouts.handshake", K::kDuration, 10 * kMs, 1 * kHour, "", "",
     "For a new client or peer connection to say who it is.", GIND_AT(timeouts.handshake)},
    {"timeouts.hole", K::kDuration, 10 * kMs, 1 * kHour, "", "",
     "For ring units that were reserved to be stored before the context is put in error.",
     GIND_AT(timeouts.hole)},
    {"timeouts.teardown", K::kDuration, 10 * kMs, 1 * kHour, "", "",
     "For operations of a client that left to end; memory that is not quiet by then is "
     "quarantined.",
     GIND_AT(timeouts.teardown)},

    {"metrics.enabled", K::kFlag, 0, 0, "", "", "Serve metrics.", GIND_AT(metrics.enabled)},
    {"metrics.listen", K::kHostPort, 0, 0, "", "--metrics-listen",
     "Address and port. Port 0: any free port, named in the log.", GIND_AT(metrics.listen)},

    {"debug.ring_start", K::kPosition, 0, UINT64_MAX, "", "",
     "First position of every ring; a multiple of twice its units.", GIND_AT(debug.ring_start)},
    {"debug.sequence_start", K::kPosition, 0, UINT64_MAX, "", "",
     "First sequence number (signal mode \"sequence\").", GIND_AT(debug.sequence_start)},
    {"debug.adversary_seed", K::kPosition, 0, UINT64_MAX, "", "",
     "Reorders, delays and splits what goes over the fabric and the loopback, as far as the signal "
     "mode allows, by this seed. 0: does not.",
     GIND_AT(debug.adversary_seed)},
};

#undef GIND_AT

}  // namespace

std::span<const Option> options() { return kOptions; }
std::span<const Section> sections() { return kSections; }

const Option* find_option(std::string_view key) {
  const auto* found = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [key](const Option& option) { return option.key == key; });
  return found == std::end(kOptions) ? nullptr : found;
}

std::size_t option_index(const Option& option) {
  return static_cast<std::size_t>(&option - kOptions);
}

std::string environment_name(const Option& option) {
  std::string name = "GIND_";
  for (const char c : option.key) {
    name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace gind
