// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/transports/adversary.h"

#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace gind {

// One thread.  All decisions come from the seed and the sequence of calls, none from clocks.
class AdversaryEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(Transport& transport, AdversaryOptions options,
                                                std::uint64_t number);

  std::vector<std::uint8_t> address() const override { return inner_->address(); }
  Result<PeerHandle> add_peer(std::span<const std::uint8_t> address) override {
    return inner_->add_peer(address);
  }
  void remove_peer(PeerHandle peer) override;
  std::size_t post(std::span<const WorkRequest> requests) override;
  std::size_t poll(std::span<Completion> completions) override;
  int wait_fd() const override { return inner_->wait_fd(); }
  bool prepare_wait() override;

 private:
  static constexpr std::size_t kCopies = 64;
  static constexpr std::uint64_t kCopyBytes = 64 << 10;
  static constexpr std::size_t kBatch = 64;
  static constexpr std::uint32_t kMostPauses = 4;  // in a row

  // A request that was taken and has not completed below.
  struct Request {
    WorkRequest work;
    std::uint64_t number = 0;         // in the order of post()
    std::uint64_t due = 0;            // poll at which it goes out at the latest
    std::vector<std::byte> payload;   // of sends and inline data
    int copy = -1;                    // the copy that is written from, of early completions
    std::vector<WorkRequest> pieces;  // that are not posted yet, the last one last
    std::uint32_t below = 0;          // posted and not completed
    bool reported = false;            // its completion has been handed out, or lost on purpose
    bool split = false;
  };
  using Requests = std::list<Request>;

  AdversaryEndpoint(std::unique_ptr<Endpoint> inner, AdversaryOptions options, std::uint64_t number,
                    bool inner_ordered);

  bool one_in(std::uint64_t n) { return random_() % n == 0; }
  bool strikes(AdversaryFault fault) {
    return options_.fault == fault && one_in(options_.fault_one_in);
  }
  void take(const WorkRequest& work);
  void complete_early(Request& request);
  void split(Request& request);
  bool may_go(const Request& request);
  bool goes_behind(const WorkRequest& later, const WorkRequest& earlier) const;
  void release();
  bool send_out(Requests::iterator request);
  void hear();
  void finished(std::uint64_t number, const Completion& completion);
  void report(Request& request, CompletionKind kind, ginResult_t code, std::string_view text);
  void retire(std::uint64_t number);

  struct Report {
    Completion completion;
    std::string text;
    std::uint32_t deferred = 0;  // polls
    std::array<std::byte, kMaxSendBytes> data{};
  };

  std::unique_ptr<char[]> copies_ = std::make_unique<char[]>(kCopies * kCopyBytes);
  std::unique_ptr<MemoryRegion> copies_region_;
  std::vector<int> free_copies_;
  std::unique_ptr<Endpoint> inner_;
  const AdversaryOptions options_;
  const bool inner_ordered_;
  std::mt19937_64 random_;
  Requests held_;                               // not wholly posted below, oldest first
  std::map<std::uint64_t, Request> under_way_;  // wholly posted, by number
  std::deque<std::uint64_t> unreported_;        // ids, oldest first (kDoneByCount)
  std::vector<Report> reports_;                 // to be handed out
  std::vector<Report> handed_out_;              // by the last poll()
  std::vector<PeerHandle> removed_;             // to be removed when nothing goes there any more
  std::uint64_t next_number_ = 0;
  std::uint64_t polls_ = 0;
  std::uint32_t pauses_ = 0;
};

}  // namespace gind
