// SPDX-License-Identifier: Apache-2.0
// The loop.  Commands and tables are in proxy_commands.cc.
#include "daemon/proxy/proxy_thread.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>

namespace gind {

namespace {

constexpr std::size_t kPollBatch = 64;
constexpr std::size_t kColdPerTurn = 16;
constexpr std::uint64_t kCoolAfterNs = 50'000'000;  // without work a context leaves the hot list
constexpr std::uint64_t kSlowTimerNs = 50'000'000;
// A nap is at most this part of the time without work so far: who waits again soon is seen soon.
constexpr std::uint64_t kNapsInIdleTime = 16;
constexpr std::uint64_t kFirstNapNs = 50'000;

}  // namespace

ProxyThread::ProxyThread(const ProxyOptions& options, Transport* fabric, Transport& loopback,
                         ProxyEvents& events)
    : fabric_transport_(fabric), loopback_transport_(loopback) {
  env_.options = options;
  env_.events = &events;
  env_.now_ns = gin::queues::now_ns();
}

Result<std::unique_ptr<ProxyThread>> ProxyThread::create(const ProxyOptions& options,
                                                         Transport* fabric, Transport& loopback,
                                                         ProxyEvents& events) {
  std::unique_ptr<ProxyThread> proxy(new ProxyThread(options, fabric, loopback, events));
  auto local = loopback.open_endpoint();
  if (!local) return local.error().with_context("loopback endpoint");
  proxy->loopback_ = std::move(local).value();
  if (fabric != nullptr) {
    auto endpoint = fabric->open_endpoint();
    if (!endpoint) return endpoint.error().with_context("fabric endpoint");
    proxy->fabric_ = std::move(endpoint).value();
    proxy->fabric_sequenced_ = fabric->caps().signal_mode == SignalMode::kSequence;
  }
  return proxy;
}

ProxyThread::~ProxyThread() { stop(); }

void ProxyThread::start() {
  thread_ = std::thread([this] { run(); });
}

void ProxyThread::stop() {
  if (!thread_.joinable()) return;
  mailbox_.send([this] { stop_.store(true, std::memory_order_relaxed); });
  thread_.join();
}

std::vector<std::uint8_t> ProxyThread::fabric_address() const {
  return fabric_ ? fabric_->address() : std::vector<std::uint8_t>{};
}

void ProxyThread::pin() {
  ::pthread_setname_np(::pthread_self(), ("proxy-" + std::to_string(env_.options.index)).c_str());
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // naps end when they should
  if (env_.options.cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(env_.options.cpu), &set);
  // main has checked that the CPU exists and may be used; a failure here would be a later change
  // of the cgroup, which the scheduler handles.
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

void ProxyThread::run() {
  pin();
  env_.now_ns = last_work_ns_ = gin::queues::now_ns();
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::uint64_t before = env_.now_ns;
    const std::size_t work = turn();
    env_.now_ns = gin::queues::now_ns();
    account(work, before);
    if (work != 0) {
      last_work_ns_ = env_.now_ns;
    } else if (env_.now_ns - last_work_ns_ > env_.options.spin_ns) {
      sleep();
    } else if (env_.options.yields) {
      ::sched_yield();
    } else {
      gin::queues::cpu_relax();
    }
  }
}

std::size_t ProxyThread::turn() {
  std::size_t work = 0;
  if (mailbox_.has_mail()) work += mailbox_.run();
  if (fabric_) work += poll(*fabric_, fabric_sequenced_);
  work += poll(*loopback_, false);
  work += serve_contexts();
  work += flush_channels();
  if (!env_.failures.empty()) handle_failures();
  for (std::size_t i = 0; i < waiting_.size();) {
    if (!waiting_[i].ready()) {
      ++i;
      continue;
    }
    auto done = std::move(waiting_[i].done);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    done();
    ++work;
  }
  if (env_.now_ns >= next_slow_ns_) slow_timer();
  return work;
}

std::size_t ProxyThread::poll(Endpoint& endpoint, bool sequenced) {
  std::array<Completion, kPollBatch> completions;
  const std::size_t n = endpoint.poll(completions);
  for (std::size_t i = 0; i < n; ++i) on_completion(completions[i], sequenced);
  return n;
}

void ProxyThread::on_completion(const Completion& c, bool sequenced) {
  switch (c.kind) {
    case CompletionKind::kReceived:
      return on_record(c, sequenced);
    case CompletionKind::kImmediate:
      return on_immediate(c.immediate);
    case CompletionKind::kDone:
    case CompletionKind::kFailed:
      break;
  }
  const std::uint64_t queue = c.id >> 48;
  const auto slot = static_cast<std::uint32_t>(c.id >> 32 & 0xffff);
  const auto bytes = static_cast<std::uint32_t>(c.id);
  if (queue == PeerChannel::kAckQueue) {
    // A lost acknowledgement means a lost peer; its own operations and its gind tell of that.
    if (channel_by_number_[slot] != nullptr) channel_by_number_[slot]->completed(bytes);
    return;
  }
  queues_[queue]->completed(env_, slot, bytes, c.kind == CompletionKind::kFailed, c.code, c.error);
}

void ProxyThread::on_record(const Completion& c, bool sequenced) {
  WireRecord record;
  if (c.bytes >= sizeof record) {
    std::memcpy(static_cast<void*>(&record), c.data, sizeof record);
    const std::span data(static_cast<const std::byte*>(c.data) + sizeof record,
                         c.bytes - sizeof record);
    const auto found = by_handle_.find({record.dev_comm, record.context});
    if (found != by_handle_.end() && found->second->received(env_, record, data, sequenced)) {
      return;
    }
  }
  env_.counters.records_refused.add(1);
}

void ProxyThread::on_immediate(std::uint32_t immediate) {
  const std::uint32_t id = immediate >> 16;
  const Flow flow = id < flows_.size() ? flows_[id] : Flow{};
  if (flow.queue == nullptr ||
      !flow.queue->immediate(env_, flow.source, static_cast<std::uint16_t>(immediate))) {
    env_.counters.records_refused.add(1);
  }
}

std::size_t ProxyThread::serve_contexts() {
  std::size_t work = 0;
  for (std::size_t i = 0; i < hot_.size();) {
    ContextQueue& queue = *hot_[i];
    if (queue.has_replies()) queue.send_replies(env_);
    work += queue.service(env_);
    const bool cool = env_.now_ns - queue.last_active_ns > kCoolAfterNs && !queue.has_replies() &&
                      !queue.has_unstaged() && cold_.size() + hot_.size() > kColdPerTurn;
    if (!cool) {
      ++i;
      continue;
    }
    cold_.push_back(&queue);
    hot_[i] = hot_.back();
    hot_.pop_back();
  }
  for (std::size_t n = std::min(kColdPerTurn, cold_.size()); n != 0; --n) {
    if (cold_next_ >= cold_.size()) cold_next_ = 0;
    if (cold_.empty()) break;
    ContextQueue* queue = cold_[cold_next_];
    if (!queue->pending() && !queue->has_replies() && !queue->has_unstaged()) {
      ++cold_next_;
      continue;
    }
    queue->last_active_ns = env_.now_ns;
    hot_.push_back(queue);
    cold_[cold_next_] = cold_.back();
    cold_.pop_back();
    work += queue->service(env_);
  }
  return work;
}

std::size_t ProxyThread::flush_channels() {
  std::size_t work = 0;
  std::size_t kept = 0;
  for (PeerChannel* channel : env_.to_flush) {
    work += channel->flush();
    if (channel->idle()) {
      channel->listed = false;
    } else {
      env_.to_flush[kept++] = channel;
    }
  }
  env_.to_flush.resize(kept);
  return work;
}

void ProxyThread::slow_timer() {
  next_slow_ns_ = env_.now_ns + kSlowTimerNs;
  for (auto& queue : queues_) {
    if (queue) queue->check_deadlines(env_);
  }
}

void ProxyThread::account(std::size_t work, std::uint64_t before) {
  const std::uint64_t took = env_.now_ns - before;
  env_.counters.loops.add(1);
  (work != 0 ? env_.counters.busy_ns : env_.counters.idle_ns).add(took);
  if (took > env_.counters.cycle_max_ns.get()) env_.counters.cycle_max_ns.set(took);
}

bool ProxyThread::ring_pending() const {
  const auto pending = [](const ContextQueue* queue) { return queue->pending(); };
  return std::any_of(hot_.begin(), hot_.end(), pending) ||
         std::any_of(cold_.begin(), cold_.end(), pending);
}

void ProxyThread::sleep() {
  if (mailbox_.has_mail() || !env_.to_flush.empty() || !waiting_.empty()) return;
  if (!loopback_->prepare_wait()) return;
  std::array<pollfd, 2> fds{pollfd{mailbox_.wake_fd(), POLLIN, 0}, pollfd{-1, POLLIN, 0}};
  if (fabric_) {
    if (!fabric_->prepare_wait()) return;
    fds[1].fd = fabric_->wait_fd();
  }
  // The rings have no way to wake us (a GPU writes them), so the nap bounds their latency; the
  // fabric and the mailbox wake us at once.  Between naps only the rings are looked at: a whole
  // turn would ask the fabric, too, which costs system calls.
  const bool rings = !hot_.empty() || !cold_.empty();
  const bool must_poll = fabric_ && fds[1].fd < 0;
  int ready = 0;
  std::uint64_t now = env_.now_ns;
  do {
    std::uint64_t nap_ns = kSlowTimerNs;
    if (rings || must_poll) {
      nap_ns = std::max(kFirstNapNs, (now - last_work_ns_) / kNapsInIdleTime);
      nap_ns = std::min(nap_ns, env_.options.nap_ns);
    }
    const timespec nap{static_cast<time_t>(nap_ns / 1'000'000'000),
                       static_cast<long>(nap_ns % 1'000'000'000)};
    ready = ::ppoll(fds.data(), fds.size(), &nap, nullptr);
    now = gin::queues::now_ns();
    env_.counters.loops.add(1);
  } while (ready == 0 && !must_poll && now < next_slow_ns_ && !ring_pending());
  env_.counters.sleep_ns.add(now - env_.now_ns);
  env_.now_ns = now;
}

}  // namespace gind
