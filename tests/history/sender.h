// SPDX-License-Identifier: Apache-2.0
// The sending side of a stream: carries out the plan, and overwrites the source of each put as soon
// as the put's local completion is promised.
#pragma once

#include "events.h"

namespace gind::test::order {

// What a sender does wrong on purpose, for a checker that must see it.
enum class Flaw : std::uint8_t { kNone, kSignalFirst, kWeakForStrong, kEagerReuse };

struct SenderState {
  std::uint64_t next = 0;
  std::uint64_t fetched = 0;  // sum of the addends of fetchAdds so far
  std::uint64_t puts = 0;     // that took a source buffer
  struct Buffer {
    bool busy;
    Reuse reuse;
    std::uint64_t counted;  // puts with a counter from it so far
    ginRequest_t request;
  } buffer[kSources] = {};
  std::uint64_t quiet = 0;  // operations behind the latest quiet
  bool posted = false;      // operation `next` is posted and waits for its local completion
  ginResult_t error = ginSuccess;
};

// The action of a step, chosen when it runs: a type for each would multiply the kernels' code.
struct Action {
  Word word;
  ginSignal_t signal;
  std::uint64_t offset;
  std::uint64_t addend;
  ginWindow_t window;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    switch (word) {
      case Word::kStrong:
        return ginSignalAdd{signal, addend}.apply(d);
      case Word::kMixed:
        return addend == 1 ? ginSignalInc{signal}.apply(d) : ginSignalAdd{signal, addend}.apply(d);
      case Word::kVaStrong:
        return ginVASignalAdd{window, offset, addend}.apply(d);
      case Word::kWeak:
        return ginWeakSignalAdd{signal, addend}.apply(d);
      case Word::kVaWeak:
        return ginWeakVASignalAdd{window, offset, addend}.apply(d);
      default:
        return ginNoRemoteAction{}.apply(d);
    }
  }
};
struct LocalAction {
  bool counts;
  ginCounter_t counter;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    if (counts) ginCounterInc{counter}.apply(d);
  }
};

class Sender {
 public:
  // patient: waits for what it needs; else it looks and comes back, and the ring must have room for
  // all streams' windows.
  GIN_HOST_DEVICE Sender(const Place& place, SenderState& state, Log<SenderEvent>& log,
                         bool patient, Flaw flaw = Flaw::kNone)
      : p_(place),
        s_(state),
        log_(log),
        patient_(patient),
        flaw_(flaw),
        ctx_(p_.comm, static_cast<int>(p_.stream.context)) {}

  // The next thing, if it can be done now.  All threads of the coop call it.  Never waits but for
  // room in the ring; `options` bound that.
  template <typename Coop>
  GIN_HOST_DEVICE Progress step(Coop coop, ginWaitOptions options = {}) {
    if (s_.error != ginSuccess) return Progress::kFailed;
    if (s_.next == p_.operations) return Progress::kDone;
    const std::uint64_t i = s_.next;
    // The coop decides alike: each value is read by one.
    const std::uint64_t confirmed =
        coop.broadcast(ctx_.readSignal(Layout::confirmed(p_.stream.target)));
    if (i >= confirmed + kWindow) return Progress::kIdle;
    const Step step = p_.stream.step(i);
    coop.sync();
    switch (step.kind) {
      case Kind::kPut:
        return put(coop, i, step, options);
      case Kind::kPutValue:
        return end(coop, put_value(coop, i, step, options));
      case Kind::kSignal:
        return end(coop, signal(coop, step, options));
      case Kind::kFetchAdd:
        return fetch_add(coop, i, step, options);
      case Kind::kGet:
        return get(coop, i, step, options);
      case Kind::kQuiet:
        return quiet(coop, i, options);
    }
    return Progress::kFailed;
  }

 private:
  GIN_HOST_DEVICE ginWaitOptions bounds(const ginWaitOptions& options) const {
    return patient_ ? options : ginWaitOptions{1, nullptr};
  }
  GIN_HOST_DEVICE ginTeam_t world() const { return ginTeamWorld(p_.comm); }
  GIN_HOST_DEVICE int to() const { return static_cast<int>(p_.stream.target); }

  template <typename Coop>
  GIN_HOST_DEVICE Progress end(Coop coop, ginResult_t result) {
    coop.sync();
    if (coop.thread_rank() == 0) {
      if (result != ginSuccess) {
        s_.error = result;
        log_.add(SenderEvent{Seen::kError, s_.next, static_cast<std::uint64_t>(result)});
      } else {
        ++s_.next;
        s_.posted = false;
      }
    }
    coop.sync();
    return result == ginSuccess ? Progress::kMoved : Progress::kFailed;
  }

  GIN_HOST_DEVICE Action action_of(const Step& step) const {
    Word word = step.word;
    if (word == Word::kStrong && flaw_ == Flaw::kWeakForStrong) word = Word::kWeak;
    return Action{word, Layout::signal(p_.stream.source, step.word),
                  p_.layout.va(p_.stream.source, p_.stream.context, step.word), step.addend,
                  p_.window};
  }
  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t signal(Coop coop, const Step& step, ginWaitOptions options) const {
    if (step.word == Word::kNone) return ginSuccess;
    return ctx_.signal(world(), to(), action_of(step), coop, options);
  }

  // Whether a buffer may be overwritten: 1 yes, 0 not yet, -1 failed.
  template <typename Coop>
  GIN_HOST_DEVICE int reusable(Coop coop, std::uint64_t k, const ginWaitOptions& options,
                               ginResult_t* error) {
    SenderState::Buffer& b = s_.buffer[k];
    if (!b.busy || flaw_ == Flaw::kEagerReuse) return 1;
    ginResult_t looked = ginSuccess;
    switch (b.reuse) {
      case Reuse::kCounter: {
        const std::uint64_t done =
            coop.broadcast(ctx_.readCounter(Layout::counter(p_.stream.target, k)));
        looked = done >= b.counted ? ginSuccess : ginTimeout;
        break;
      }
      case Reuse::kFlush:
        looked = ctx_.flush(coop, bounds(options));
        break;
      case Reuse::kRequest:
        looked = ctx_.wait(b.request, coop, bounds(options));
        break;
    }
    *error = looked;
    return looked == ginSuccess                                                ? 1
           : looked == ginTimeout && !(patient_ && b.reuse != Reuse::kCounter) ? 0
                                                                               : -1;
  }

  template <typename Coop>
  GIN_HOST_DEVICE Progress put(Coop coop, std::uint64_t i, const Step& step,
                               ginWaitOptions options) {
    const std::uint64_t k = s_.puts % kSources;
    ginResult_t error = ginSuccess;
    const int may = reusable(coop, k, options, &error);
    if (may < 0) return end(coop, error);
    if (may == 0) return Progress::kIdle;
    const std::uint64_t source = p_.layout.buffer(p_.stream.target, p_.stream.context, k);
    const std::uint64_t slot = p_.layout.slot(p_.stream.source, p_.stream.context, i);
    std::uint64_t* const data = p_.at(source);
    for (std::uint64_t w = coop.thread_rank(); w < step.bytes / 8; w += coop.size()) {
      data[w] = p_.stream.stamp(i, w);
    }
    const bool early = flaw_ == Flaw::kSignalFirst;
    if (early) {
      const ginResult_t signalled = signal(coop, step, options);
      if (signalled != ginSuccess) return end(coop, signalled);
    }
    const bool counts = step.reuse == Reuse::kCounter;
    Action action = action_of(step);
    if (early) action.word = Word::kNone;
    ginResult_t result = ctx_.put(world(), to(), p_.window, slot, p_.window, source, step.bytes,
                                  action, LocalAction{counts, Layout::counter(p_.stream.target, k)},
                                  coop, ginFenceDefault, options);
    ginRequest_t request{};
    if (result == ginSuccess && step.reuse == Reuse::kRequest) {
      result = ctx_.flushAsync(world(), to(), &request, coop);
    }
    coop.sync();
    if (coop.thread_rank() == 0) {
      SenderState::Buffer& b = s_.buffer[k];
      b.busy = true;
      b.reuse = step.reuse;
      b.request = request;
      if (counts) ++b.counted;
      ++s_.puts;
    }
    return end(coop, result);
  }

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t put_value(Coop coop, std::uint64_t i, const Step& step,
                                        ginWaitOptions options) {
    const std::uint64_t slot = p_.layout.slot(p_.stream.source, p_.stream.context, i);
    return ctx_.putValue(world(), to(), p_.window, slot, p_.stream.stamp(i, 0), action_of(step),
                         coop, options);
  }

  template <typename Coop, typename Post>
  GIN_HOST_DEVICE Progress post_and_flush(Coop coop, const ginWaitOptions& options, Post&& post,
                                          bool* complete) {
    *complete = false;
    if (!s_.posted) {
      const ginResult_t result = post();
      if (result != ginSuccess) return end(coop, result);
      coop.sync();
      if (coop.thread_rank() == 0) s_.posted = true;
      coop.sync();
      return Progress::kMoved;
    }
    const ginResult_t done = ctx_.flush(coop, bounds(options));
    if (done == ginTimeout && !patient_) return Progress::kIdle;
    if (done != ginSuccess) return end(coop, done);
    *complete = true;
    return Progress::kMoved;
  }

  template <typename Coop>
  GIN_HOST_DEVICE Progress fetch_add(Coop coop, std::uint64_t i, const Step& step,
                                     ginWaitOptions options) {
    const std::uint64_t old = p_.layout.old_value(p_.stream.target, p_.stream.context);
    const std::uint64_t va = p_.layout.va(p_.stream.source, p_.stream.context, Word::kFetched);
    bool complete = false;
    const Progress p = post_and_flush(
        coop, options,
        [&] {
          return ctx_.fetchAdd(world(), to(), p_.window, va, step.addend, p_.window, old, coop,
                               ginFenceDefault, options);
        },
        &complete);
    if (!complete) return p;
    if (coop.thread_rank() == 0) {
      log_.add(SenderEvent{Seen::kOldValue, i, *const_cast<volatile std::uint64_t*>(p_.at(old))});
      s_.fetched += step.addend;
    }
    return end(coop, ginSuccess);
  }

  template <typename Coop>
  GIN_HOST_DEVICE Progress get(Coop coop, std::uint64_t i, const Step& step,
                               ginWaitOptions options) {
    const std::uint64_t landing = p_.layout.landing(p_.stream.target, p_.stream.context);
    volatile std::uint64_t* const data = p_.at(landing);
    bool complete = false;
    const Progress p = post_and_flush(
        coop, options,
        [&] {
          for (std::uint64_t w = coop.thread_rank(); w < step.bytes / 8; w += coop.size()) {
            data[w] = 0;
          }
          return ctx_.get(world(), to(), p_.window, p_.layout.kept(), p_.window, landing,
                          step.bytes, coop, ginFenceDefault, options);
        },
        &complete);
    if (!complete) return p;
    if (coop.thread_rank() == 0) {
      std::uint64_t wrong = 0;
      for (std::uint64_t w = 0; w < step.bytes / 8; ++w) {
        wrong += data[w] != Stream::kept(p_.stream.seed, p_.stream.target, w);
      }
      log_.add(SenderEvent{Seen::kGet, i, wrong});
    }
    return end(coop, ginSuccess);
  }

  // Rule 4: behind a quiet another context may tell of this one's operations.
  template <typename Coop>
  GIN_HOST_DEVICE Progress quiet(Coop coop, std::uint64_t i, ginWaitOptions options) {
    const ginResult_t done = ctx_.quiet(coop, bounds(options));
    if (done == ginTimeout && !patient_) return Progress::kIdle;
    if (done != ginSuccess) return end(coop, done);
    const ginContext next{p_.comm, static_cast<int>((p_.stream.context + 1) % p_.layout.contexts)};
    // The value is what was posted before the quiet; only this stream adds to it.
    const std::uint64_t behind = i - s_.quiet;
    const ginResult_t told = next.signal(
        world(), to(), ginWeakSignalAdd{Layout::quiet(p_.stream.source), behind}, coop, options);
    coop.sync();
    if (coop.thread_rank() == 0 && told == ginSuccess) s_.quiet = i;
    return end(coop, told);
  }

  const Place& p_;
  SenderState& s_;
  Log<SenderEvent>& log_;
  bool patient_;
  Flaw flaw_;
  const ginContext ctx_;
};

}  // namespace gind::test::order
