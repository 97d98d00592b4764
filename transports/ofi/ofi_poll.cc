// SPDX-License-Identifier: Apache-2.0
// Completions, from libfabric's to ours.
#include "ofi_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace gind {

void OfiEndpoint::finish(RequestSlot& slot) {
  Peer& peer = peers_[slot.peer];
  --peer.outstanding;
  if (peer.removed && peer.outstanding == 0) release(peer);
  requests_.put(slot);
}

bool OfiEndpoint::translate(const fi_cq_data_entry& entry, Completion& c) {
  c = Completion{};
  // The context of a remote write's completion is not ours, so its flags are asked first.
  if (!(entry.flags & FI_REMOTE_WRITE)) {
    if (RequestSlot* slot = requests_.find(entry.op_context)) {
      if (slot->result_to) std::memcpy(slot->result_to, &slot->result, sizeof slot->result);
      c.id = slot->id;
      finish(*slot);
      return true;
    }
  }
  const ReceiveSlot* received = receives_.find(entry.op_context);
  if (entry.flags & FI_REMOTE_CQ_DATA) {
    if (received && domain_->receive_for_immediate) receives_.retire(*received);
    c.kind = CompletionKind::kImmediate;
    c.immediate = static_cast<std::uint32_t>(entry.data);
    return true;
  }
  if (!received) return false;
  receives_.retire(*received);
  c.kind = CompletionKind::kReceived;
  c.data = received->data.data();
  c.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(entry.len, kMaxSendBytes));
  return true;
}

// False when it concerns no request of ours.
bool OfiEndpoint::read_error(Completion& c) {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(queue_.get(), &entry, 0) != 1) return false;
  if (RequestSlot* slot = requests_.find(entry.op_context)) {
    std::string text = fmt::format("{}: {}", domain_->name(), fi_strerror(entry.err));
    if (entry.prov_errno != 0) {
      std::array<char, 128> buffer{};
      const char* detail = fi_cq_strerror(queue_.get(), entry.prov_errno, entry.err_data,
                                          buffer.data(), buffer.size());
      if (detail && *detail) text += fmt::format(" ({})", detail);
    }
    texts_.push_back(std::move(text));
    c = Completion{};
    c.kind = CompletionKind::kFailed;
    c.id = slot->id;
    c.code = ginRemoteError;
    c.error = texts_.back();
    finish(*slot);
    return true;
  }
  // A receive that was cut short or cancelled carries nothing; its buffer goes back to work.
  if (const ReceiveSlot* received = receives_.find(entry.op_context)) receives_.retire(*received);
  return false;
}

std::size_t OfiEndpoint::poll_failures(std::span<Completion> completions) {
  std::size_t n = 0;
  for (; n < completions.size() && !failures_.empty(); failures_.pop_front()) {
    Failure& failure = failures_.front();
    texts_.push_back(std::move(failure.text));
    Completion& c = completions[n++];
    c = Completion{};
    c.kind = CompletionKind::kFailed;
    c.id = failure.id;
    c.code = failure.code;
    c.error = texts_.back();
  }
  return n;
}

std::size_t OfiEndpoint::poll(std::span<Completion> completions) {
  constexpr std::size_t kBatch = 64;
  constexpr int kMostErrors = 64;  // a poll() ends, whatever the provider reports
  if (!texts_.empty()) texts_.clear();
  if (!receives_.all_posted()) receives_.repost(endpoint_.get());
  std::size_t n = failures_.empty() ? 0 : poll_failures(completions);
  std::array<fi_cq_data_entry, kBatch> entries;
  for (int errors = 0; n < completions.size() && errors < kMostErrors;) {
    const std::size_t room = std::min(kBatch, completions.size() - n);
    const auto got = fi_cq_read(queue_.get(), entries.data(), room);
    if (got == -FI_EAVAIL) {
      ++errors;
      if (read_error(completions[n])) ++n;
      continue;
    }
    if (got <= 0) break;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i)
      if (translate(entries[i], completions[n])) ++n;
    if (static_cast<std::size_t>(got) < room) break;
  }
  return n;
}

}  // namespace gind
