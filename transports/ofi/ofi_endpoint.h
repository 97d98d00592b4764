// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ofi_domain.h"
#include "receive_pool.h"
#include "request_pool.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace gind {

// One thread.
class OfiEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(std::shared_ptr<OfiDomain> domain);

  std::vector<std::uint8_t> address() const override { return address_; }
  Result<PeerHandle> add_peer(std::span<const std::uint8_t> address) override;
  void remove_peer(PeerHandle peer) override;
  std::size_t post(std::span<const WorkRequest> requests) override;
  std::size_t poll(std::span<Completion> completions) override;
  int wait_fd() const override { return wait_fd_; }
  bool prepare_wait() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    fi_addr_t address = FI_ADDR_UNSPEC;
    std::uint32_t outstanding = 0;
    bool removed = false;
    bool stalled = false;  // took nothing since `stalled_since`, with nothing outstanding
    Clock::time_point stalled_since;
  };
  struct Failure {
    std::uint64_t id;
    ginResult_t code;
    std::string text;
  };

  OfiEndpoint(std::shared_ptr<OfiDomain> domain, RequestPool requests, ReceivePool receives);
  Result<void> start();
  Result<void> open_queue();

  const char* check(const WorkRequest& request) const;
  std::int64_t submit(const WorkRequest& request, RequestSlot& slot);
  std::int64_t submit_write(const WorkRequest& request, RequestSlot& slot, fi_addr_t to);
  std::int64_t submit_read(const WorkRequest& request, RequestSlot& slot, fi_addr_t to);
  std::int64_t submit_send(const WorkRequest& request, RequestSlot& slot, fi_addr_t to);
  std::int64_t submit_atomic(const WorkRequest& request, RequestSlot& slot, fi_addr_t to);
  bool gave_up_on(Peer& peer);
  void fail(std::uint64_t id, ginResult_t code, std::string text);

  std::size_t poll_failures(std::span<Completion> completions);
  bool translate(const fi_cq_data_entry& entry, Completion& completion);
  bool read_error(Completion& completion);
  void finish(RequestSlot& slot);
  void release(Peer& peer);

  // Closed in reverse: the endpoint first, then its queue and addresses, then buffers, the domain.
  std::shared_ptr<OfiDomain> domain_;
  RequestPool requests_;
  ReceivePool receives_;
  FidPtr<fid_av> addresses_;
  FidPtr<fid_cq> queue_;
  FidPtr<fid_ep> endpoint_;
  std::vector<std::uint8_t> address_;
  std::vector<Peer> peers_;
  std::deque<Failure> failures_;   // not yet reported
  std::deque<std::string> texts_;  // of what the last poll() reported
  int wait_fd_ = -1;
};

}  // namespace gind
