// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/bare_fabric.h"

#include "gin/queues/wait.h"
#include "transports/ofi/ofi_domain.h"
#include "transports/ofi/provider.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace gind::perf {
namespace {

constexpr std::uint64_t kWords = 4096;  // before the messages: marks
constexpr std::uint32_t kLooks = 256;   // between two looks at the clock

// memory: marks | received | sources
class OfiBareFabric final : public BareFabric {
 public:
  explicit OfiBareFabric(const Options& options)
      : options_(options), area_((options.largest + 63) / 64 * 64) {}

  Result<void> start() {
    OfiOptions wanted;
    wanted.provider = options_.provider;
    wanted.address = options_.address;
    auto info = select_provider(wanted, false);
    if (!info) return info.error();
    auto domain = OfiDomain::open(wanted, std::move(info).value());
    if (!domain) return domain.error();
    domain_ = std::move(domain).value();
    memory_.resize(kWords + 2 * area_);
    auto mr = domain_->register_range(memory_.data(), memory_.size(),
                                      FI_WRITE | FI_REMOTE_WRITE | FI_READ | FI_REMOTE_READ);
    if (!mr) return mr.error();
    mr_ = std::move(mr).value();
    return open_endpoint();
  }

  // base | key | endpoint's name
  std::vector<std::uint8_t> card() const override {
    const std::uint64_t words[] = {
        domain_->virtual_address ? reinterpret_cast<std::uintptr_t>(memory_.data()) : 0,
        fi_mr_key(mr_.get())};
    std::vector<std::uint8_t> card(sizeof words + name_.size());
    std::memcpy(card.data(), words, sizeof words);
    std::copy(name_.begin(), name_.end(), card.begin() + sizeof words);
    return card;
  }
  Result<void> connect(const std::vector<std::uint8_t>& card) override {
    std::uint64_t words[2] = {};
    if (card.size() <= sizeof words) return Error{ginInternalError, "baseline: a card too short"};
    std::memcpy(words, card.data(), sizeof words);
    base_ = words[0];
    key_ = words[1];
    const int n = fi_av_insert(addresses_.get(), card.data() + sizeof words, 1, &peer_, 0, nullptr);
    return n == 1 ? Result<void>{} : failed("fi_av_insert", n < 0 ? n : -FI_EINVAL);
  }

  Result<std::vector<std::uint64_t>> ping_pong(std::uint64_t bytes, std::uint64_t iterations,
                                               bool starts) override {
    std::vector<std::uint64_t> times;
    times.reserve(iterations);
    for (std::uint64_t i = 0; i < iterations; ++i) {
      const std::uint64_t began = gin::queues::now_ns();
      const std::uint64_t number = ++passed_;
      if (starts) {
        if (auto sent = send(bytes, number); !sent) return sent.error();
      }
      if (auto came = receive(bytes, number); !came) return came.error();
      if (!starts) {
        if (auto sent = send(bytes, number); !sent) return sent.error();
      }
      times.push_back(gin::queues::now_ns() - began);
    }
    if (auto done = drain(0); !done) return done.error();
    return times;
  }

  Result<double> stream(std::uint64_t bytes, std::uint64_t writes, bool sends) override {
    ++streams_;
    const std::uint64_t began = gin::queues::now_ns();
    if (!sends) {
      if (auto came = await_mark(0, streams_); !came) return came.error();
      if (auto sent = put_mark(1, streams_); !sent) return sent.error();
      if (auto done = drain(0); !done) return done.error();
      return 0.0;
    }
    for (std::uint64_t i = 0; i < writes; ++i) {
      if (auto room = drain(options_.depth - 1); !room) return room.error();
      if (auto w = write(source(), bytes, kWords, false); !w) return w.error();
    }
    // Behind all: what is not complete may still be overtaken.
    if (auto done = drain(0); !done) return done.error();
    if (auto sent = put_mark(0, streams_); !sent) return sent.error();
    if (auto came = await_mark(1, streams_); !came) return came.error();
    const double seconds = static_cast<double>(gin::queues::now_ns() - began) / 1e9;
    if (auto done = drain(0); !done) return done.error();
    return seconds;
  }

  std::uint64_t checked() const override { return checked_; }

 private:
  std::uint8_t* received() { return memory_.data() + kWords; }
  std::uint8_t* source() { return memory_.data() + kWords + area_; }

  Result<void> failed(const char* what, std::int64_t rc) const {
    return ofi_error("baseline, " + domain_->name() + ": " + what, rc);
  }

  Result<void> open_endpoint() {
    const InfoPtr info(fi_dupinfo(domain_->info.get()));
    if (!info) return Error{ginSystemError, "baseline: fi_dupinfo: out of memory"};
    fi_av_attr av_attr{};
    av_attr.type = FI_AV_TABLE;
    fid_av* av = nullptr;
    int rc = fi_av_open(domain_->domain.get(), &av_attr, &av, nullptr);
    if (rc != 0) return failed("fi_av_open", rc);
    addresses_.reset(av);
    fi_cq_attr cq_attr{};
    cq_attr.size = options_.depth + 1024;
    cq_attr.format = FI_CQ_FORMAT_CONTEXT;
    cq_attr.wait_obj = FI_WAIT_NONE;
    fid_cq* cq = nullptr;
    rc = fi_cq_open(domain_->domain.get(), &cq_attr, &cq, nullptr);
    if (rc != 0) return failed("fi_cq_open", rc);
    queue_.reset(cq);
    fid_ep* ep = nullptr;
    rc = fi_endpoint(domain_->domain.get(), info.get(), &ep, nullptr);
    if (rc != 0) return failed("fi_endpoint", rc);
    endpoint_.reset(ep);
    rc = fi_ep_bind(ep, &av->fid, 0);
    if (rc == 0) rc = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV);
    if (rc == 0) rc = fi_enable(ep);
    if (rc != 0) return failed("fi_enable", rc);
    std::size_t bytes = 0;
    rc = fi_getname(&ep->fid, nullptr, &bytes);
    if (rc != 0 && rc != -FI_ETOOSMALL) return failed("fi_getname", rc);
    name_.resize(bytes);
    rc = fi_getname(&ep->fid, name_.data(), &bytes);
    return rc == 0 ? Result<void>{} : failed("fi_getname", rc);
  }

  // Makes progress: takes completions.
  Result<void> poll() {
    fi_cq_entry entries[64];
    const ssize_t n = fi_cq_read(queue_.get(), entries, 64);
    if (n > 0) {
      in_flight_ -= static_cast<std::uint64_t>(n);
    } else if (n == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      fi_cq_readerr(queue_.get(), &error, 0);
      return failed("a write failed", -error.err);
    } else if (n != -FI_EAGAIN) {
      return failed("fi_cq_read", n);
    }
    return {};
  }

  template <typename Condition>
  Result<void> until(Condition condition, const char* what) {
    std::uint64_t deadline = 0;
    for (std::uint32_t look = 1; !condition(); ++look) {
      if (auto polled = poll(); !polled) return polled;
      if (look % kLooks != 0) continue;
      const std::uint64_t now = gin::queues::now_ns();
      if (deadline == 0) deadline = now + static_cast<std::uint64_t>(options_.timeout_s * 1e9);
      if (now > deadline) {
        return Error{ginTimeout, "baseline, " + domain_->name() + ": " + what +
                                     " did not come in " + std::to_string(options_.timeout_s) +
                                     " s"};
      }
    }
    return {};
  }
  Result<void> drain(std::uint64_t left) {
    return until([&] { return in_flight_ <= left; }, "completions");
  }

  // Writes to offset `to` of the other end's memory.  What is injected has no completion.
  Result<void> write(const void* from, std::uint64_t bytes, std::uint64_t to, bool inject) {
    ssize_t rc = -FI_EAGAIN;
    auto tried = until(
        [&] {
          if (inject && bytes <= domain_->inject_write) {
            rc = fi_inject_write(endpoint_.get(), from, bytes, peer_, base_ + to, key_);
          } else {
            rc = fi_write(endpoint_.get(), from, bytes, fi_mr_desc(mr_.get()), peer_, base_ + to,
                          key_, nullptr);
            if (rc == 0) ++in_flight_;
          }
          return rc != -FI_EAGAIN;
        },
        "room for a write");
    if (!tried) return tried;
    return rc == 0 ? Result<void>{} : failed("fi_write", rc);
  }

  // The number fills the first bytes, its low byte the last one.
  Result<void> send(std::uint64_t bytes, std::uint64_t number) {
    // What is injected is copied at once; the rest must have left before its source changes.
    if (auto done = drain(0); !done) return done;
    std::memcpy(source(), &number, std::min<std::uint64_t>(bytes, sizeof number));
    source()[bytes - 1] = static_cast<std::uint8_t>(number);
    return write(source(), bytes, kWords, true);
  }
  Result<void> receive(std::uint64_t bytes, std::uint64_t number) {
    const auto expected = static_cast<std::uint8_t>(number);
    std::atomic_ref<std::uint8_t> last(received()[bytes - 1]);
    auto came =
        until([&] { return last.load(std::memory_order_acquire) == expected; }, "a message");
    if (!came) return came;
    std::uint64_t found = number;
    std::memcpy(&found, received(), std::min<std::uint64_t>(bytes - 1, sizeof found));
    if (found != number) {
      return Error{ginInternalError, "baseline, wrong data: message " + std::to_string(number) +
                                         " has the number " + std::to_string(found)};
    }
    ++checked_;
    return {};
  }

  Result<void> put_mark(std::uint64_t which, std::uint64_t value) {
    mark_ = value;
    std::memcpy(memory_.data() + 64 + which * 8, &mark_, sizeof mark_);
    return write(memory_.data() + 64 + which * 8, sizeof mark_, which * 8, true);
  }
  Result<void> await_mark(std::uint64_t which, std::uint64_t value) {
    auto* word = reinterpret_cast<std::uint64_t*>(memory_.data() + which * 8);
    std::atomic_ref<std::uint64_t> mark(*word);
    return until([&] { return mark.load(std::memory_order_acquire) == value; }, "the end's mark");
  }

  Options options_;
  std::uint64_t area_;
  std::vector<std::uint8_t> memory_;
  std::shared_ptr<OfiDomain> domain_;
  FidPtr<fid_mr> mr_;
  FidPtr<fid_av> addresses_;
  FidPtr<fid_cq> queue_;
  FidPtr<fid_ep> endpoint_;  // closed before what it is bound to
  std::vector<std::uint8_t> name_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::uint64_t base_ = 0, key_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t passed_ = 0, streams_ = 0, checked_ = 0, mark_ = 0;
};

}  // namespace

Result<std::unique_ptr<BareFabric>> BareFabric::open(const Options& options) {
  auto made = std::make_unique<OfiBareFabric>(options);
  if (auto started = made->start(); !started) return started.error();
  return std::unique_ptr<BareFabric>(std::move(made));
}

}  // namespace gind::perf
