// SPDX-License-Identifier: Apache-2.0
// What the collectives share: their arguments, how work is divided, and one exchange of all ranks
// with all.  docs/collectives.md says why they are safe.
#pragma once

#include "gin/device.cuh"

#include <cstdint>

// A call costs nothing beside a trip over the bus; inlined into every collective of every type, the
// operations would take the compiler minutes.
#if defined(__CUDA_ARCH__)
#define GIN_KERNELS_CALL GIN_HOST_DEVICE __noinline__
#else
#define GIN_KERNELS_CALL GIN_HOST_DEVICE
#endif

namespace gin::kernels {

// One block's part of a collective call.  All ranks give the same values, except options.  Block b
// of `blocks` works on its own share of the elements, on context first_context + b, which nobody
// else uses meanwhile.  Offsets are in bytes from the beginning of the window and multiples of the
// element's size.
//
// Blocks are only in step with the same block of the other ranks: between calls that divide the
// work differently (another count, kind or number of blocks) all blocks of a rank must have ended,
// as they have between two launches.  All blocks of all ranks must be able to run at the same time.
//
// Every collective returns when this rank's share of the result is there and its sources may be
// reused: ginSuccess, ginInvalidArgument (nothing was touched), or the error of the operation that
// failed.  After an error of an operation the barrier and the signals are out of step between the
// ranks: use others.
struct Collective {
  ginWindow_t window{};
  std::uint64_t send_at = 0;
  std::uint64_t receive_at = 0;
  std::uint64_t scratch_at = 0;  // written by peers during the call; of those that need it
  std::uint64_t count = 0;       // elements; of what, each collective says
  std::uint32_t block = 0;
  std::uint32_t blocks = 1;
  std::uint32_t first_context = 0;
  ginSignal_t first_signal =
      0;                      // nRanks of each context, one for each source; for collectives only
  std::uint32_t barrier = 0;  // of each context; for collectives only
  ginWaitOptions options{};
};

struct Sum {
  template <typename T>
  GIN_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  template <typename T>
  GIN_HOST_DEVICE T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

struct Part {
  std::uint64_t begin, count;
};
// Part i of `count` elements in `parts` parts; the first ones have one more where it does not
// divide.
GIN_HOST_DEVICE inline Part part_of(std::uint64_t count, std::uint64_t parts, std::uint64_t i) {
  const std::uint64_t each = count / parts;
  const std::uint64_t more = count % parts;
  return Part{i * each + (i < more ? i : more), each + (i < more ? 1 : 0)};
}
// The block's share of `count` elements.
GIN_HOST_DEVICE inline Part share_of(std::uint64_t count, const Collective& c) {
  return part_of(count, c.blocks, c.block);
}

// [at, at + n * bytes) lies in the window and begins at a multiple of `bytes`.
GIN_HOST_DEVICE inline bool fits(const ginWindow_t& window, std::uint64_t at, std::uint64_t n,
                                 std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(window.base) + at;
  return begin % bytes == 0 && at % bytes == 0 && at <= window.bytes &&
         n <= (window.bytes - at) / bytes;
}
// n * m elements; the largest value, which fits nowhere, where that overflows.
GIN_HOST_DEVICE inline std::uint64_t times(std::uint64_t n, std::uint64_t m) {
  return m != 0 && n > ~std::uint64_t{0} / m ? ~std::uint64_t{0} : n * m;
}
GIN_HOST_DEVICE inline bool apart(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b,
                                  std::uint64_t b_bytes) {
  return a + a_bytes <= b || b + b_bytes <= a;
}

// Bytes in the window, here and at the peer.
struct Transfer {
  std::uint64_t from, to, bytes;
};

template <typename Coop>
class Exchange {
 public:
  GIN_HOST_DEVICE Exchange(const ginDevComm_t& comm, Coop coop, const Collective& c)
      : comm_(comm),
        coop_(coop),
        c_(c),
        world_(ginTeamWorld(comm)),
        ctx_(comm, valid() ? static_cast<int>(c.first_context + c.block) : -1) {}

  GIN_HOST_DEVICE std::uint64_t rank() const { return static_cast<std::uint64_t>(comm_.rank); }
  GIN_HOST_DEVICE std::uint64_t ranks() const { return static_cast<std::uint64_t>(comm_.nRanks); }

  // What gind would refuse is refused before anything is posted, as it would put the context in
  // error.
  GIN_HOST_DEVICE bool valid() const {
    return c_.blocks != 0 && c_.block < c_.blocks && c_.first_context < comm_.contexts &&
           c_.block < comm_.contexts - c_.first_context && c_.first_signal <= comm_.signals &&
           ranks() <= comm_.signals - c_.first_signal && c_.barrier < comm_.barriers;
  }

  // All ranks have entered this call, so none still reads what is written from here on: the result
  // or the scratch of the call before.  That is all that the collectives need between two calls; no
  // fence, as every datum is awaited by its own signal.
  GIN_KERNELS_CALL ginResult_t begin() const {
    const ginBarrierSession<Coop> all(coop_, ctx_, world_, c_.barrier);
    return all.sync(coop_, ginOrderRelaxed, ginBarrierFenceNone, c_.options);
  }

  // Puts to every rank, the caller too, what transfer(peer) says, each with a signal of this rank's
  // own.  What the coop has written before is sent.
  template <typename F>
  GIN_HOST_DEVICE ginResult_t put_to_all(F transfer) const {
    coop_.sync();  // each poster releases what all have written
    const bool shared = comm_.sharing == ginSharingShared;  // else one thread posts
    const std::uint64_t step = shared ? coop_.size() : 1;
    std::uint32_t result = ginSuccess;
    if (shared || coop_.thread_rank() == 0) {
      for (std::uint64_t i = coop_.thread_rank(); i < ranks() && result == ginSuccess; i += step) {
        result = put(behind(i), transfer(behind(i)));
      }
    }
    return static_cast<ginResult_t>(coop_.largest(result));
  }

  // What all ranks have put to this one in this exchange is there, for the whole coop.  The shadows
  // count the exchanges, so that no signal is ever reset; a peer may be ahead by one.
  GIN_KERNELS_CALL ginResult_t await_all() const {
    std::uint32_t result = ginSuccess;
    for (std::uint64_t i = coop_.thread_rank(); i < ranks() && result == ginSuccess;
         i += coop_.size()) {
      const auto signal = static_cast<ginSignal_t>(c_.first_signal + behind(i));
      result = ctx_.increaseSignalShadow(signal, 1);
      if (result != ginSuccess) break;
      result = ctx_.waitSignalMeetShadow(ginCoopThread{}, signal, 64, c_.options);
    }
    return static_cast<ginResult_t>(coop_.largest(result));
  }

  // The sources may be reused.
  GIN_KERNELS_CALL ginResult_t flush() const { return ctx_.flush(coop_, c_.options); }

 private:
  GIN_KERNELS_CALL ginResult_t put(std::uint64_t peer, const Transfer& t) const {
    const ginSignalInc arrived{c_.first_signal + static_cast<ginSignal_t>(rank())};
    return ctx_.put(world_, static_cast<int>(peer), c_.window, t.to, c_.window, t.from, t.bytes,
                    arrived, ginNoLocalAction{}, ginCoopThread{}, ginFenceDefault, c_.options);
  }
  // Each rank begins with the one behind it, so that not all put to the same one at a time.
  GIN_HOST_DEVICE std::uint64_t behind(std::uint64_t i) const { return (rank() + 1 + i) % ranks(); }

  const ginDevComm_t& comm_;
  Coop coop_;
  const Collective& c_;
  ginTeam_t world_;
  ginContext ctx_;
};

}  // namespace gin::kernels
