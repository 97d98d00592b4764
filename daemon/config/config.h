// SPDX-License-Identifier: Apache-2.0
// gind's configuration, parsed and checked.  The key of each value is its section and name below;
// defaults are the built-in ones, and the shipped config/gind.toml shows the same (tested).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gind {

struct Config {
  struct Daemon {
    std::string socket = "/run/gind/gind.sock";
    std::string socket_mode = "0660";  // octal
    std::string socket_group;          // empty: the process's own; a name
    std::string node_name;             // empty: the host name
  } daemon;

  struct Log {
    std::string level = "info";  // trace, debug, info, warning, error, critical
  } log;

  struct Transport {
    std::string kind = "ofi";       // "ofi", "loopback" (one node only)
    std::string provider = "auto";  // libfabric's name
    std::string device = "auto";
    std::string address;  // local IP address to bind
    std::string signal_mode = "auto";
    std::string local = "loopback";  // how ranks of one gind talk: "loopback" or "fabric"
  } transport;

  struct Proxy {
    std::uint32_t threads = 0;              // 0: 1 on up to 4 cores, else 2
    std::vector<std::uint32_t> cpus;        // pin thread i to cpus[i]; empty: not pinned
    std::uint32_t burst = 32;               // descriptors taken from one ring a turn
    std::uint64_t burst_bytes = 1 << 20;    // payload started for one ring a turn
    std::uint64_t piece_bytes = 256 << 10;  // larger puts are cut to pieces of this size
    std::chrono::nanoseconds spin = std::chrono::microseconds(200);  // busy polling after work
    std::chrono::nanoseconds nap = std::chrono::milliseconds(1);     // longest nap when idle
  } proxy;

  struct Limits {
    std::uint32_t clients = 1024;
    std::uint32_t contexts = 256;      // per device communicator
    std::uint32_t windows = 4096;      // per communicator
    std::uint32_t outstanding = 1024;  // operations per context
    std::uint64_t pinned_bytes = 0;    // per client; 0: no limit of gind's own
  } limits;

  struct Defaults {  // what a client gets that does not ask
    std::uint32_t ring_units = 4096;
    std::uint32_t contexts = 4;
    std::uint32_t signals = 64;
    std::uint32_t barriers = 4;
    std::uint32_t counters = 64;
    std::chrono::nanoseconds wait = std::chrono::seconds(60);  // device waits; 0: for ever
  } defaults;

  struct Peer {
    std::string listen = "127.0.0.1";
    std::uint16_t port = 9407;
    std::string advertise;  // what peers dial; empty: `listen`, or the default route's address
    bool insecure = false;  // allow the unauthenticated link on other than loopback addresses
  } peer;

  struct Timeouts {
    std::chrono::nanoseconds rendezvous = std::chrono::seconds(60);
    std::chrono::nanoseconds operation = std::chrono::seconds(30);
    std::chrono::nanoseconds handshake = std::chrono::seconds(5);
    std::chrono::nanoseconds hole = std::chrono::seconds(5);  // reserved but never stored units
    std::chrono::nanoseconds teardown = std::chrono::seconds(10);
  } timeouts;

  struct Metrics {
    bool enabled = true;
    std::string listen = "127.0.0.1:9408";
  } metrics;

  struct Debug {                       // for tests
    std::uint64_t ring_start = 0;      // first ring position; a multiple of twice the ring's units
    std::uint64_t sequence_start = 0;  // first sequence number (signal mode "sequence")
    std::uint64_t adversary_seed = 0;  // 0: none
  } debug;
};

}  // namespace gind
