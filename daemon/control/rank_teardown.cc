// SPDX-License-Identifier: Apache-2.0
// Quiescence and the end of a rank.  Order: nothing new is sent by us or to us; what is under way
// ends; registrations go; mappings and descriptors go.  What cannot be proven quiet by the deadline
// is quarantined: kept, counted, never reused.
#include "daemon/control/local_rank.h"
#include "daemon/log/log.h"

#include <fmt/format.h>

#include <chrono>

namespace gind {

double LocalRank::quiesce_seconds() const {
  return std::chrono::duration<double>(node().config.timeouts.operation).count();
}

// Commands reach a proxy thread in order, and `when` asks in order: a wait that is begun before
// leave() is over, at the latest, when leave()'s own wait for drained contexts is, which comes
// before their removal.  So the queues that a wait names outlive it.
void LocalRank::quiesce(std::function<void(bool)> done) {
  if (leaving_) return boost::asio::post(node().io, [done = std::move(done)] { done(false); });
  auto all_quiet = std::make_shared<std::atomic<bool>>(true);
  on_all_proxies(
      node(),
      [self = shared_from_this(), all_quiet](ProxyThread& proxy, std::size_t i,
                                             const std::function<void()>& finished) {
        struct Step {
          ContextQueue* queue;
          std::uint32_t next_peer = 0;
          std::uint64_t order = 0;
        };
        auto steps = std::make_shared<std::vector<Step>>();
        for (ContextQueue* queue : proxy.contexts_of(*self->views_[i])) {
          if (!queue->routes().empty()) steps->push_back({queue});
        }
        const std::uint32_t peers = self->views_[i]->nranks;
        const std::uint64_t deadline =
            proxy.env().now_ns + proxy.env().options.operation_timeout_ns + 1'000'000'000;
        proxy.when(
            [&proxy, steps, peers, deadline, all_quiet] {
              bool ready = true;
              for (Step& step : *steps) {
                // First take what the client has posted, then fence each peer, then wait.
                if (step.next_peer == 0 && step.queue->pending()) {
                  ready = false;
                  continue;
                }
                while (step.next_peer < peers && step.queue->fence(proxy.env(), step.next_peer)) {
                  ++step.next_peer;
                  step.order = step.queue->order();
                }
                ready &= step.next_peer == peers && step.queue->retired(step.order);
              }
              if (ready) return true;
              if (proxy.env().now_ns < deadline) return false;
              all_quiet->store(false, std::memory_order_relaxed);
              return true;
            },
            finished);
      },
      [all_quiet, done = std::move(done)] { done(all_quiet->load(std::memory_order_relaxed)); });
}

void LocalRank::finalize(Done done) {
  quiesce([self = shared_from_this(), done = std::move(done)](bool quiet) {
    if (!quiet) {
      return done(Error{ginTimeout, fmt::format("operations have not completed within {} s "
                                                "(timeouts.operation)",
                                                self->quiesce_seconds())});
    }
    self->communicator_->membership().allgather(
        static_cast<int>(self->rank_), CollectiveKind::kFinalize, std::string(),
        [done](const Result<Membership::Gathered>& gathered) {
          if (!gathered) return done(gathered.error());
          done({});
        });
  });
}

void LocalRank::close_contexts(bool forced, std::function<void()> drained) {
  on_all_proxies(
      node(),
      [self = shared_from_this(), forced](ProxyThread& proxy, std::size_t i,
                                          const std::function<void()>& finished) {
        RankView& view = *self->views_[i];
        for (ContextQueue* queue : proxy.contexts_of(view)) queue->close(proxy.env(), forced);
        if (forced) return finished();  // the first call's wait goes on
        proxy.when(
            [&proxy, &view] {
              for (ContextQueue* queue : proxy.contexts_of(view)) {
                if (!queue->drained()) return false;
              }
              return true;
            },
            finished);
      },
      std::move(drained));
}

void LocalRank::leave(ginResult_t code, const std::string& reason) {
  if (leaving_) return;
  leaving_ = true;
  on_event_ = nullptr;
  self_ = shared_from_this();
  communicator_->announce_gone(this, code, reason, [self = self_] {
    self->quiet_ = true;
    self->check_ended();
  });
  close_contexts(false, [self = self_] {
    self->drained_ = true;
    self->check_ended();
  });
  teardown_deadline(0);
}

void LocalRank::teardown_deadline(int stage) {
  const auto half = node().config.timeouts.teardown / 2;
  teardown_timer_.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(half));
  teardown_timer_.async_wait([self = self_, stage](const boost::system::error_code& error) {
    if (error || self->released_ || !self->self_) return;
    if (stage == 0) {
      // Peers that have not answered by half-time are not waited for any longer.
      if (!self->drained_) self->close_contexts(true, [] {});
      self->teardown_deadline(1);
      return;
    }
    std::uint64_t bytes = self->memory_.mapped_bytes();
    log_warning(fmt::format(
        "{}: {} within {} s (timeouts.teardown); {} bytes are kept in quarantine until it is",
        self->name(),
        self->drained_ ? "the peers were not quiet towards it" : "its operations did not end",
        std::chrono::duration<double>(self->node().config.timeouts.teardown).count(), bytes));
    self->node().counters.quarantined_bytes.fetch_add(bytes, std::memory_order_relaxed);
    self->node().quarantine[self->id_] = self->self_;
  });
}

void LocalRank::check_ended() {
  if (!drained_ || !quiet_ || released_) return;
  release();
}

void LocalRank::release() {
  released_ = true;
  teardown_timer_.cancel();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> flows;  // (first, count)
  for (const auto& [id, dev_comm] : dev_comms_) {
    if (!dev_comm->has_flows) continue;
    flows.emplace_back(dev_comm->first_flow, dev_comm->shape.contexts * dev_comm->shape.ranks);
  }
  on_all_proxies(
      node(),
      [self = self_, flows](ProxyThread& proxy, std::size_t i,
                            const std::function<void()>& finished) {
        for (const auto& [first, count] : flows) proxy.unmap_flows(first, count);
        for (ContextQueue* queue : proxy.contexts_of(*self->views_[i])) {
          proxy.remove_context(queue);
        }
        proxy.remove_view(self->views_[i].get());
        finished();
      },
      [self = self_] {
        for (const auto& [id, dev_comm] : self->dev_comms_) self->free_dev_comm(*dev_comm);
        self->dev_comms_.clear();
        while (!self->windows_.empty()) self->free_window(self->windows_.begin()->first);
        if (self->node().quarantine.erase(self->id_) != 0) {
          self->node().counters.quarantined_bytes.fetch_sub(self->memory_.mapped_bytes(),
                                                            std::memory_order_relaxed);
        }
        log_debug(fmt::format("{} has ended", self->name()));
        self->communicator_->remove(self.get());
        self->self_.reset();
      });
}

void LocalRank::abandon() {
  windows_.clear();
  dev_comms_.clear();
  self_.reset();
}

}  // namespace gind
