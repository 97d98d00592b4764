// SPDX-License-Identifier: Apache-2.0
#include "adversary_endpoint.h"

#include <algorithm>
#include <cstring>

namespace gind {
namespace {

bool is_atomic(WorkOp op) { return op == WorkOp::kFetchAdd || op == WorkOp::kCompareSwap; }
bool is_write(WorkOp op) { return op == WorkOp::kWrite || op == WorkOp::kWriteImmediate; }
bool carries_payload(WorkOp op) { return is_write(op) || op == WorkOp::kSend; }

}  // namespace

Result<std::unique_ptr<Endpoint>> AdversaryEndpoint::open(Transport& transport,
                                                          AdversaryOptions options,
                                                          std::uint64_t number) {
  auto inner = transport.open_endpoint();
  if (!inner) return inner.error();
  std::unique_ptr<AdversaryEndpoint> made(new AdversaryEndpoint(
      std::move(inner).value(), std::move(options), number, transport.caps().ordered_sends));
  auto region = transport.register_memory(made->copies_.get(), kCopies * kCopyBytes, kAccessLocal);
  if (!region) return region.error();
  made->copies_region_ = std::move(region).value();
  return std::unique_ptr<Endpoint>(std::move(made));
}

AdversaryEndpoint::AdversaryEndpoint(std::unique_ptr<Endpoint> inner, AdversaryOptions options,
                                     std::uint64_t number, bool inner_ordered)
    : inner_(std::move(inner)), options_(std::move(options)), inner_ordered_(inner_ordered) {
  std::seed_seq seed{options_.seed & 0xffffffff, options_.seed >> 32, number};
  random_.seed(seed);
  for (int i = 0; i < static_cast<int>(kCopies); ++i) free_copies_.push_back(i);
}

void AdversaryEndpoint::remove_peer(PeerHandle peer) { removed_.push_back(peer); }

std::size_t AdversaryEndpoint::post(std::span<const WorkRequest> requests) {
  std::size_t taken = 0;
  for (const WorkRequest& work : requests) {
    if (held_.size() >= options_.hold || under_way_.size() >= 4 * options_.hold) break;
    take(work);
    ++taken;
  }
  return taken;
}

void AdversaryEndpoint::take(const WorkRequest& work) {
  Request& request = held_.emplace_back();
  request.work = work;
  request.number = next_number_++;
  request.due = polls_ + random_() % (options_.delay + 1);
  unreported_.push_back(request.number);
  if (work.inline_data || work.op == WorkOp::kSend) {
    const auto* bytes = static_cast<const std::byte*>(work.local);
    request.payload.assign(bytes, bytes + work.bytes);
    request.work.inline_data = true;
    request.work.local = request.payload.data();
    request.work.local_region = nullptr;
    if (work.op == WorkOp::kSend && options_.tamper) options_.tamper(request.payload);
  }
  if (carries_payload(work.op) && one_in(2)) complete_early(request);
  if (is_write(work.op) && strikes(AdversaryFault::kDoneBeforeRead) && !request.reported) {
    report(request, CompletionKind::kDone, ginSuccess, {});
  }
  split(request);
}

// A completion says that the source is reusable, no more: so it may come before anything is sent.
void AdversaryEndpoint::complete_early(Request& request) {
  if (options_.fault == AdversaryFault::kDoneByCount) return;
  WorkRequest& work = request.work;
  if (!work.inline_data && work.bytes != 0) {
    if (work.bytes > kCopyBytes || free_copies_.empty()) return;
    request.copy = free_copies_.back();
    free_copies_.pop_back();
    char* const to = copies_.get() + static_cast<std::uint64_t>(request.copy) * kCopyBytes;
    std::memcpy(to, work.local, work.bytes);
    work.local = to;
    work.local_region = copies_region_.get();
  }
  report(request, CompletionKind::kDone, ginSuccess, {});
}

// The immediate goes with the last piece.  That it arrives last is the inner transport's order.
void AdversaryEndpoint::split(Request& request) {
  const WorkRequest& work = request.work;
  const bool can = (work.op == WorkOp::kWrite || work.op == WorkOp::kRead ||
                    (work.op == WorkOp::kWriteImmediate && inner_ordered_)) &&
                   !work.inline_data && options_.split_bytes != 0 &&
                   work.bytes > options_.split_bytes && one_in(3);
  if (!can) {
    request.pieces.push_back(work);
    return;
  }
  std::vector<std::uint64_t> cuts = {0, work.bytes};
  for (std::uint64_t n = 1 + random_() % 3; n != 0; --n) cuts.push_back(random_() % work.bytes);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    WorkRequest piece = work;
    piece.local = static_cast<const char*>(work.local) + cuts[i];
    piece.remote_address += cuts[i];
    piece.bytes = cuts[i + 1] - cuts[i];
    request.pieces.push_back(piece);
  }
  std::shuffle(request.pieces.begin(), request.pieces.end(), random_);
  if (work.op != WorkOp::kWriteImmediate) return;
  for (std::size_t i = 0; i + 1 < request.pieces.size(); ++i) {
    request.pieces[i].op = WorkOp::kWrite;
  }
}

bool AdversaryEndpoint::goes_behind(const WorkRequest& later, const WorkRequest& earlier) const {
  if (later.peer != earlier.peer || earlier.op == WorkOp::kRead) return false;
  switch (options_.mode) {
    case SignalMode::kSequence:
      return false;
    case SignalMode::kRecord:
      return later.op == WorkOp::kSend && !is_atomic(earlier.op);
    case SignalMode::kAtomic:
      return later.op == WorkOp::kSend || is_atomic(later.op);
  }
  return true;
}

bool AdversaryEndpoint::may_go(const Request& request) {
  bool free = true;
  for (const Request& earlier : held_) {
    if (earlier.number >= request.number) break;
    free = free && !goes_behind(request.work, earlier.work);
  }
  return free || strikes(AdversaryFault::kSendBeforeWrites);
}

// True when nothing of it is left here.
bool AdversaryEndpoint::send_out(Requests::iterator it) {
  Request& request = *it;
  const bool send = request.work.op == WorkOp::kSend;
  if (send && strikes(AdversaryFault::kLoseSend)) {
    if (!request.reported) report(request, CompletionKind::kDone, ginSuccess, {});
    std::erase(unreported_, request.number);
    held_.erase(it);
    return true;
  }
  if (send && request.pieces.size() == 1 && strikes(AdversaryFault::kDoubleSend)) {
    request.pieces.push_back(request.pieces.front());
  }
  while (!request.pieces.empty()) {
    WorkRequest piece = request.pieces.front();
    piece.id = request.number;
    if (inner_->post({&piece, 1}) == 0) return false;
    request.pieces.erase(request.pieces.begin());
    ++request.below;
  }
  under_way_.emplace(request.number, std::move(request));
  held_.erase(it);
  return true;
}

void AdversaryEndpoint::release() {
  if (held_.empty()) return;
  // What comes due meanwhile goes together.
  if (pauses_ < kMostPauses && one_in(3)) {
    ++pauses_;
    return;
  }
  pauses_ = 0;
  std::vector<std::uint64_t> order;
  for (const Request& request : held_) {
    if (request.due <= polls_) order.push_back(request.number);
  }
  std::shuffle(order.begin(), order.end(), random_);
  std::vector<PeerHandle> full;
  for (const std::uint64_t number : order) {
    const auto it = std::find_if(held_.begin(), held_.end(),
                                 [number](const Request& r) { return r.number == number; });
    // A peer that takes nothing holds up no other.
    const PeerHandle peer = it->work.peer;
    if (std::find(full.begin(), full.end(), peer) != full.end()) continue;
    if (may_go(*it) && !send_out(it)) full.push_back(peer);
  }
}

void AdversaryEndpoint::report(Request& request, CompletionKind kind, ginResult_t code,
                               std::string_view text) {
  request.reported = true;
  Report& r = reports_.emplace_back();
  r.completion.kind = kind;
  r.completion.id = request.work.id;
  r.completion.code = code;
  r.text = text;
}

void AdversaryEndpoint::finished(std::uint64_t number, const Completion& c) {
  const bool done = c.kind == CompletionKind::kDone;
  auto found = under_way_.find(number);
  Request* request = found != under_way_.end() ? &found->second : nullptr;
  if (request == nullptr) {  // some of its pieces are still held
    for (Request& held : held_) {
      if (held.number == number) request = &held;
    }
  }
  --request->below;
  // An error behind an early completion has nobody left to hear of it, as on a network that loses
  // what it has taken: whoever waits for an answer notices.
  if (!done && !request->reported) report(*request, c.kind, c.code, c.error);
  if (request->below != 0 || !request->pieces.empty()) return;
  if (!request->reported) {
    if (options_.fault == AdversaryFault::kDoneByCount && !unreported_.empty() &&
        unreported_.front() != number) {
      // The oldest is told done in this one's place, and this one later in another's.
      const std::uint64_t oldest = unreported_.front();
      for (Request& held : held_) {
        if (held.number == oldest) std::swap(held.work.id, request->work.id);
      }
      if (const auto other = under_way_.find(oldest); other != under_way_.end()) {
        std::swap(other->second.work.id, request->work.id);
      }
    }
    report(*request, CompletionKind::kDone, ginSuccess, {});
  }
  retire(number);
}

void AdversaryEndpoint::retire(std::uint64_t number) {
  const auto found = under_way_.find(number);
  if (found->second.copy >= 0) free_copies_.push_back(found->second.copy);
  std::erase(unreported_, number);
  under_way_.erase(found);
}

void AdversaryEndpoint::hear() {
  std::array<Completion, kBatch> completions;
  const std::size_t n = inner_->poll(completions);
  for (std::size_t i = 0; i < n; ++i) {
    const Completion& c = completions[i];
    if (c.kind == CompletionKind::kDone || c.kind == CompletionKind::kFailed) {
      finished(c.id, c);
      continue;
    }
    Report& r = reports_.emplace_back();
    r.completion = c;
    if (c.kind == CompletionKind::kReceived) std::memcpy(r.data.data(), c.data, c.bytes);
  }
}

std::size_t AdversaryEndpoint::poll(std::span<Completion> completions) {
  ++polls_;
  release();
  hear();
  // Completions of ours in any order and at any time; what came from peers in its order.
  handed_out_.clear();
  handed_out_.reserve(completions.size());
  std::vector<Report> kept;
  for (Report& r : reports_) {
    const bool ours =
        r.completion.kind == CompletionKind::kDone || r.completion.kind == CompletionKind::kFailed;
    const bool later = ours && r.deferred < kMostPauses && one_in(3);
    if (handed_out_.size() == completions.size() || later) {
      ++r.deferred;
      kept.push_back(std::move(r));
    } else {
      handed_out_.push_back(std::move(r));
    }
  }
  reports_ = std::move(kept);
  for (std::size_t i = 0; i < handed_out_.size(); ++i) {
    Report& r = handed_out_[i];
    completions[i] = r.completion;
    completions[i].error = r.text;
    if (r.completion.kind == CompletionKind::kReceived) completions[i].data = r.data.data();
  }
  std::erase_if(removed_, [this](PeerHandle peer) {
    const auto there = [peer](const Request& r) { return r.work.peer == peer; };
    const bool busy = std::any_of(held_.begin(), held_.end(), there) ||
                      std::any_of(under_way_.begin(), under_way_.end(),
                                  [&](const auto& u) { return there(u.second); });
    if (!busy) inner_->remove_peer(peer);
    return !busy;
  });
  return handed_out_.size();
}

bool AdversaryEndpoint::prepare_wait() {
  return held_.empty() && reports_.empty() && removed_.empty() && inner_->prepare_wait();
}

}  // namespace gind
