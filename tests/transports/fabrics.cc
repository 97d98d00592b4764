// SPDX-License-Identifier: Apache-2.0
#include "fabrics.h"

#include "gind/transports/adversary.h"

#ifdef GIND_TEST_OFI
#include "gind/transports/ofi.h"
#endif

#include <algorithm>
#include <array>
#include <random>
#include <thread>

namespace {
// Providers that lose memory of their own (libfabric 1.17: net, since named tcp, per connection;
// sockets at times when an endpoint closes).  The other fabrics run the same code of ours.
bool leaky_provider = false;
}  // namespace
#if defined(__SANITIZE_ADDRESS__)
extern "C" int __lsan_is_turned_off() { return leaky_provider ? 1 : 0; }
#endif

namespace gind::test {

void Node::poll() {
  if (!endpoint) return;
  std::array<Completion, 48> completions;
  const std::size_t n = endpoint->poll(completions);
  for (std::size_t i = 0; i < n; ++i) {
    const Completion& c = completions[i];
    const auto* data = static_cast<const std::uint8_t*>(c.data);
    events.push_back(
        {c.kind, c.id, c.immediate,
         data ? std::vector<std::uint8_t>(data, data + c.bytes) : std::vector<std::uint8_t>(),
         c.code, std::string(c.error)});
  }
}

std::size_t Node::count(CompletionKind kind) const {
  std::size_t n = 0;
  for (const Event& e : events) n += e.kind == kind;
  return n;
}

#ifdef GIND_TEST_OFI
Fabric ofi_fabric(const std::string& name, const std::string& provider,
                  const std::string& address_prefix, const std::string& signal_mode) {
  return {name,
          [=](int node, std::string& reason) -> std::shared_ptr<Transport> {
            leaky_provider =
                leaky_provider || provider == "tcp" || provider == "net" || provider == "sockets";
            OfiOptions options;
            options.provider = provider;
            options.signal_mode = signal_mode;
            if (!address_prefix.empty())
              options.address = address_prefix + std::to_string(node + 2);
            auto transport = make_ofi_transport(options);
            if (transport) return std::move(transport).value();
            reason = transport.error().message;
            return nullptr;
          },
          provider == "sockets"};
}
#endif

std::string libfabric_version() {
#ifdef GIND_TEST_OFI
  return ofi_version();
#else
  return "";
#endif
}

std::vector<Fabric> fabrics() {
  auto shared = std::make_shared<std::weak_ptr<Transport>>();
  std::vector<Fabric> all{{"loopback", [shared](int, std::string&) {
                             auto transport = shared->lock();
                             if (!transport) {
                               transport = make_loopback_transport();
                               *shared = transport;
                             }
                             return transport;
                           }}};
  // What a record-mode adversary may do breaks none of the contract.
  struct Adverse {
    std::unique_ptr<Transport> inner, outer;
  };
  auto adverse = std::make_shared<std::weak_ptr<Adverse>>();
  all.push_back({"adversary_record", [adverse](int, std::string&) {
                   auto both = adverse->lock();
                   if (!both) {
                     both = std::make_shared<Adverse>();
                     both->inner = make_loopback_transport();
                     AdversaryOptions options;
                     options.mode = SignalMode::kRecord;
                     both->outer = make_adversary_transport(*both->inner, options);
                     *adverse = both;
                   }
                   return std::shared_ptr<Transport>(both, both->outer.get());
                 }});
#ifdef GIND_TEST_OFI
  all.push_back(ofi_fabric("tcp_rxm", "tcp;ofi_rxm", "127.0.0.", "auto"));
  // tcp without ofi_rxm: "net" in libfabric 1.17, which became "tcp" in 1.18.
  const bool renamed = libfabric_version() != "libfabric 1.17";
  all.push_back(ofi_fabric("tcp_native", renamed ? "tcp" : "net", "127.0.0.", "auto"));
  all.push_back(ofi_fabric("sockets_atomic", "sockets", "127.0.0.", "atomic"));
  all.push_back(ofi_fabric("tcp_rxm_sequence", "tcp;ofi_rxm", "127.0.0.", "sequence"));
  all.push_back(ofi_fabric("shm", "shm", "", "auto"));
  all.push_back(ofi_fabric("rxd", "udp;ofi_rxd", "127.0.0.", "auto"));
#endif
  return all;
}

std::string fabric_name(const ::testing::TestParamInfo<Fabric>& info) { return info.param.name; }

Buffer::Buffer(Transport& transport, std::size_t size)
    : Buffer(transport, size, kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic) {}

Buffer::Buffer(Transport& transport, std::size_t size, std::uint32_t access) : bytes(size) {
  auto registered = transport.register_memory(bytes.data(), bytes.size(), access);
  if (registered)
    region = std::move(registered).value();
  else
    ADD_FAILURE() << registered.error().message;
}

void Buffer::fill(std::uint32_t seed) {
  const auto data = pattern(bytes.size(), seed);
  std::copy(data.begin(), data.end(), bytes.begin());
}

WorkRequest write_request(const Buffer& from, std::uint64_t from_offset, const Buffer& to,
                          std::uint64_t to_offset, std::uint64_t bytes, std::uint64_t id) {
  WorkRequest r;
  r.op = WorkOp::kWrite;
  r.local = from.bytes.data() + from_offset;
  r.local_region = from.region.get();
  r.bytes = bytes;
  r.remote_address = to.at(to_offset);
  r.remote_key = to.region->remote_key();
  r.id = id;
  return r;
}

WorkRequest send_request(const void* data, std::uint32_t bytes, std::uint64_t id) {
  WorkRequest r;
  r.op = WorkOp::kSend;
  r.inline_data = true;
  r.local = data;
  r.bytes = bytes;
  r.id = id;
  return r;
}

std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint32_t seed) {
  std::vector<std::uint8_t> out(bytes);
  std::minstd_rand random(seed + 1);
  for (auto& b : out) b = static_cast<std::uint8_t>(random() >> 8);
  return out;
}

void FabricTest::open(const Fabric& fabric) {
  Node* nodes[] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    std::string reason;
    nodes[i]->transport = fabric.make(i, reason);
    if (!nodes[i]->transport) GTEST_SKIP() << fabric.name << " is not here: " << reason;
    auto endpoint = nodes[i]->transport->open_endpoint();
    ASSERT_TRUE(endpoint.ok()) << endpoint.error().message;
    nodes[i]->endpoint = std::move(endpoint).value();
  }
  for (int i = 0; i < 2; ++i) {
    auto peer = nodes[i]->endpoint->add_peer(nodes[1 - i]->endpoint->address());
    ASSERT_TRUE(peer.ok()) << peer.error().message;
    nodes[i]->peer = peer.value();
  }
}

void FabricTest::post_all(Node& node, std::vector<WorkRequest> requests) {
  for (WorkRequest& r : requests) r.peer = node.peer;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t at = 0; at < requests.size();) {
    at += node.endpoint->post(std::span(requests).subspan(at));
    a.poll();
    b.poll();
    if (std::chrono::steady_clock::now() > deadline) {
      FAIL() << "only " << at << " of " << requests.size() << " requests were taken";
    }
  }
}

void FabricTest::until(const std::function<bool()>& done, const char* what) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    a.poll();
    b.poll();
    if (std::chrono::steady_clock::now() > deadline) FAIL() << "waited in vain for: " << what;
    std::this_thread::yield();
  }
}

}  // namespace gind::test
