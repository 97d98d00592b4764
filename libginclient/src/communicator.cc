// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace gind::client {
namespace {

using protocol::MessageHeader;
using protocol::MessageType;

// A reply may come late by as long as operations take to end or to fail.
constexpr std::chrono::seconds kFinalizeMargin{60};

template <std::size_t N, std::size_t M>
void copy_text(char (&to)[N], const char (&from)[M]) {
  const std::size_t n = std::min(::strnlen(from, M), N - 1);
  std::memcpy(to, from, n);
  std::memset(to + n, 0, N - n);
}

}  // namespace

Result<ginUniqueId> new_unique_id() {
  auto connection = Connection::open();
  if (!connection) return connection.error();
  const auto request = protocol::make_message<protocol::GetUniqueId>(MessageType::kGetUniqueId, 0);
  auto reply = connection.value()->call<protocol::UniqueIdReply>(request, MessageType::kUniqueId,
                                                                 kPlainTimeout);
  if (!reply) return reply.error();
  static_assert(GIN_UNIQUE_ID_BYTES == protocol::kUniqueIdBytes);
  ginUniqueId id;
  std::memcpy(id.internal, reply.value().id, sizeof id.internal);
  return id;
}

Result<std::unique_ptr<Communicator>> Communicator::join(int nranks, const ginUniqueId& id,
                                                         int rank) {
  auto opened = Connection::open();
  if (!opened) return opened.error();
  const std::shared_ptr<Connection> connection = std::move(opened).value();
  auto watched = Watch::start(connection);
  if (!watched) return watched.error();
  auto request = protocol::make_message<protocol::CommInit>(MessageType::kCommInit, 0);
  std::memcpy(request.id, id.internal, sizeof request.id);
  request.nranks = nranks;
  request.rank = rank;
  auto reply = connection->call<protocol::CommReady>(request, MessageType::kCommReady,
                                                     connection->collective_timeout());
  Result<void> checked;
  if (!reply) {
    checked = reply.error();
  } else if (reply.value().nranks != nranks || reply.value().rank != rank) {
    checked =
        Error{ginInternalError, "gind answered for rank " + std::to_string(reply.value().rank) +
                                    " of " + std::to_string(reply.value().nranks) + ", asked for " +
                                    std::to_string(rank) + " of " + std::to_string(nranks)};
  }
  if (!checked) return checked.error();
  return std::unique_ptr<Communicator>(
      new Communicator(connection, std::move(watched).value(), reply.value()));
}

Communicator::Communicator(std::shared_ptr<Connection> connection, Watch watch,
                           const protocol::CommReady& info)
    : connection_(std::move(connection)), watch_(std::move(watch)), info_(info) {
  const std::uint16_t* const node_of = info_.node_of_rank;
  const int place = static_cast<int>(
      std::count(node_of, node_of + info_.rank, node_of[info_.rank]));  // among its gind's ranks
  for (int r = 0; r < info_.nranks; ++r) {
    const auto rank = static_cast<std::uint16_t>(r);
    if (node_of[r] == node_of[info_.rank]) teams_.local.push_back(rank);
    if (std::count(node_of, node_of + r, node_of[r]) != place) continue;
    if (r == info_.rank) teams_.rail_rank = static_cast<std::int32_t>(teams_.rail.size());
    teams_.rail.push_back(rank);
  }
  teams_.local_rank = place;
}

// Waits that were told to end.  Kernels end before their memory is freed, as freeing GPU memory
// waits for them; threads of the host are waited for here.
void Communicator::await_waits() {
  const std::uint32_t* const waiting = connection_->words().waiting();
  const auto deadline = std::chrono::steady_clock::now() + kPlainTimeout;
  // Acquire: pairs with the release of the last wait that ends.
  while (gin::queues::load_acquire_sys(waiting) != 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Communicator::~Communicator() {
  connection_->end_waits();  // before gind's goodbye would give them another reason
  if (connection_->alive()) {
    const auto request = protocol::make_message<protocol::Goodbye>(MessageType::kGoodbye, 0);
    // Whatever the answer, there is nothing left to do but to hang up.
    (void)connection_->call<MessageHeader>(request, MessageType::kOk, kPlainTimeout);
  }
  await_waits();
}

Result<void> Communicator::finalize() {
  const std::lock_guard lock(mutex_);
  const auto request =
      protocol::make_message<protocol::CommFinalize>(MessageType::kCommFinalize, 0);
  auto reply = connection_->call<MessageHeader>(
      request, MessageType::kOk, connection_->collective_timeout() + kFinalizeMargin);
  return reply ? Result<void>{} : reply.error();
}

void Communicator::fill(ginCommProperties_t* p) const {
  p->rank = info_.rank;
  p->nRanks = info_.nranks;
  p->nNodes = static_cast<int>(info_.nodes);
  p->nLocalRanks = static_cast<int>(teams_.local.size());
  p->ordered = info_.ordered != 0 ? 1 : 0;
  p->maxWindows = static_cast<int>(gin::queues::kMaxWindows);
  p->maxOutstanding = static_cast<int>(connection_->hello().max_outstanding);
  p->maxPutBytes = info_.max_put_bytes;
  copy_text(p->transport, info_.transport);
  copy_text(p->provider, info_.provider);
  copy_text(p->signalMode, info_.signal_mode);
}

Result<void*> Communicator::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto gpu = gpu_of(ginPosterAuto);
  if (!gpu) return gpu.error();
  // A thread without CUDA may allocate for kernels that another one launches.
  if (gpu.value() == nullptr && !gpus_.empty()) gpu = gpus_.front();
  return allocations_.allocate(bytes, gpu.value());
}

Result<std::shared_ptr<Gpu>> Communicator::gpu_of(ginPoster_t poster) {
  if (poster == ginPosterHost) return std::shared_ptr<Gpu>();
  auto gpu = poster == ginPosterGpu ? Gpu::current() : Gpu::current_or_none();
  if (!gpu || gpu.value() == nullptr) return gpu;
  if (auto used = use(gpu.value()); !used) return used.error();
  return gpu;
}

Result<void> Communicator::use(const std::shared_ptr<Gpu>& gpu) {
  if (!gpu_words_) {
    const CommWords& words = connection_->words();
    auto mapped = gpu->map(words.page(), CommWords::page_bytes());
    if (!mapped) return mapped.error();
    gpu_words_ = std::move(mapped).value();
    if (auto all = allocations_.map_all(gpu); !all) return all;
    for (auto& [index, window] : windows_) {
      for (auto& [rank, part] : window.peers) {
        if (auto done = part.map_into(*gpu); !done) return done;
      }
    }
  }
  const std::lock_guard lock(gpus_mutex_);
  if (std::find(gpus_.begin(), gpus_.end(), gpu) == gpus_.end()) gpus_.push_back(gpu);
  return {};
}

std::optional<Error> Communicator::async_error() {
  if (auto known = connection_->async_error()) return known;
  const std::lock_guard lock(gpus_mutex_);
  for (const std::shared_ptr<Gpu>& gpu : gpus_) {
    if (auto healthy = gpu->healthy(); !healthy) {
      connection_->report(healthy.error());
      return healthy.error();
    }
  }
  return std::nullopt;
}

Result<void> Communicator::free(void* ptr) {
  const std::lock_guard lock(mutex_);
  auto found = allocations_.removable(ptr);
  if (!found) return found.error();
  Result<void> told;
  if (found.value()->shared && connection_->alive()) told = tell_freed(*found.value());
  allocations_.remove(ptr);
  return told;
}

// gind keeps what it knows of an allocation while further windows may come in it.
Result<void> Communicator::tell_freed(const Allocation& allocation) {
  struct stat st {};
  if (::fstat(allocation.memfd.get(), &st) != 0) return system_error("fstat of a memfd", errno);
  auto request = protocol::make_message<protocol::MemoryFree>(MessageType::kMemoryFree, 0);
  request.inode = st.st_ino;
  auto reply = connection_->call<MessageHeader>(request, MessageType::kOk, kPlainTimeout);
  return reply || !connection_->alive() ? Result<void>{} : reply.error();
}

Result<ginWindow_t> Communicator::register_window(void* ptr, std::uint64_t bytes, unsigned flags) {
  const std::lock_guard lock(mutex_);
  AllocationTable::Place place;
  if (ptr == nullptr && bytes == 0) {
    if (!nothing_.valid()) {
      auto memfd = create_memfd("gin-nothing", gin::queues::kPage);
      if (!memfd) return memfd.error();
      nothing_ = std::move(memfd).value();
    }
  } else {
    auto found = allocations_.find(ptr, bytes);
    if (!found) return found.error();
    place = found.value();
  }
  auto request = protocol::make_message<protocol::WindowRegister>(MessageType::kWindowRegister, 0);
  request.offset = place.offset;
  request.bytes = bytes;
  request.flags = flags;
  const int fd = place.allocation != nullptr ? place.allocation->memfd.get() : nothing_.get();
  if (place.allocation != nullptr) place.allocation->shared = true;
  auto reply = connection_->call<protocol::WindowReady>(request, MessageType::kWindowReady,
                                                        connection_->collective_timeout(), fd);
  if (!reply) return reply.error();
  const std::uint32_t index = reply.value().window;
  char* const base = bytes != 0 ? static_cast<char*>(ptr) : nullptr;
  const bool peer_access = (flags & GIN_WIN_PEER_ACCESS) != 0;
  if (index >= gin::queues::kMaxWindows ||
      !windows_.emplace(index, Window{place.allocation, base, peer_access}).second) {
    return Error{ginInternalError, "gind gave the window the index " + std::to_string(index) +
                                       ", which is taken or not below " +
                                       std::to_string(gin::queues::kMaxWindows)};
  }
  if (place.allocation != nullptr) ++place.allocation->windows;
  if (peer_access) {
    if (auto mapped = map_peers(index, &windows_[index]); !mapped) return mapped.error();
  }
  return ginWindow_t{index + 1, flags, bytes, base};
}

// gind lets local ranks map each other's part until all have said that they have; then it is
// sealed.
Result<void> Communicator::map_peers(std::uint32_t index, Window* window) {
  const auto deadline = std::chrono::steady_clock::now() + connection_->collective_timeout();
  Result<void> failed;
  for (const std::uint16_t rank : teams_.local) {
    if (rank == info_.rank || !failed) continue;
    auto part = PeerPart::fetch(*connection_, index, rank, deadline);
    if (!part) {
      failed = part.error();
      continue;
    }
    if (!gpus_.empty()) failed = part.value().map_into(*gpus_.front());
    if (failed) window->peers.emplace(rank, std::move(part).value());
  }
  // Also where this rank has failed: the others wait for it.
  auto request = protocol::make_message<protocol::WindowMapped>(MessageType::kWindowMapped, 0);
  request.window = index;
  auto reply = connection_->call<MessageHeader>(request, MessageType::kOk,
                                                connection_->collective_timeout());
  if (!failed) return failed;
  return reply ? Result<void>{} : reply.error();
}

Result<void*> Communicator::peer_pointer(ginWindow_t window, int peer) {
  const std::lock_guard lock(mutex_);
  const auto it = windows_.find(window.id - 1);
  if (window.id == 0 || it == windows_.end()) {
    return Error{ginInvalidArgument, "window handle " + std::to_string(window.id) +
                                         " is not a window of this communicator"};
  }
  if (peer < 0 || peer >= info_.nranks) {
    return Error{ginInvalidArgument, "peer is " + std::to_string(peer) + ", expected 0 .. " +
                                         std::to_string(info_.nranks - 1)};
  }
  if (!it->second.peer_access) {
    return Error{ginInvalidUsage, "the window was registered without GIN_WIN_PEER_ACCESS (2)"};
  }
  if (peer == info_.rank) return static_cast<void*>(it->second.base);
  const auto part = it->second.peers.find(peer);
  return part == it->second.peers.end() ? nullptr : part->second.data();
}

Result<void> Communicator::deregister_window(ginWindow_t window) {
  const std::lock_guard lock(mutex_);
  const auto it = windows_.find(window.id - 1);
  if (window.id == 0 || it == windows_.end()) {
    return Error{ginInvalidArgument, "window handle " + std::to_string(window.id) +
                                         " is not a window of this communicator, which has " +
                                         std::to_string(windows_.size())};
  }
  auto request =
      protocol::make_message<protocol::WindowDeregister>(MessageType::kWindowDeregister, 0);
  request.window = it->first;
  auto reply = connection_->call<MessageHeader>(request, MessageType::kOk,
                                                connection_->collective_timeout());
  // Without gind nothing is registered any more, and the memory may be freed.
  if (!reply && connection_->alive()) return reply.error();
  if (it->second.allocation != nullptr) --it->second.allocation->windows;
  windows_.erase(it);
  return reply ? Result<void>{} : reply.error();
}

Result<ginDevComm_t> Communicator::create_device_communicator(
    const ginDevCommRequirements_t& requirements) {
  const std::lock_guard lock(mutex_);
  auto plan = plan_of(requirements, connection_->hello(), info_.nranks);
  if (!plan) return plan.error();
  const gin::queues::SegmentShape& shape = plan.value().shape;
  auto gpu = gpu_of(requirements.poster);
  if (!gpu) return gpu.error();
  auto prepared = DeviceCommunicator::prepare(plan.value(), requirements.sharing, gpu.value());
  if (!prepared) return prepared.error();
  std::unique_ptr<DeviceCommunicator> made = std::move(prepared).value();
  auto request = protocol::make_message<protocol::DevCommCreate>(MessageType::kDevCommCreate, 0);
  request.contexts = shape.contexts;
  request.signals = shape.signals;
  request.counters = shape.counters;
  request.ring_units = shape.ring_units;
  auto reply = connection_->call<protocol::DevCommReady>(
      request, MessageType::kDevCommReady, connection_->collective_timeout(), made->memfd());
  if (!reply) return reply.error();
  if (auto finished = made->finish(reply.value().dev_comm, teams_); !finished) {
    return finished.error();
  }
  ginDevComm_t& handle = made->handle;
  handle.rank = info_.rank;
  handle.timeoutNs = requirements.timeoutNs < 0
                         ? connection_->hello().default_wait_ns
                         : static_cast<std::uint64_t>(requirements.timeoutNs);
  // The page has one address for host and GPU (checked for the memory of windows, too).
  handle.commError = connection_->words().error();
  handle.abortFlag = connection_->words().abort();
  handle.waiting = connection_->words().waiting();
  const ginDevComm_t copy = handle;
  if (!device_communicators_.emplace(copy.id, std::move(made)).second) {
    return Error{ginInternalError,
                 "gind gave two device communicators the id " + std::to_string(copy.id)};
  }
  return copy;
}

Result<void> Communicator::destroy_device_communicator(const ginDevComm_t& handle) {
  const std::lock_guard lock(mutex_);
  const auto it = device_communicators_.find(handle.id);
  if (it == device_communicators_.end() || it->second->handle.segment != handle.segment) {
    return Error{ginInvalidArgument,
                 "device communicator " + std::to_string(handle.id) +
                     " is not one of this communicator (destroyed before, or of another)"};
  }
  auto request = protocol::make_message<protocol::DevCommDestroy>(MessageType::kDevCommDestroy, 0);
  request.dev_comm = handle.id;
  auto reply = connection_->call<MessageHeader>(request, MessageType::kOk,
                                                connection_->collective_timeout());
  device_communicators_.erase(it);
  return reply ? Result<void>{} : reply.error();
}

}  // namespace gind::client
