// SPDX-License-Identifier: Apache-2.0
// Creation and events.  Windows, device communicators and the end have files of their own.
#include "daemon/control/local_rank.h"

#include "daemon/log/log.h"

#include <fmt/format.h>

namespace gind {

std::shared_ptr<LocalRank> LocalRank::create(std::shared_ptr<LocalCommunicator> communicator,
                                             std::uint32_t rank,
                                             std::function<void(const RankEvent&)> on_event,
                                             std::function<void()> ready) {
  std::shared_ptr<LocalRank> made(
      new LocalRank(std::move(communicator), rank, std::move(on_event)));
  made->communicator_->add(made.get());
  on_all_proxies(
      made->node(),
      [made](ProxyThread& proxy, std::size_t i, const std::function<void()>& finished) {
        proxy.add_view(made->views_[i].get());
        finished();
      },
      [made, ready = std::move(ready)] { ready(); });
  return made;
}

LocalRank::LocalRank(std::shared_ptr<LocalCommunicator> communicator, std::uint32_t rank,
                     std::function<void(const RankEvent&)> on_event)
    : communicator_(std::move(communicator)),
      rank_(rank),
      id_(communicator_->node().next_view_id++),
      on_event_(std::move(on_event)),
      teardown_timer_(communicator_->node().io) {
  const auto nranks = static_cast<std::uint32_t>(communicator_->membership().nranks());
  for (std::size_t i = 0; i < node().proxies.size(); ++i) {
    auto view = std::make_unique<RankView>();
    view->id = id_;
    view->rank = rank_;
    view->nranks = nranks;
    view->label = name();
    view->windows.resize(gin::queues::kMaxWindows);
    view->peers.resize(nranks);
    views_.push_back(std::move(view));
  }
  node().ranks[id_] = this;
}

LocalRank::~LocalRank() { node().ranks.erase(id_); }

std::string LocalRank::name() const {
  return fmt::format("comm {} rank {}", communicator_->membership().label(), rank_);
}

void LocalRank::tell(RankEvent event) {
  if (on_event_ && !leaving_) on_event_(event);
}

void LocalRank::context_fault(std::uint32_t dev_comm, std::uint32_t context, ginResult_t code,
                              const std::string& text) {
  // Once per context: it stays in error until it is destroyed.
  log_warning(fmt::format("{} context {} is in error: {}", name(), context, text));
  tell({code, -1, dev_comm, static_cast<std::int32_t>(context),
        fmt::format("context {} of rank {} is in error: {}", context, rank_, text)});
}

void LocalRank::peer_fault(std::uint32_t peer, ginResult_t code, const std::string& text) {
  log_warning(fmt::format("{}: {}", name(), text));
  tell({code, static_cast<std::int32_t>(peer), 0, -1, text});
}

void LocalRank::peer_gone(std::uint32_t peer, ginResult_t code, const std::string& reason,
                          bool reachable, std::function<void()> quiet) {
  const ginResult_t seen_as = code == ginSuccess || code == ginDaemonLost ? ginRemoteError : code;
  on_all_proxies(
      node(),
      [self = shared_from_this(), peer, seen_as, reachable](ProxyThread& proxy, std::size_t i,
                                                            const std::function<void()>& finished) {
        RankView& view = *self->views_[i];
        proxy.peer_gone(view, peer, seen_as, reachable);
        proxy.when([self, &view, peer] { return view.peers[peer].outstanding == 0; }, finished);
      },
      std::move(quiet));
  if (code == ginSuccess) return;  // it left in order: an error only for those who still send to it
  tell({seen_as, static_cast<std::int32_t>(peer), 0, -1,
        fmt::format("rank {} is gone: {}", peer, reason)});
}

}  // namespace gind
