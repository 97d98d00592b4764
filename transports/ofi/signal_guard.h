// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <array>
#include <mutex>

namespace gind {

// Puts back at its end what the process does on each signal: some providers put in handlers of
// their own for SIGINT, SIGTERM, SIGSEGV and others (shm when an endpoint is opened).  Held around
// libfabric's set-up calls, one thread at a time.
class KeepSignalActions {
 public:
  KeepSignalActions() : lock_(mutex()) {
    for (int s = 1; s < kSignals; ++s) known_[s] = ::sigaction(s, nullptr, &saved_[s]) == 0;
  }
  ~KeepSignalActions() {
    for (int s = 1; s < kSignals; ++s)
      if (known_[s] && s != SIGKILL && s != SIGSTOP) ::sigaction(s, &saved_[s], nullptr);
  }
  KeepSignalActions(const KeepSignalActions&) = delete;
  KeepSignalActions& operator=(const KeepSignalActions&) = delete;

 private:
  static constexpr int kSignals = 32;
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  std::lock_guard<std::mutex> lock_;
  std::array<struct sigaction, kSignals> saved_{};
  std::array<bool, kSignals> known_{};
};

}  // namespace gind
