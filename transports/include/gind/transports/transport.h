// SPDX-License-Identifier: Apache-2.0
// What gind needs of a fabric.  A Transport is a gind's access to one fabric; each proxy thread has
// an Endpoint of its own and is the only thread that calls it.  Signals, flush and counters are
// built above (daemon/proxy), out of writes, sends, immediate data and atomics.
#pragma once

#include "gind/common/result.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gind {

// How a signal follows its data on a fabric (docs/signals.md).
enum class SignalMode : std::uint8_t {
  kRecord,    // ordered: write, then a send of a 32-byte record; the target's gind applies it
  kAtomic,    // ordered with atomics: write, then a fetch-add; the NIC applies it
  kSequence,  // unordered: writes carry a sequence number as immediate; a record refers to them
};

// "record", "atomic" or "sequence".
std::string_view signal_mode_name(SignalMode mode);

struct TransportCaps {
  std::string name;            // "ofi", "loopback", "verbs"
  std::string provider;        // as the fabric calls it, e.g. "tcp;ofi_rxm"
  bool ordered_sends = false;  // a send is delivered after the earlier writes to that peer landed
  bool ordered_atomics =
      false;             // an atomic is applied after the earlier writes to that peer landed
  bool atomics = false;  // 8-byte fetch-add and compare-swap at the target
  std::uint32_t immediate_bytes = 0;             // remote immediate data with a write; 0: none
  std::uint32_t inline_bytes = 0;                // largest payload copied at post time
  std::uint64_t max_write_bytes = 0;             // largest single write
  bool device_memory = false;                    // dma-buf registration
  bool delivery_complete = false;                // a completion can mean "visible at the target"
  bool waitable = false;                         // Endpoint::wait_fd() works
  SignalMode signal_mode = SignalMode::kRecord;  // the one to use
};

enum AccessFlags : std::uint32_t {
  kAccessLocal = 0,  // source of writes
  kAccessRemoteWrite = 1,
  kAccessRemoteRead = 2,
  kAccessRemoteAtomic = 4,
};

// A registered range.  Deregistered on destruction, which must come after every operation that
// uses it has completed.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  // What peers use: the remote address of the range's first byte (0 on fabrics with offsets) and
  // its key.
  virtual std::uint64_t remote_address() const = 0;
  virtual std::uint64_t remote_key() const = 0;
};

using PeerHandle = std::uint32_t;  // given by Endpoint::add_peer; meaningful to that endpoint only

enum class WorkOp : std::uint8_t {
  kWrite,
  kWriteImmediate,
  kRead,
  kSend,
  kFetchAdd,
  kCompareSwap,
};

// One operation for a fabric.  Every request that post() has taken ends in exactly one Completion
// with its `id`, also on error.
struct WorkRequest {
  WorkOp op = WorkOp::kWrite;
  bool inline_data = false;  // take a copy of the payload now (bytes <= inline_bytes)
  PeerHandle peer = 0;
  std::uint32_t immediate = 0;           // kWriteImmediate
  const void* local = nullptr;           // payload, or where a read or an atomic's old value goes
  MemoryRegion* local_region = nullptr;  // null: inline_data, or memory that needs no registration
  std::uint64_t bytes = 0;               // 0 is allowed for writes
  std::uint64_t remote_address = 0;
  std::uint64_t remote_key = 0;
  std::uint64_t operand = 0;  // kFetchAdd: the addend; kCompareSwap: the new value
  std::uint64_t compare = 0;  // kCompareSwap
  std::uint64_t id = 0;       // returned in the completion
};

enum class CompletionKind : std::uint8_t {
  kDone,       // a request of ours has completed: its source is reusable
  kFailed,     // a request of ours failed; `error` says why
  kReceived,   // a peer's send arrived: `data`, `bytes`; valid until the next poll()
  kImmediate,  // a peer's kWriteImmediate has landed: `immediate`
};

struct Completion {
  CompletionKind kind = CompletionKind::kDone;
  std::uint64_t id = 0;
  std::uint32_t immediate = 0;
  const void* data = nullptr;
  std::uint32_t bytes = 0;
  ginResult_t code = ginSuccess;  // kFailed
  std::string_view error;         // kFailed: static or valid until the next poll()
};

inline constexpr std::uint32_t kMaxSendBytes = 64;  // payload of a kSend

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // What a peer's endpoint passes to add_peer.
  virtual std::vector<std::uint8_t> address() const = 0;
  virtual Result<PeerHandle> add_peer(std::span<const std::uint8_t> address) = 0;
  // Outstanding requests to it complete or fail first; none may be posted afterwards.
  virtual void remove_peer(PeerHandle peer) = 0;

  // Takes requests in order until one does not fit (a full provider queue is back-pressure, not
  // an error) and returns how many it took.  A request that fails at once counts as taken and
  // completes as kFailed.
  virtual std::size_t post(std::span<const WorkRequest> requests) = 0;
  // Makes progress, and fills up to completions.size() entries; returns how many.
  virtual std::size_t poll(std::span<Completion> completions) = 0;

  // An fd that becomes readable when poll() has something to do; -1 when !caps.waitable.
  virtual int wait_fd() const { return -1; }
  // Before sleeping on wait_fd(): false means "poll again first, do not sleep".
  virtual bool prepare_wait() { return true; }
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const TransportCaps& caps() const = 0;
  // Thread safe.  `access` is a union of AccessFlags.
  virtual Result<std::unique_ptr<MemoryRegion>> register_memory(void* address, std::uint64_t bytes,
                                                                std::uint32_t access) = 0;
  // GPU memory that was exported as a dma-buf: [offset, offset + bytes) of it, which the process
  // that owns it sees at `address`.  A request names this memory by that address (`local`), which
  // nobody here may follow.  The fd may be closed afterwards.  Thread safe.
  // Errors: ginNotSupported (this fabric, or the device, registers no GPU memory), ginSystemError.
  virtual Result<std::unique_ptr<MemoryRegion>> register_dmabuf(int fd, std::uint64_t offset,
                                                                std::uint64_t bytes,
                                                                std::uint64_t address,
                                                                std::uint32_t access);
  virtual Result<std::unique_ptr<Endpoint>> open_endpoint() = 0;
};

}  // namespace gind
