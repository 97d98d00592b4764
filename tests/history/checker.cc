// SPDX-License-Identifier: Apache-2.0
#include "checker.h"

#include "receiver.h"

#include <bit>
#include <cstddef>

namespace gind::test::order {
namespace {

constexpr const char* kNames[kWords] = {"strong signal", "mixed strong signal", "strong VA signal",
                                        "fetchAdd word", "weak signal",         "weak VA signal"};

std::uint64_t below_bit(std::uint64_t k) {
  return k >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << k) - 1;
}

}  // namespace

std::string Verdict::text() const {
  std::string t = std::to_string(operations) + " operations, " + std::to_string(observations) +
                  " observations: " + (good() ? "all rules held" : "");
  if (!complete) t += "not all has arrived; ";
  for (const std::string& v : violations) t += v + "; ";
  return t;
}

Checker::Checker(const Stream& stream, std::uint64_t operations) : stream_(stream) {
  verdict_.operations = operations;
}

void Checker::violation(const std::string& text) {
  if (verdict_.violations.size() < kMostViolations) verdict_.violations.push_back(text);
}

std::string Checker::name(std::uint64_t operation) const {
  return "operation " + std::to_string(operation);
}

// The receiver says that it has confirmed so much; its looks so far must have shown it whole.
bool Checker::advance(std::uint64_t confirmed) {
  if (confirmed < confirmed_ || confirmed > verdict_.operations ||
      confirmed - confirmed_ > kWindow) {
    violation("log: the receiver confirmed " + std::to_string(confirmed) + " after " +
              std::to_string(confirmed_));
    return false;
  }
  for (; confirmed_ != confirmed; ++confirmed_) {
    const Step step = stream_.step(confirmed_);
    if (step.word != Word::kNone) base_[static_cast<int>(step.word)] += step.addend;
    for (std::uint64_t& bits : highest_) bits >>= 1;
  }
  return true;
}

void Checker::observe(const Observation& seen) {
  ++verdict_.observations;
  if (seen.first >= kStrongWords || !advance(seen.confirmed)) return;
  Window w{};
  for (std::uint64_t k = 0; k < kWindow && confirmed_ + k < verdict_.operations; ++k) {
    const Step step = stream_.step(confirmed_ + k);
    if (step.word != Word::kNone) w.mine[static_cast<int>(step.word)] |= std::uint64_t{1} << k;
  }
  for (int n = 0; n < kWords; ++n) {
    w.in[n] = arrived(stream_, verdict_.operations, static_cast<Word>(n), confirmed_, base_[n],
                      seen.word[n]);
  }
  check_words(seen, w);
  check_strong(seen, w);
  check_weak(seen, w);
  // Rule 4: behind a quiet everything is there, whoever tells of it.
  if (seen.quiet > confirmed_) vouched(seen, w, seen.quiet - confirmed_, -1, "rule 4: a quiet");
  last_ = seen;
}

// Each word holds the increments of some operations of its own, each once, and never fewer than
// before.
void Checker::check_words(const Observation& seen, const Window& w) {
  for (int n = 0; n < kWords; ++n) {
    const std::string what = std::string("rule 8: the ") + kNames[n];
    const std::uint64_t odd = w.in[n] & ~w.mine[n];
    if (odd != 0) {
      violation(what + " holds an increment of " +
                name(confirmed_ + static_cast<std::uint64_t>(std::countr_zero(odd))) +
                ", which makes none: one was lost, doubled or changed");
    }
    if (static_cast<Word>(n) == Word::kMixed) {
      std::uint64_t sum = base_[n];
      for (std::uint64_t k = 0; k < kWindow; ++k) {
        if (w.in[n] >> k & 1) sum += stream_.step(confirmed_ + k).addend;
      }
      if (sum != seen.word[n]) {
        violation(what + " is " + std::to_string(seen.word[n]) +
                  ", which no row of its increments gives: one was lost, doubled or overtaken");
      }
    }
    if ((highest_[n] & ~w.in[n]) != 0) violation(what + " went back");
    highest_[n] |= w.in[n];
  }
}

// What `by` vouches for: all operations below confirmed + `below`.  `position`: where it was read
// among the strong words; -1: before them.  Only what was read after it can be held against it.
void Checker::vouched(const Observation& seen, const Window& w, std::uint64_t below, int position,
                      const std::string& by) {
  const std::uint64_t all = below_bit(below);
  for (int n = 0; n < kWords; ++n) {
    const int read_at =
        n < kStrongWords ? (n - static_cast<int>(seen.first) + kStrongWords) % kStrongWords : n;
    if (read_at <= position) continue;
    const std::uint64_t lacking = w.mine[n] & all & ~w.in[n];
    if (lacking == 0) continue;
    violation(by + " is there before the " + kNames[n] + " of " +
              name(confirmed_ + static_cast<std::uint64_t>(std::countr_zero(lacking))));
    return;
  }
  const std::uint64_t lacking = all & ~seen.visible;
  if (lacking == 0) return;
  const auto k = static_cast<std::uint64_t>(std::countr_zero(lacking));
  if (confirmed_ + k >= verdict_.operations) return;
  const bool foreign = (seen.foreign >> k & 1) != 0;
  violation((foreign ? "rule 5 or flush: the source was not free yet, since " : "") + by +
            " is there, but the data of " + name(confirmed_ + k) +
            (foreign ? " is that of another" : " is not"));
}

void Checker::check_strong(const Observation& seen, const Window& w) {
  for (int n = 0; n < kStrongWords; ++n) {
    const std::uint64_t in = w.in[n] & w.mine[n];
    if (in == 0) continue;
    const auto k = static_cast<std::uint64_t>(63 - std::countl_zero(in));
    const int position = (n - static_cast<int>(seen.first) + kStrongWords) % kStrongWords;
    const std::string by = std::string("rule 2: the ") + kNames[n] + " of " + name(confirmed_ + k);
    const std::uint64_t earlier = w.mine[n] & below_bit(k) & ~in;
    if (earlier != 0) {
      violation(by + " is there before that of " +
                name(confirmed_ + static_cast<std::uint64_t>(std::countr_zero(earlier))));
    }
    vouched(seen, w, k + 1, position, by);
  }
}

void Checker::check_weak(const Observation& seen, const Window& w) {
  for (int n = kStrongWords; n < kWords; ++n) {
    const std::uint64_t lacking = w.in[n] & w.mine[n] & ~seen.visible;
    if (lacking == 0) continue;
    const auto k = static_cast<std::uint64_t>(std::countr_zero(lacking));
    const bool foreign = (seen.foreign >> k & 1) != 0;
    violation(std::string(foreign ? "rule 5 or flush: the source was not free yet, since the "
                                  : "rule 3: the ") +
              kNames[n] + " of " + name(confirmed_ + k) + " is there before its data");
  }
}

void Checker::event(const SenderEvent& e) {
  switch (e.seen) {
    case Seen::kError:
      violation("error: " + name(e.operation) + " failed with code " + std::to_string(e.value));
      return;
    case Seen::kGet:
      if (e.value != 0) {
        violation("get: " + std::to_string(e.value) + " words of " + name(e.operation) +
                  " were not the peer's behind the flush");
      }
      return;
    case Seen::kOldValue:
      for (; next_fetched_ < e.operation; ++next_fetched_) {
        const Step step = stream_.step(next_fetched_);
        if (step.kind == Kind::kFetchAdd) fetched_sum_ += step.addend;
      }
      if (e.value != fetched_sum_) {
        violation("fetchAdd: " + name(e.operation) + " brought " + std::to_string(e.value) +
                  ", the word was " + std::to_string(fetched_sum_));
      }
      return;
  }
}

Verdict Checker::finish() {
  // The last look confirms what it saw whole.
  std::uint64_t whole = confirmed_;
  for (std::uint64_t k = 0; k < kWindow && whole < verdict_.operations; ++k, ++whole) {
    const Step step = stream_.step(confirmed_ + k);
    if ((last_.visible >> k & 1) == 0) break;
    if (step.word == Word::kNone) continue;
    if ((highest_[static_cast<int>(step.word)] >> k & 1) == 0) break;
  }
  verdict_.complete = whole == verdict_.operations;
  if (!verdict_.complete && !found()) {
    violation("rule 8: " + name(whole) + " has not arrived whole: something was lost");
  }
  return verdict_;
}

}  // namespace gind::test::order
