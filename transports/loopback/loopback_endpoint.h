// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/transports/loopback.h"
#include "loopback/mailbox.h"
#include "loopback/region_table.h"

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace gind {

inline constexpr std::uint32_t kLoopbackInlineBytes = 256;

// What the transport, its endpoints and its regions share; outlives each of them.
struct LoopbackShared {
  LoopbackOptions options;
  RegionTable regions;
  std::uint64_t instance = 0;  // random, part of every address
  std::mutex mutex;            // guards what follows
  std::unordered_map<std::uint64_t, std::weak_ptr<Mailbox>> endpoints;
  std::uint64_t next_endpoint = 1;
};

class LoopbackEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(std::shared_ptr<LoopbackShared> shared);
  ~LoopbackEndpoint() override;

  std::vector<std::uint8_t> address() const override;
  Result<PeerHandle> add_peer(std::span<const std::uint8_t> address) override;
  void remove_peer(PeerHandle peer) override;
  std::size_t post(std::span<const WorkRequest> requests) override;
  std::size_t poll(std::span<Completion> completions) override;
  int wait_fd() const override { return mailbox_->wait_fd(); }
  bool prepare_wait() override;

 private:
  struct Finished {
    std::uint64_t id;
    const char* error;  // static; null: done
  };
  enum class Step { kDone, kFailed, kFull };
  static constexpr std::size_t kBatch = 64;  // messages handed out by one poll()

  LoopbackEndpoint(std::shared_ptr<LoopbackShared> shared, std::uint64_t number,
                   std::shared_ptr<Mailbox> mailbox);
  Step execute(const WorkRequest& request, const char** error);
  const char* check(const WorkRequest& request) const;
  Step deliver(Mailbox& target, const LoopbackMessage& message, const char** error);
  std::size_t poll_finished(std::span<Completion> completions);

  std::shared_ptr<LoopbackShared> shared_;
  const std::uint64_t number_;
  std::shared_ptr<Mailbox> mailbox_;
  std::vector<std::shared_ptr<Mailbox>> peers_;  // by handle; null: removed
  std::vector<Finished> finished_;               // ring of queue_depth
  std::size_t finished_head_ = 0;
  std::size_t finished_count_ = 0;
  MessageRing self_;                           // from this endpoint to itself: one thread, no lock
  std::array<LoopbackMessage, kBatch> batch_;  // what the last poll() handed out
};

}  // namespace gind
