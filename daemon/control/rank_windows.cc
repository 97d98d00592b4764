// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/local_rank.h"
#include "daemon/log/log.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

namespace gind {

using gin::queues::kMaxWindows;

namespace {

constexpr std::uint32_t kStrictOrdering = 1;  // GIN_WIN_STRICT_ORDERING
constexpr std::uint32_t kPeerAccess = 2;      // GIN_WIN_PEER_ACCESS

}  // namespace

std::uint32_t LocalRank::lowest_free_window() const {
  std::uint32_t index = 0;
  while (windows_.contains(index)) ++index;
  return index;
}

Result<std::unique_ptr<LocalRank::Window>> LocalRank::make_window(Fd memfd, std::uint64_t offset,
                                                                  std::uint64_t bytes,
                                                                  std::uint32_t flags) {
  constexpr std::uint32_t kKnownFlags = kStrictOrdering | kPeerAccess;
  if ((flags & ~kKnownFlags) != 0) {
    return Error{
        ginInvalidArgument,
        fmt::format("window flags {:#x}: unknown bits, known are {:#x}", flags, kKnownFlags)};
  }
  if (offset % sizeof(std::uint64_t) != 0) {
    return Error{ginInvalidArgument,
                 fmt::format("the window begins at offset {} of its memory, expected a multiple of "
                             "8: words of it may be operands of atomics",
                             offset)};
  }
  if (windows_.size() >= std::min<std::size_t>(node().config.limits.windows, kMaxWindows)) {
    return Error{ginLimitExceeded,
                 fmt::format("{} windows are registered, the limit (limits.windows) is {}",
                             windows_.size(), node().config.limits.windows)};
  }
  auto memory = memory_.map(std::move(memfd), offset, bytes);
  if (!memory) return memory.error().with_context("window memory");
  // Parts without bytes share a page that nobody maps.
  if ((flags & kPeerAccess) != 0 && bytes != 0 && memory.value()->sealed) {
    return Error{
        ginInvalidUsage,
        "peer access to memory that a window lies in already: it is sealed against further "
        "mappings; register this window first, or give it memory of its own"};
  }
  const std::uint64_t pinned_limit = node().config.limits.pinned_bytes;
  if (pinned_limit != 0 && memory_.mapped_bytes() > pinned_limit) {
    const std::uint64_t use = memory_.mapped_bytes();
    return Error{ginLimitExceeded, fmt::format("the client would have {} bytes pinned, the limit "
                                               "(limits.pinned_bytes) is {}",
                                               use, pinned_limit)};
  }
  auto window = std::make_unique<Window>();
  window->memory = memory.value();
  window->view.base = static_cast<char*>(window->memory->mapping.data()) + offset;
  window->flags = flags;
  window->offset = offset;
  window->view.bytes = bytes;
  window->view.strict = (flags & kStrictOrdering) != 0;
  if (bytes != 0) {
    const bool nic_applies =
        node().fabric != nullptr && node().fabric->caps().signal_mode == SignalMode::kAtomic;
    const std::uint32_t access =
        kAccessRemoteWrite | kAccessRemoteRead | (nic_applies ? kAccessRemoteAtomic : 0u);
    if (node().fabric != nullptr) {
      auto region = node().fabric->register_memory(window->view.base, bytes, access);
      if (!region) return region.error().with_context("registering the window with the fabric");
      window->fabric = std::move(region).value();
    }
    auto region = node().loopback->register_memory(window->view.base, bytes, access);
    if (!region) return region.error().with_context("registering the window for this node");
    window->loopback = std::move(region).value();
  }
  window->view.fabric = window->fabric.get();
  window->view.loopback = window->loopback.get();
  return window;
}

Result<void> LocalRank::fill_parts(Window& window, const Membership::Gathered& gathered) {
  for (std::size_t r = 0; r < gathered.size(); ++r) {
    const auto part = unpack<WindowAnnounce>(gathered[r], static_cast<int>(r));
    if (!part) return part.error();
    if (part.value().flags != window.flags) {
      return Error{ginInvalidUsage,
                   fmt::format("rank {} registers the window with flags {:#x}, rank {} with {:#x}: "
                               "they must be the same on all ranks",
                               r, part.value().flags, rank_, window.flags)};
    }
    const bool loopback =
        node().local_by_loopback() && communicator_->same_gind(static_cast<std::uint32_t>(r));
    window.view.part.push_back(
        {part.value().bytes, loopback ? part.value().loopback_address : part.value().fabric_address,
         loopback ? part.value().loopback_key : part.value().fabric_key});
  }
  return {};
}

void LocalRank::install_window(std::uint32_t index, const WindowView* view,
                               std::function<void()> done) {
  on_all_proxies(
      node(),
      [self = shared_from_this(), index, view](ProxyThread&, std::size_t i,
                                               const std::function<void()>& finished) {
        self->views_[i]->windows[index] = view;
        finished();
      },
      std::move(done));
}

void LocalRank::register_window(Fd memfd, std::uint64_t offset, std::uint64_t bytes,
                                std::uint32_t flags, DoneIndex done) {
  auto made = make_window(std::move(memfd), offset, bytes, flags);
  if (!made) {
    // The others wait for this rank: it takes part with a refusal they can name.
    const Error error = made.error();
    communicator_->membership().allgather(
        static_cast<int>(rank_), CollectiveKind::kWindowRegister, pack_refusal(error),
        [done = std::move(done), error](const auto&) { done(error); });
    return;
  }
  std::shared_ptr<Window> window = std::move(made).value();
  WindowAnnounce announce;
  announce.bytes = bytes;
  announce.flags = flags;
  if (window->fabric) {
    announce.fabric_address = window->fabric->remote_address();
    announce.fabric_key = window->fabric->remote_key();
  }
  if (window->loopback) {
    announce.loopback_address = window->loopback->remote_address();
    announce.loopback_key = window->loopback->remote_key();
  }
  communicator_->membership().allgather(
      static_cast<int>(rank_), CollectiveKind::kWindowRegister, pack(announce),
      [self = shared_from_this(), window,
       done = std::move(done)](Result<Membership::Gathered> gathered) {
        if (self->leaving_) return done(Error{ginAborted, "the rank is leaving"});
        if (!gathered) return done(gathered.error());
        if (const auto parts = self->fill_parts(*window, gathered.value()); !parts) {
          return done(parts.error());
        }
        const std::uint32_t index = self->lowest_free_window();
        auto& place = self->windows_[index];
        place = std::make_unique<Window>(std::move(*window));
        ++place->memory->windows;
        self->node().counters.windows.fetch_add(1, std::memory_order_relaxed);
        self->node().counters.pinned_bytes.fetch_add(place->view.bytes, std::memory_order_relaxed);
        if ((place->flags & kPeerAccess) != 0) {
          place->open = true;
          return done(index);
        }
        self->seal(*place);
        self->install_window(index, &place->view, [done, index] { done(index); });
      });
}

void LocalRank::seal(Window& window) {
  if (window.memory->sealed) return;
  if (const auto sealed = seal_for_good(window.memory->fd.get()); !sealed) {
    log_warning(fmt::format("{}: sealing a window's memory: {}", name(), sealed.error().message));
  }
  window.memory->sealed = true;
}

Result<LocalRank::PeerMemory> LocalRank::peer_memory(std::uint32_t index, std::int32_t peer) const {
  const auto mine = windows_.find(index);
  if (mine == windows_.end() || !mine->second->open) {
    return Error{ginInvalidUsage,
                 fmt::format("window {} is not one that peers may map now: it must be registered "
                             "with GIN_WIN_PEER_ACCESS, and not yet be in use",
                             index)};
  }
  const LocalRank* const other = communicator_->find(peer);
  if (other == nullptr) {
    return Error{ginInvalidArgument, fmt::format("rank {} is not on this node", peer)};
  }
  const auto theirs = other->windows_.find(index);
  if (theirs == other->windows_.end() || !theirs->second->open) {
    return Error{ginInProgress,
                 fmt::format("rank {} has not registered window {} yet", peer, index)};
  }
  const Window& window = *theirs->second;
  PeerMemory memory{Fd(::fcntl(window.memory->fd.get(), F_DUPFD_CLOEXEC, 0)), window.offset,
                    window.view.bytes};
  if (!memory.fd.valid()) return system_error("a descriptor for a peer's window", errno);
  return memory;
}

void LocalRank::finish_window(std::uint32_t index, Done done) {
  const auto found = windows_.find(index);
  if (found == windows_.end() || !found->second->open) {
    return done(Error{ginInvalidUsage, fmt::format("window {} waits for no mapping", index)});
  }
  communicator_->membership().allgather(
      static_cast<int>(rank_), CollectiveKind::kWindowRegister, pack(IndexAnnounce{index, 0}),
      [self = shared_from_this(), index,
       done = std::move(done)](const Result<Membership::Gathered>& gathered) {
        if (self->leaving_) return done(Error{ginAborted, "the rank is leaving"});
        Window& window = *self->windows_[index];
        window.open = false;
        self->seal(window);
        if (!gathered) return done(gathered.error());
        for (std::size_t r = 0; r < gathered.value().size(); ++r) {
          const auto one = unpack<IndexAnnounce>(gathered.value()[r], static_cast<int>(r));
          if (!one) return done(one.error());
        }
        self->install_window(index, &window.view, [done] { done({}); });
      });
}

void LocalRank::deregister_window(std::uint32_t index, Done done) {
  if (!windows_.contains(index)) {
    return done(Error{ginInvalidArgument, fmt::format("window {} is not registered", index)});
  }
  // From here on no new operation uses it; those before have landed before the others hear of us.
  install_window(index, nullptr, [self = shared_from_this(), index, done = std::move(done)] {
    self->quiesce([self, index, done](bool quiet) {
      if (!quiet) {
        return done(Error{ginTimeout, fmt::format("window {} is still in use: operations have not "
                                                  "completed within {} s (timeouts.operation)",
                                                  index, self->quiesce_seconds())});
      }
      self->communicator_->membership().allgather(
          static_cast<int>(self->rank_), CollectiveKind::kWindowDeregister,
          pack(IndexAnnounce{index, 0}),
          [self, index, done](Result<Membership::Gathered> gathered) {
            if (self->leaving_) return done(Error{ginAborted, "the rank is leaving"});
            // Peers that did not take part may still write: it stays registered until we leave.
            if (!gathered) return done(gathered.error());
            for (std::size_t r = 0; r < gathered.value().size(); ++r) {
              const auto other = unpack<IndexAnnounce>(gathered.value()[r], static_cast<int>(r));
              if (!other) return done(other.error());
              if (other.value().index != index) {
                return done(Error{
                    ginInvalidUsage,
                    fmt::format("rank {} deregisters window {} while rank {} deregisters window {}",
                                r, other.value().index, self->rank_, index)});
              }
            }
            self->free_window(index);
            done({});
          });
    });
  });
}

void LocalRank::free_window(std::uint32_t index) {
  const auto found = windows_.find(index);
  if (found == windows_.end()) return;
  node().counters.windows.fetch_sub(1, std::memory_order_relaxed);
  node().counters.pinned_bytes.fetch_sub(found->second->view.bytes, std::memory_order_relaxed);
  --found->second->memory->windows;
  windows_.erase(found);
}

}  // namespace gind
