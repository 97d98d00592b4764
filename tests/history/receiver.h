// SPDX-License-Identifier: Apache-2.0
// The receiving side of a stream: looks, writes down what it saw, and confirms to the sender what
// has come whole, so that its slots may be used again.
#pragma once

#include "events.h"

namespace gind::test::order {

struct ReceiverState {
  std::uint64_t confirmed = 0;
  std::uint64_t base[kWords] = {};  // what each word is when just the confirmed ones are in it
  std::uint64_t looks = 0;
  Observation last = {};
  ginResult_t error = ginSuccess;
};

// Operations of a window whose increments of `word` have arrived, as bits from `confirmed` on; of
// kMixed, which has no bits of its own, the longest row of increments that give the value.
GIN_HOST_DEVICE inline std::uint64_t arrived(const Stream& stream, std::uint64_t operations,
                                             Word word, std::uint64_t confirmed, std::uint64_t base,
                                             std::uint64_t value) {
  const std::uint64_t more = value - base;
  if (word != Word::kMixed) {
    const auto turn = static_cast<unsigned>(confirmed % 64);
    return turn == 0 ? more : more >> turn | more << (64 - turn);
  }
  std::uint64_t bits = 0;
  std::uint64_t sum = 0;
  for (std::uint64_t k = 0; k < kWindow && confirmed + k < operations && sum < more; ++k) {
    const Step step = stream.step(confirmed + k);
    if (step.word != Word::kMixed) continue;
    sum += step.addend;
    bits |= std::uint64_t{1} << k;
  }
  return bits;
}

class Receiver {
 public:
  GIN_HOST_DEVICE Receiver(const Place& place, ReceiverState& state, Log<Observation>& log)
      : p_(place), s_(state), log_(log) {}

  // One look; all threads of the coop call it.  Never waits but for room in the ring.
  // `scratch`: memory that the coop shares, of two words.
  template <typename Coop>
  GIN_HOST_DEVICE Progress look(Coop coop, std::uint64_t* scratch, ginWaitOptions options = {}) {
    if (s_.error != ginSuccess) return Progress::kFailed;
    if (s_.confirmed == p_.operations) return Progress::kDone;
    const ginContext ctx{p_.comm, static_cast<int>(p_.stream.context)};
    const bool leader = coop.thread_rank() == 0;
    Observation seen{};
    if (leader) {
      seen = read_words(ctx);
      scratch[0] = scratch[1] = 0;
    }
    // Rule 6: what the words vouch for is visible to all of the coop behind this wait.  For the
    // mixed signal: the others may move by half their range meanwhile.
    const ginSignal_t mixed = Layout::signal(p_.stream.source, Word::kMixed);
    const std::uint64_t reached = coop.broadcast(seen.word[static_cast<int>(Word::kMixed)]);
    const ginResult_t waited = ctx.waitSignal(coop, mixed, reached, 64, options);
    const std::uint64_t confirmed = s_.confirmed;
    for (std::uint64_t k = coop.thread_rank(); k < kWindow; k += coop.size()) {
      look_at(confirmed + k, std::uint64_t{1} << k, scratch);
    }
    coop.sync();
    Progress progress = Progress::kIdle;
    if (leader) {
      seen.visible = scratch[0];
      seen.foreign = scratch[1];
      progress = waited == ginSuccess ? take(ctx, seen, options) : fail(waited);
    }
    return static_cast<Progress>(coop.broadcast(static_cast<std::uint64_t>(progress)));
  }

 private:
  GIN_HOST_DEVICE Progress fail(ginResult_t result) {
    s_.error = result;
    return Progress::kFailed;
  }

  GIN_HOST_DEVICE std::uint64_t read(const ginContext& ctx, Word word) const {
    const std::uint32_t source = p_.stream.source;
    switch (word) {
      case Word::kStrong:
      case Word::kMixed:
      case Word::kWeak:
        return ctx.readSignal(Layout::signal(source, word));
      default:
        return ctx.readSignal(p_.window, p_.layout.va(source, p_.stream.context, word));
    }
  }

  GIN_HOST_DEVICE Observation read_words(const ginContext& ctx) const {
    Observation seen{};
    seen.confirmed = s_.confirmed;
    seen.first = s_.looks % kStrongWords;
    const ginContext next{p_.comm, static_cast<int>((p_.stream.context + 1) % p_.layout.contexts)};
    seen.quiet = next.readSignal(Layout::quiet(p_.stream.source));
    for (int n = 0; n < kWords; ++n) {
      const int w = n < kStrongWords ? static_cast<int>((seen.first + n) % kStrongWords) : n;
      seen.word[w] = read(ctx, static_cast<Word>(w));
    }
    return seen;
  }

  GIN_HOST_DEVICE static void set(std::uint64_t* word, std::uint64_t bit) {
#if defined(__CUDA_ARCH__)
    atomicOr(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(bit));
#else
    *word |= bit;
#endif
  }

  GIN_HOST_DEVICE void look_at(std::uint64_t i, std::uint64_t bit, std::uint64_t* scratch) const {
    if (i >= p_.operations) return;
    const Step step = p_.stream.step(i);
    const bool lands = step.kind == Kind::kPut || step.kind == Kind::kPutValue;
    if (!lands) return set(&scratch[0], bit);
    const volatile std::uint64_t* data =
        p_.at(p_.layout.slot(p_.stream.source, p_.stream.context, i));
    for (std::uint64_t w = 0; w < step.bytes / 8; ++w) {
      const std::uint64_t found = data[w];
      if (found == p_.stream.stamp(i, w)) continue;
      // What the slot held before is of the last operation that reached so far into it.
      std::uint64_t before = i;
      bool known = false;
      while (before >= kWindow && !known) {
        before -= kWindow;
        const Step earlier = p_.stream.step(before);
        known = (earlier.kind == Kind::kPut || earlier.kind == Kind::kPutValue) &&
                w < earlier.bytes / 8;
      }
      if (found != (known ? p_.stream.stamp(before, w) : 0)) set(&scratch[1], bit);
      return;
    }
    set(&scratch[0], bit);
  }

  // Writes the look down and confirms what is whole.
  GIN_HOST_DEVICE Progress take(const ginContext& ctx, const Observation& seen,
                                ginWaitOptions options) {
    std::uint64_t in[kWords];
    bool changed = s_.looks == 0 || seen.visible != s_.last.visible ||
                   seen.quiet != s_.last.quiet || seen.confirmed != s_.last.confirmed;
    for (int w = 0; w < kWords; ++w) {
      in[w] = arrived(p_.stream, p_.operations, static_cast<Word>(w), s_.confirmed, s_.base[w],
                      seen.word[w]);
      changed |= seen.word[w] != s_.last.word[w];
    }
    ++s_.looks;
    if (!changed) return Progress::kIdle;
    s_.last = seen;
    if (!log_.add(seen)) return fail(ginLimitExceeded);
    std::uint64_t whole = 0;
    while (whole < kWindow && s_.confirmed + whole < p_.operations) {
      const std::uint64_t bit = std::uint64_t{1} << whole;
      const Step step = p_.stream.step(s_.confirmed + whole);
      if ((seen.visible & bit) == 0) break;
      if (step.word != Word::kNone) {
        const int w = static_cast<int>(step.word);
        if ((in[w] & bit) == 0) break;
        s_.base[w] += step.addend;
      }
      ++whole;
    }
    if (whole == 0) return Progress::kIdle;
    s_.confirmed += whole;
    const ginResult_t told = ctx.signal(ginTeamWorld(p_.comm), static_cast<int>(p_.stream.source),
                                        ginSignalAdd{Layout::confirmed(p_.stream.target), whole},
                                        ginCoopThread{}, options);
    return told == ginSuccess ? Progress::kMoved : fail(told);
  }

  const Place& p_;
  ReceiverState& s_;
  Log<Observation>& log_;
};

}  // namespace gind::test::order
