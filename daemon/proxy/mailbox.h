// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/common/fd.h"

#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace gind {

// Commands for a proxy thread.  Any thread may send; the owner looks at a flag each turn and takes
// the lock only when there is something.
class Mailbox {
 public:
  Mailbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void send(std::function<void()> command) {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(std::move(command));
      pending_.store(true, std::memory_order_release);  // pairs with has_mail
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(wake_.get(), &one, sizeof one);
  }

  bool has_mail() const { return pending_.load(std::memory_order_acquire); }

  // Runs what has come so far.  Owner only.
  std::size_t run() {
    std::vector<std::function<void()>> batch;
    {
      const std::lock_guard lock(mutex_);
      batch.swap(commands_);
      pending_.store(false, std::memory_order_relaxed);
      std::uint64_t count = 0;
      [[maybe_unused]] const auto n = ::read(wake_.get(), &count, sizeof count);
    }
    for (auto& command : batch) command();
    return batch.size();
  }

  int wake_fd() const { return wake_.get(); }

 private:
  Fd wake_;
  std::mutex mutex_;
  std::vector<std::function<void()>> commands_;
  std::atomic<bool> pending_{false};
};

}  // namespace gind
