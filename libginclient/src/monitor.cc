// SPDX-License-Identifier: Apache-2.0
#include "monitor.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

namespace gind::client {
namespace {

class Monitor {
 public:
  Result<void> add(const std::shared_ptr<Connection>& connection);
  void remove(const Connection* connection);
  void lock_for_fork() { lifecycle_.lock(), table_mutex_.lock(); }
  void unlock_after_fork() { table_mutex_.unlock(), lifecycle_.unlock(); }
  // In the child, which has no monitor thread: this object is left as it is, locked, for good.
  void leave_to_parent() {
    for (auto& [id, connection] : table_) connection->leave_to_parent();
    epoll_.reset();
    wake_.reset();
  }

 private:
  static constexpr std::uint64_t kWakeId = 0;

  Result<void> start();
  void stop();
  void run();
  bool look(std::uint64_t id);
  Result<void> poll_for(int fd, std::uint64_t id);

  std::mutex lifecycle_;    // add and remove, one at a time; held over start and join
  std::mutex table_mutex_;  // the table; the thread takes this one only
  std::map<std::uint64_t, std::shared_ptr<Connection>> table_;
  std::uint64_t next_id_ = kWakeId + 1;
  Fd epoll_;
  Fd wake_;
  std::thread thread_;
};

// Never destroyed: a thread may be in it when the process exits.
Monitor* g_monitor = nullptr;
std::once_flag g_once;

Monitor& monitor() {
  std::call_once(g_once, [] {
    g_monitor = new Monitor;
    ::pthread_atfork([] { g_monitor->lock_for_fork(); }, [] { g_monitor->unlock_after_fork(); },
                     [] {
                       g_monitor->leave_to_parent();
                       g_monitor = new Monitor;
                     });
  });
  return *g_monitor;
}

Result<void> Monitor::poll_for(int fd, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return system_error("epoll_ctl", errno);
  }
  return {};
}

Result<void> Monitor::start() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return system_error("epoll_create1", errno);
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return system_error("eventfd", errno);
  if (auto polled = poll_for(wake_.get(), kWakeId); !polled) return polled;
  // The application's signals are for its own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<void> started;
  try {
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "gin-monitor");
  } catch (const std::system_error& e) {
    started = system_error("starting the monitor thread", e.code().value());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void Monitor::stop() {
  const std::uint64_t one = 1;
  if (thread_.joinable()) {
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }
  wake_.reset();
  epoll_.reset();
}

Result<void> Monitor::add(const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lifecycle(lifecycle_);
  if (!thread_.joinable()) {
    if (auto started = start(); !started) {
      stop();
      return started;
    }
  }
  Result<void> polled;
  bool empty = false;
  {
    const std::lock_guard lock(table_mutex_);
    const std::uint64_t id = next_id_++;
    table_.emplace(id, connection);
    connection->set_watched(true);
    polled = poll_for(connection->socket(), id);
    if (!polled) {
      connection->set_watched(false);
      table_.erase(id);
    }
    empty = table_.empty();
  }
  if (empty) stop();
  return polled;
}

void Monitor::remove(const Connection* connection) {
  const std::lock_guard lifecycle(lifecycle_);
  std::shared_ptr<Connection> kept;  // destroyed without the lock
  bool empty = false;
  {
    const std::lock_guard lock(table_mutex_);
    for (auto it = table_.begin(); it != table_.end(); ++it) {
      if (it->second.get() != connection) continue;
      kept = it->second;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, kept->socket(), nullptr);
      table_.erase(it);
      break;
    }
    empty = table_.empty();
  }
  if (kept && empty) stop();
}

void Monitor::run() {
  constexpr int kBatch = 16;
  epoll_event events[kBatch];
  for (;;) {
    const int n = ::epoll_wait(epoll_.get(), events, kBatch, -1);
    for (int i = 0; i < n; ++i) {
      if (!look(events[i].data.u64)) return;
    }
  }
}

// False when the thread shall end.
bool Monitor::look(std::uint64_t id) {
  if (id == kWakeId) return false;
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock(table_mutex_);
    const auto it = table_.find(id);
    if (it == table_.end()) return true;  // removed since
    connection = it->second;
  }
  // A lost connection would stay readable for ever.
  if (!connection->drain()) {
    const std::lock_guard lock(table_mutex_);
    if (table_.count(id) != 0) {
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection->socket(), nullptr);
    }
  }
  return true;
}

}  // namespace

Result<void> watch(const std::shared_ptr<Connection>& connection) {
  return monitor().add(connection);
}

void unwatch(const Connection* connection) { monitor().remove(connection); }

}  // namespace gind::client
