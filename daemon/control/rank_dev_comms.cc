// SPDX-License-Identifier: Apache-2.0
// A device communicator's life: contexts are made before the peers hear of them, and no rank is
// told that it may post before every rank's contexts can be sent to.
#include "daemon/control/local_rank.h"
#include "daemon/log/log.h"

#include <fmt/format.h>

namespace gind {

using gin::queues::SegmentShape;
using gin::queues::SegmentView;

Result<std::shared_ptr<LocalRank::DevComm>> LocalRank::make_dev_comm(const SegmentShape& shape,
                                                                     Fd memfd) {
  if (const auto fault = gin::queues::check_shape(shape); fault.field != nullptr) {
    return Error{ginInvalidArgument, fmt::format("{} {}: expected {} to {}", fault.field,
                                                 fault.value, fault.low, fault.high)};
  }
  if (shape.contexts > node().config.limits.contexts) {
    return Error{ginLimitExceeded, fmt::format("{} contexts: the limit (limits.contexts) is {}",
                                               shape.contexts, node().config.limits.contexts)};
  }
  const std::uint64_t start = node().config.debug.ring_start;
  if (start % (2ull * shape.ring_units) != 0) {
    return Error{ginInvalidArgument,
                 fmt::format("debug.ring_start {} is not a multiple of twice the ring's {} units",
                             start, shape.ring_units)};
  }
  const auto layout = gin::queues::layout_of(shape);
  const gind::MemfdDemand demand{.offset = 0, .bytes = layout.total_bytes, .exact = true};
  if (const auto size = check_memfd(memfd.get(), demand); !size) {
    return size.error().with_context("control segment");
  }
  auto mapping = Mapping::map(memfd.get(), 0, layout.total_bytes);
  if (!mapping) return mapping.error().with_context("control segment");
  if (const auto populated = check_populated(mapping.value()); !populated) {
    return populated.error().with_context("control segment");
  }
  auto made = std::make_shared<DevComm>();
  made->memfd = std::move(memfd);
  made->mapping = std::move(mapping).value();
  made->shape = shape;
  made->segment = SegmentView(made->mapping.data(), layout);
  if (node().fabric != nullptr && node().fabric->caps().signal_mode == SignalMode::kAtomic &&
      shape.signals != 0) {
    auto region = node().fabric->register_memory(
        made->segment.signals(0), layout.signal_stride * shape.contexts, kAccessRemoteAtomic);
    if (!region) return region.error().with_context("registering the signals");
    made->signals = std::move(region).value();
  }
  const auto handle = node().handles.take();
  if (!handle) {
    return Error{ginLimitExceeded, fmt::format("{} device communicators exist on this node, the "
                                               "most that can",
                                               HandlePool::kPlaces)};
  }
  made->handle = *handle;
  const bool sequenced =
      node().fabric != nullptr && node().fabric->caps().signal_mode == SignalMode::kSequence;
  if (sequenced) {
    const auto flows = node().flows.take(shape.contexts * shape.ranks);
    if (!flows) {
      const std::uint32_t used = node().flows.in_use();
      node().handles.give(made->handle);
      return Error{ginLimitExceeded,
                   fmt::format("{} contexts x {} ranks need {} flow ids, {} of {} are in use "
                               "(signal mode \"sequence\"); use fewer contexts",
                               shape.contexts, shape.ranks, shape.contexts * shape.ranks, used,
                               FlowPool::kIds)};
    }
    made->first_flow = *flows;
    made->has_flows = true;
  }
  made->id = ++dev_comms_made_;
  made->proxy_base = communicator_->proxy_base() + made->id;
  made->contexts.resize(shape.contexts);
  return made;
}

void LocalRank::free_dev_comm(DevComm& dev_comm) {
  node().handles.give(dev_comm.handle);
  if (dev_comm.has_flows) node().flows.give(dev_comm.first_flow);
}

void LocalRank::add_contexts(std::shared_ptr<DevComm> dev_comm, Done done) {
  auto failure = std::make_shared<std::array<Result<void>, 1>>();
  auto mutex = std::make_shared<std::mutex>();
  on_all_proxies(
      node(),
      [self = shared_from_this(), dev_comm, failure, mutex](ProxyThread& proxy, std::size_t i,
                                                            const std::function<void()>& finished) {
        for (std::uint32_t c = 0; c < dev_comm->shape.contexts; ++c) {
          if (self->owner_of(*dev_comm, c) != i) continue;
          ContextSpec spec;
          spec.view = self->views_[i].get();
          spec.segment = dev_comm->segment;
          spec.shape = dev_comm->shape;
          spec.context = c;
          spec.dev_comm = dev_comm->id;
          spec.handle = dev_comm->handle;
          spec.outstanding = self->node().config.limits.outstanding;
          spec.ring_start = self->node().config.debug.ring_start;
          spec.sequence_start = self->node().config.debug.sequence_start;
          const auto queue = proxy.add_context(spec);
          if (!queue) {
            const std::lock_guard lock(*mutex);
            (*failure)[0] = queue.error();
            break;
          }
          dev_comm->contexts[c] = queue.value();
          if (dev_comm->has_flows) {
            proxy.map_flows(dev_comm->first_flow + c * dev_comm->shape.ranks, dev_comm->shape.ranks,
                            queue.value());
          }
        }
        finished();
      },
      [failure, done = std::move(done)] { done((*failure)[0]); });
}

Result<std::vector<ContextRoute>> LocalRank::routes_of(
    ProxyThread& proxy, const DevComm& dev_comm, std::uint32_t context,
    const std::vector<DevCommAnnounce>& all) const {
  const Membership& membership = communicator_->membership();
  std::vector<ContextRoute> routes(all.size());
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    const NodeInfo& peer_node = membership.nodes()[membership.node_of_rank()[r]];
    const bool loopback = communicator_->node().local_by_loopback() && communicator_->same_gind(r);
    std::vector<std::uint8_t> address;
    if (!loopback) {
      if (peer_node.endpoints.empty()) {
        return Error{ginRemoteError, "node " + peer_node.name + " announced no fabric endpoint"};
      }
      address = peer_node.endpoints[(all[r].proxy_base + context) % peer_node.endpoints.size()];
    }
    const auto channel = proxy.channel(address);
    if (!channel) {
      return channel.error().with_context(
          fmt::format("the way to rank {} on node {}", r, peer_node.name));
    }
    routes[r].channel = channel.value();
    routes[r].remote_handle = all[r].handle;
    routes[r].remote_flow = all[r].first_flow + context * dev_comm.shape.ranks + rank_;
    routes[r].remote_sequence = all[r].sequence_start;
    routes[r].signal_address = all[r].signal_address + context * all[r].signal_stride;
    routes[r].signal_key = all[r].signal_key;
  }
  return routes;
}

void LocalRank::activate(std::shared_ptr<DevComm> dev_comm, const Membership::Gathered& gathered,
                         Done done) {
  auto all = std::make_shared<std::vector<DevCommAnnounce>>();
  for (std::size_t r = 0; r < gathered.size(); ++r) {
    const auto one = unpack<DevCommAnnounce>(gathered[r], static_cast<int>(r));
    if (!one) return done(one.error());
    const DevCommAnnounce& a = one.value();
    if (a.contexts != dev_comm->shape.contexts || a.signals != dev_comm->shape.signals) {
      return done(Error{
          ginInvalidUsage,
          fmt::format("rank {} asks for {} contexts with {} signals, rank {} for {} with {}: they "
                      "must be the same on all ranks",
                      r, a.contexts, a.signals, rank_, dev_comm->shape.contexts,
                      dev_comm->shape.signals)});
    }
    all->push_back(a);
  }
  auto failure = std::make_shared<std::array<Result<void>, 1>>();
  auto mutex = std::make_shared<std::mutex>();
  on_all_proxies(
      node(),
      [self = shared_from_this(), dev_comm, all, failure, mutex](
          ProxyThread& proxy, std::size_t i, const std::function<void()>& finished) {
        for (std::uint32_t c = 0; c < dev_comm->shape.contexts; ++c) {
          if (self->owner_of(*dev_comm, c) != i) continue;
          auto routes = self->routes_of(proxy, *dev_comm, c, *all);
          if (!routes) {
            const std::lock_guard lock(*mutex);
            (*failure)[0] = routes.error();
            break;
          }
          dev_comm->contexts[c]->activate(std::move(routes).value());
        }
        finished();
      },
      [failure, done = std::move(done)] { done((*failure)[0]); });
}

void LocalRank::create_dev_comm(const SegmentShape& shape, Fd memfd, DoneIndex done) {
  auto made = make_dev_comm(shape, std::move(memfd));
  if (!made) {
    const Error error = made.error();
    communicator_->membership().allgather(
        static_cast<int>(rank_), CollectiveKind::kDevCommCreate, pack_refusal(error),
        [done = std::move(done), error](const auto&) { done(error); });
    return;
  }
  const std::shared_ptr<DevComm> dev_comm = made.value();
  dev_comms_[dev_comm->id] = dev_comm;
  // Any failure below ends here; the contexts must leave their proxy threads first.
  auto fail = [self = shared_from_this(), dev_comm, done](const Error& error) {
    if (self->leaving_) return done(Error{ginAborted, "the rank is leaving"});
    self->remove_contexts(dev_comm, [self, dev_comm, done, error] {
      if (self->dev_comms_.erase(dev_comm->id) != 0) self->free_dev_comm(*dev_comm);
      done(error);
    });
  };
  auto ready = [self = shared_from_this(), dev_comm, done,
                fail](const Result<Membership::Gathered>& gathered) {
    if (!gathered) return fail(gathered.error());
    for (std::size_t r = 0; r < gathered.value().size(); ++r) {
      const auto one = unpack<DevCommAnnounce>(gathered.value()[r], static_cast<int>(r));
      if (!one) return fail(one.error());
    }
    if (self->leaving_) return done(Error{ginAborted, "the rank is leaving"});
    gin::queues::publish_header(dev_comm->segment, dev_comm->shape);
    if (const auto sealed = seal_for_good(dev_comm->memfd.get()); !sealed) {
      return fail(sealed.error().with_context("control segment"));
    }
    dev_comm->memfd.reset();
    done(dev_comm->id);
  };
  DevCommAnnounce announce;
  announce.contexts = shape.contexts;
  announce.signals = shape.signals;
  announce.handle = dev_comm->handle;
  announce.first_flow = dev_comm->first_flow;
  announce.proxy_base = dev_comm->proxy_base;
  announce.sequence_start = node().config.debug.sequence_start;
  if (dev_comm->signals) {
    announce.signal_address = dev_comm->signals->remote_address();
    announce.signal_key = dev_comm->signals->remote_key();
    announce.signal_stride = dev_comm->segment.layout().signal_stride;
  }
  auto gather = [self = shared_from_this()](
                    std::string payload, std::function<void(Result<Membership::Gathered>)> then) {
    self->communicator_->membership().allgather(static_cast<int>(self->rank_),
                                                CollectiveKind::kDevCommCreate, std::move(payload),
                                                std::move(then));
  };
  add_contexts(dev_comm, [self = shared_from_this(), dev_comm, announce, gather, ready,
                          fail](const Result<void>& added) mutable {
    const std::string first = added ? pack(announce) : pack_refusal(added.error());
    gather(first, [self, dev_comm, announce, gather, ready, fail,
                   added](const Result<Membership::Gathered>& gathered) mutable {
      if (!added) return fail(added.error());
      if (!gathered) return fail(gathered.error());
      if (self->leaving_) return fail(Error{ginAborted, {}});
      self->activate(dev_comm, gathered.value(),
                     [self, announce, gather, ready, fail](const Result<void>& active) mutable {
                       announce.stage = 1;
                       gather(active ? pack(announce) : pack_refusal(active.error()),
                              [active, ready, fail](const Result<Membership::Gathered>& second) {
                                if (!active) return fail(active.error());
                                ready(second);
                              });
                     });
    });
  });
}

void LocalRank::destroy_dev_comm(std::uint32_t id, Done done) {
  const auto found = dev_comms_.find(id);
  if (found == dev_comms_.end()) {
    return done(
        Error{ginInvalidArgument, fmt::format("device communicator {} does not exist", id)});
  }
  const std::shared_ptr<DevComm> dev_comm = found->second;
  quiesce([self = shared_from_this(), dev_comm, done = std::move(done)](bool) {
    // Peers' contexts answer our fences until all ranks have come here.
    self->communicator_->membership().allgather(
        static_cast<int>(self->rank_), CollectiveKind::kDevCommDestroy,
        pack(IndexAnnounce{dev_comm->id, 0}),
        [self, dev_comm, done](const Result<Membership::Gathered>& gathered) {
          if (self->leaving_) return done(Error{ginAborted, "the rank is leaving"});
          self->remove_contexts(dev_comm, [self, dev_comm, done, gathered] {
            if (self->dev_comms_.erase(dev_comm->id) != 0) self->free_dev_comm(*dev_comm);
            if (!gathered) return done(gathered.error());
            done({});
          });
        });
  });
}

void LocalRank::remove_contexts(std::shared_ptr<DevComm> dev_comm, std::function<void()> done) {
  on_all_proxies(
      node(),
      [self = shared_from_this(), dev_comm](ProxyThread& proxy, std::size_t i,
                                            const std::function<void()>& finished) {
        std::vector<ContextQueue*> mine;
        for (std::uint32_t c = 0; c < dev_comm->shape.contexts; ++c) {
          if (self->owner_of(*dev_comm, c) != i || dev_comm->contexts[c] == nullptr) continue;
          dev_comm->contexts[c]->close(proxy.env(), false);
          mine.push_back(dev_comm->contexts[c]);
        }
        const std::uint64_t force_at =
            proxy.env().now_ns + proxy.env().options.operation_timeout_ns;
        bool forced = false;
        proxy.when(
            [&proxy, mine, force_at, forced]() mutable {
              bool drained = true;
              for (ContextQueue* queue : mine) drained &= queue->drained();
              if (!drained && !forced && proxy.env().now_ns > force_at) {
                forced = true;
                for (ContextQueue* queue : mine) queue->close(proxy.env(), true);
              }
              return drained;
            },
            [&proxy, dev_comm, mine, finished] {
              for (ContextQueue* queue : mine) {
                const auto c = queue->spec().context;
                if (dev_comm->has_flows) {
                  proxy.unmap_flows(dev_comm->first_flow + c * dev_comm->shape.ranks,
                                    dev_comm->shape.ranks);
                }
                proxy.remove_context(queue);
                dev_comm->contexts[c] = nullptr;
              }
              finished();
            });
      },
      std::move(done));
}

}  // namespace gind
