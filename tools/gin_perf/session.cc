// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/session.h"

#include "tools/gin_perf/unique_id.h"

#include <algorithm>
#include <chrono>

namespace gind::perf {
namespace {

constexpr ginSignal_t kHandshakeSignal = 0;
constexpr ginSignal_t kVerdictSignal = 1;
constexpr ginSignal_t kTotalSignal = 2;
constexpr ginSignal_t kGivenSignal = 3;

}  // namespace

Error gin_error(ginResult_t result, const char* call) {
  const char* detail = ginGetLastError();
  std::string text = std::string(call) + ": " + ginGetErrorString(result);
  if (detail != nullptr && *detail != '\0') text += ": " + std::string(detail);
  return {result, text};
}

Result<std::unique_ptr<Session>> Session::open(const Options& options, Player& player,
                                               std::uint64_t window_bytes) {
  std::unique_ptr<Session> session(new Session);
  session->player_ = &player;
  session->own_contexts_ = options.exclusive;
  session->rank_ = options.rank;
  session->pairs_ = !is_collective(options.test);
  session->timeout_ns_ = static_cast<std::int64_t>(options.timeout_s * 1e9);
  if (auto joined = session->join(options); !joined) return joined.error();
  if (auto ready = session->set_up(options, window_bytes); !ready) return ready.error();
  return session;
}

Session::~Session() {
  if (comm_ != nullptr) ginCommDestroy(comm_);
}

Result<void> Session::close() {
  std::vector<ginDevComm_t*> all = {&dev_, &talk_};
  for (ginDevComm_t& dev : idle_) all.push_back(&dev);
  for (ginDevComm_t* dev : all) {
    if (const ginResult_t r = ginDevCommDestroy(comm_, dev); r != ginSuccess) {
      return gin_error(r, "ginDevCommDestroy");
    }
  }
  if (const ginResult_t r = ginCommFinalize(comm_); r != ginSuccess) {
    return gin_error(r, "ginCommFinalize");
  }
  const ginResult_t r = ginCommDestroy(std::exchange(comm_, nullptr));
  if (r != ginSuccess) return gin_error(r, "ginCommDestroy");
  return {};
}

Result<void> Session::join(const Options& options) {
  ginUniqueId id{};
  if (options.rank == 0) {
    if (const ginResult_t r = ginGetUniqueId(&id); r != ginSuccess) {
      return gin_error(r, "ginGetUniqueId");
    }
    if (auto written = write_unique_id(options.id_path, id); !written) return written.error();
  } else {
    const auto deadline =
        std::chrono::steady_clock::now() +
        std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1e3));
    auto read = read_unique_id(options.id_path, deadline);
    if (!read) return read.error();
    id = read.value();
  }
  if (const ginResult_t r = ginCommInitRank(&comm_, options.nranks, id, options.rank);
      r != ginSuccess) {
    comm_ = nullptr;
    return gin_error(r, "ginCommInitRank");
  }
  return {};
}

Result<void> Session::set_up(const Options& options, std::uint64_t window_bytes) {
  properties_.size = sizeof properties_;
  if (const ginResult_t r = ginCommQueryProperties(comm_, &properties_); r != ginSuccess) {
    return gin_error(r, "ginCommQueryProperties");
  }
  void* memory = nullptr;
  if (const ginResult_t r = ginMemAlloc(comm_, &memory, window_bytes, ginMemHost);
      r != ginSuccess) {
    return gin_error(r, "ginMemAlloc");
  }
  memory_ = static_cast<char*>(memory);
  if (const ginResult_t r =
          ginCommWindowRegister(comm_, memory, window_bytes, &window_, GIN_WIN_DEFAULT);
      r != ginSuccess) {
    return gin_error(r, "ginCommWindowRegister");
  }
  return make_contexts(options);
}

Result<void> Session::make_contexts(const Options& options) {
  ginDevCommRequirements_t requirements = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  requirements.contexts = options.contexts;
  requirements.signals = pairs_ ? 8 : std::max(8, options.nranks);  // one of each source
  requirements.counters = 8;
  requirements.queueDepth = options.queue_units;
  requirements.sharing = options.exclusive ? ginSharingExclusive : ginSharingShared;
  requirements.poster = player_->poster();
  if (!pairs_) requirements.barriers = 1;
  if (const ginResult_t r = ginDevCommCreate(comm_, &requirements, &dev_); r != ginSuccess) {
    return gin_error(r, "ginDevCommCreate");
  }
  requirements.contexts = 1;
  requirements.signals = 8;
  requirements.queueDepth = 0;
  requirements.sharing = ginSharingShared;
  requirements.poster = ginPosterHost;
  if (const ginResult_t r = ginDevCommCreate(comm_, &requirements, &talk_); r != ginSuccess) {
    return gin_error(r, "ginDevCommCreate");
  }
  constexpr int kMostOfOne = 256;
  for (int left = options.idle_contexts; left > 0; left -= kMostOfOne) {
    requirements.contexts = std::min(left, kMostOfOne);
    requirements.queueDepth = 64;
    idle_.emplace_back();
    if (const ginResult_t r = ginDevCommCreate(comm_, &requirements, &idle_.back());
        r != ginSuccess) {
      return gin_error(r, "ginDevCommCreate");
    }
  }
  return {};
}

Result<void> Session::handshake() {
  const ginContext ctx{talk_, 0};
  ++handshakes_;
  ginResult_t r = ctx.signal(ginTeamWorld(talk_), partner(), ginSignalInc{kHandshakeSignal},
                             ginCoopThread{}, wait_options());
  if (r == ginSuccess) {
    r = ctx.waitSignal(ginCoopThread{}, kHandshakeSignal, handshakes_, 64, wait_options());
  }
  if (r != ginSuccess) return operation_error(r, "handshake");
  return {};
}

// The verdict signal counts 2^32 per value told, and the value in its low half.
Result<std::uint64_t> Session::exchange(std::uint64_t mine) {
  constexpr std::uint64_t kTold = std::uint64_t{1} << 32;
  const ginContext ctx{talk_, 0};
  const std::uint64_t before = told_;
  ginResult_t r =
      ctx.signal(ginTeamWorld(talk_), partner(), ginSignalAdd{kVerdictSignal, kTold + mine},
                 ginCoopThread{}, wait_options());
  if (r == ginSuccess) {
    r = ctx.waitSignal(ginCoopThread{}, kVerdictSignal, before + kTold, 64, wait_options());
  }
  if (r != ginSuccess) return operation_error(r, "exchange");
  told_ = ctx.readSignal(kVerdictSignal);
  const std::uint64_t theirs = told_ - before - kTold;
  if (auto met = handshake(); !met) return met.error();  // nobody tells the next one before
  return theirs;
}

// The signals count all totals together; each ends before the next one begins only on rank 0, so
// nobody gives to the next one before rank 0 has said so.
Result<std::uint64_t> Session::total(std::uint64_t mine) {
  const ginContext ctx{talk_, 0};
  const ginTeam_t world = ginTeamWorld(talk_);
  const auto n = static_cast<std::uint64_t>(talk_.nRanks);
  ginResult_t r =
      ctx.signal(world, 0, ginSignalAdd{kTotalSignal, mine}, ginCoopThread{}, wait_options());
  // In its place behind the value.
  if (r == ginSuccess) {
    r = ctx.signal(world, 0, ginSignalInc{kGivenSignal}, ginCoopThread{}, wait_options());
  }
  ++totals_;
  if (rank_ == 0) {
    if (r == ginSuccess) {
      r = ctx.waitSignal(ginCoopThread{}, kGivenSignal, n * totals_, 64, wait_options());
    }
    const std::uint64_t all = ctx.readSignal(kTotalSignal);
    mine = all - std::exchange(totalled_, all);
    for (int peer = 1; peer < talk_.nRanks && r == ginSuccess; ++peer) {
      r = ctx.signal(world, peer, ginSignalInc{kGivenSignal}, ginCoopThread{}, wait_options());
    }
  } else if (r == ginSuccess) {
    r = ctx.waitSignal(ginCoopThread{}, kGivenSignal, totals_, 64, wait_options());
  }
  if (r != ginSuccess) return operation_error(r, "total");
  return mine;
}

Error Session::operation_error(ginResult_t result, const std::string& what) const {
  std::string text = what;
  if (pairs_) text += " with rank " + std::to_string(partner());
  text += ": " + std::string(ginGetErrorString(result));
  ginResult_t async = ginSuccess;
  if (ginCommGetAsyncError(comm_, &async) == ginSuccess && async != ginSuccess) {
    text += ": " + std::string(ginGetLastError());
  }
  return {result, text};
}

}  // namespace gind::perf
