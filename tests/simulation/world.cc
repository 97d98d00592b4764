// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include "gin/queues/producer.h"
#include "libginclient/src/handle_layout.h"

#include <sys/mman.h>

#include <stdexcept>

namespace gind::sim {

namespace q = gin::queues;

namespace {

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

}  // namespace

World::Pages::Pages(std::uint64_t n) : bytes(q::align_up(n == 0 ? 1 : n, q::kPage)) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("mmap");
  data = static_cast<char*>(p);
}
World::Pages::~Pages() { ::munmap(data, bytes); }

World::World(const WorldOptions& options) : options_(options), wire_(make_loopback_transport()) {
  for (std::size_t n = 0; n < options_.ranks.size(); ++n) {
    make_node(options_.adversary.seed * 1000 + n);
  }
  int total = 0;
  for (const int n : options_.ranks) total += n;
  shape_ = {options_.contexts, static_cast<std::uint32_t>(total), options_.ring_units,
            options_.signals, options_.counters};
  int rank = 0;
  for (int node = 0; node < nodes(); ++node) {
    for (int i = 0; i < options_.ranks[static_cast<std::size_t>(node)]; ++i) {
      make_side(rank++, node);
    }
  }
  for (int r = 0; r < total; ++r) connect(r);
}

World::~World() {
  // The proxies hold on to memory and transports of the rest.
  for (Node& node : nodes_) node.proxy.reset();
}

void World::make_node(std::uint64_t seed) {
  Node node;
  AdversaryOptions adversary = options_.adversary;
  adversary.seed = seed;
  node.fabric = make_adversary_transport(*wire_, adversary);
  node.plain_loopback = make_loopback_transport();
  if (options_.adverse_loopback) {
    adversary.mode = SignalMode::kRecord;
    adversary.seed = seed + 500;
    node.loopback = make_adversary_transport(*node.plain_loopback, adversary);
  }
  ProxyOptions proxy;
  proxy.piece_bytes = options_.piece_bytes;
  proxy.operation_timeout_ns = ~std::uint64_t{0};
  proxy.hole_timeout_ns = ~std::uint64_t{0};
  Transport& local = node.loopback ? *node.loopback : *node.plain_loopback;
  node.proxy = must(ProxyThread::create(proxy, node.fabric.get(), local, *this));
  nodes_.push_back(std::move(node));
}

void World::make_side(int rank, int node) {
  auto side = std::make_unique<Side>();
  Side& s = *side;
  s.node = node;
  s.view.id = static_cast<std::uint64_t>(rank);
  s.view.rank = static_cast<std::uint32_t>(rank);
  s.view.nranks = shape_.ranks;
  s.view.windows.resize(q::kMaxWindows);
  s.view.peers.resize(shape_.ranks);
  Node& home = nodes_[static_cast<std::size_t>(node)];
  Transport& local = home.loopback ? *home.loopback : *home.plain_loopback;
  const q::SegmentLayout layout = q::layout_of(shape_);
  s.segment = std::make_unique<Pages>(layout.total_bytes);
  s.layout = q::SegmentView(s.segment->data, layout);
  s.memory = std::make_unique<Pages>(options_.window_bytes);
  const std::uint32_t access = kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;
  s.fabric = must(home.fabric->register_memory(s.memory->data, s.memory->bytes, access));
  s.loopback = must(local.register_memory(s.memory->data, s.memory->bytes, access));
  s.signals = must(home.fabric->register_memory(
      s.layout.signals(0), layout.signal_stride * shape_.contexts, kAccessRemoteAtomic));
  s.window_view.base = s.memory->data;
  s.window_view.bytes = s.memory->bytes;
  s.window_view.strict = true;
  s.window_view.fabric = s.fabric.get();
  s.window_view.loopback = s.loopback.get();
  s.window = ginWindow_t{1, GIN_WIN_STRICT_ORDERING, s.memory->bytes, s.memory->data};
  home.proxy->add_view(&s.view);
  s.first_flow = static_cast<std::uint32_t>(rank) * shape_.contexts * shape_.ranks;
  for (std::uint32_t c = 0; c < shape_.contexts; ++c) {
    ContextSpec spec;
    spec.view = &s.view;
    spec.segment = s.layout;
    spec.shape = shape_;
    spec.context = c;
    spec.dev_comm = 1;
    spec.handle = static_cast<std::uint32_t>(rank) + 1;
    spec.ring_start = options_.ring_start;
    spec.sequence_start = options_.sequence_start;
    s.queues.push_back(must(home.proxy->add_context(spec)));
    home.proxy->map_flows(s.first_flow + c * shape_.ranks, shape_.ranks, s.queues.back());
  }
  make_handle(s, rank);
  sides_.push_back(std::move(side));
}

void World::make_handle(Side& s, int rank) {
  ginDevComm_t& d = s.comm;
  client::lay_out_handle(shape_, shape_.signals, 0, &d);
  s.state = std::make_unique<Pages>(d.stateStride * shape_.contexts + 64);
  d.state = s.state->data;
  for (std::uint32_t c = 0; c < shape_.contexts; ++c) {
    auto* producer = reinterpret_cast<q::ProducerState*>(d.state + c * d.stateStride);
    producer->head = producer->cached_consumed = options_.ring_start;
  }
  d.rank = rank;
  d.device = -1;
  d.timeoutNs = 1'000'000'000;
  d.segment = s.segment->data;
  // Never set here: what would set them is the control plane.
  auto* words = d.state + d.stateStride * shape_.contexts;
  d.commError = reinterpret_cast<const std::uint64_t*>(words);
  d.abortFlag = reinterpret_cast<const std::uint32_t*>(words + 8);
}

void World::connect(int rank) {
  Side& s = *sides_[static_cast<std::size_t>(rank)];
  Node& home = nodes_[static_cast<std::size_t>(s.node)];
  for (const auto& other : sides_) {
    const bool local = other->node == s.node;
    const MemoryRegion& region = local ? *other->loopback : *other->fabric;
    s.window_view.part.push_back(
        {other->memory->bytes, region.remote_address(), region.remote_key()});
  }
  s.view.windows[0] = &s.window_view;
  for (std::uint32_t c = 0; c < shape_.contexts; ++c) {
    std::vector<ContextRoute> routes;
    for (const auto& other : sides_) {
      const bool local = other->node == s.node;
      const Node& there = nodes_[static_cast<std::size_t>(other->node)];
      ContextRoute route;
      route.channel = must(
          home.proxy->channel(local ? std::vector<std::uint8_t>{} : there.proxy->fabric_address()));
      route.remote_handle = other->view.rank + 1;
      route.remote_flow = other->first_flow + c * shape_.ranks + s.view.rank;
      route.remote_sequence = options_.sequence_start;
      route.signal_address = other->signals->remote_address() + c * s.layout.layout().signal_stride;
      route.signal_key = other->signals->remote_key();
      routes.push_back(route);
    }
    s.queues[c]->activate(std::move(routes));
  }
}

void World::turn(int node) { nodes_[static_cast<std::size_t>(node)].proxy->step(++now_ns_); }

void World::context_fault(std::uint64_t view_id, std::uint32_t, std::uint32_t context, ginResult_t,
                          std::string text) {
  faults_ += "rank " + std::to_string(view_id) + " context " + std::to_string(context) + ": " +
             text + "; ";
}

void World::peer_fault(std::uint64_t view_id, std::uint32_t peer, ginResult_t, std::string text) {
  faults_ +=
      "rank " + std::to_string(view_id) + " peer " + std::to_string(peer) + ": " + text + "; ";
}

std::string World::metrics() const {
  std::uint64_t refused = 0;
  for (const Node& node : nodes_) refused += node.proxy->counters().records_refused.get();
  return "records refused: " + std::to_string(refused);
}

}  // namespace gind::sim
