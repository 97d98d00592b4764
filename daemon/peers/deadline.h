// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace gind::peers {

// Calls a function once when a time has passed, unless cancelled, re-armed or destroyed before;
// then never, even if the timer's completion is already queued.
class Deadline {
 public:
  explicit Deadline(boost::asio::io_context& io);
  Deadline(Deadline&&) noexcept = default;
  Deadline& operator=(Deadline&& other) noexcept;
  ~Deadline() { cancel(); }

  void arm(std::chrono::nanoseconds after, std::function<void()> call);
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gind::peers
