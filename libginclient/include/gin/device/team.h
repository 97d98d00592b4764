// SPDX-License-Identifier: Apache-2.0
// Teams: which world rank a peer index means.
#pragma once

#include "gin/dev_comm.h"
#include "gin/queues/platform.h"

#include <cstdint>

struct ginTeam {
  std::int32_t nRanks;
  std::int32_t rank;           // of the caller, in the team
  std::int32_t stride;         // of world ranks, where there is no table
  const std::uint16_t* table;  // world rank of each team rank, or null
};
using ginTeam_t = ginTeam;

// All ranks; team rank and world rank are the same.
GIN_HOST_DEVICE inline ginTeam_t ginTeamWorld(const ginDevComm_t& comm) {
  return ginTeam_t{comm.nRanks, comm.rank, 1, nullptr};
}

// The ranks that share the caller's gind, ascending.
GIN_HOST_DEVICE inline ginTeam_t ginTeamLocal(const ginDevComm_t& comm) {
  return ginTeam_t{comm.nLocalRanks, comm.localRank, 0, comm.localRanks};
}

// The world rank of a team's member; -1 when there is none.
GIN_HOST_DEVICE inline std::int32_t ginTeamRankToWorld(const ginDevComm_t& comm, ginTeam_t team,
                                                       int peer) {
  if (peer < 0 || peer >= team.nRanks) return -1;
  const std::int64_t world = team.table != nullptr
                                 ? std::int64_t{team.table[peer]}
                                 : comm.rank + (std::int64_t{peer} - team.rank) * team.stride;
  return world >= 0 && world < comm.nRanks ? static_cast<std::int32_t>(world) : -1;
}
