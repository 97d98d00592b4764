// SPDX-License-Identifier: Apache-2.0
// Teams: which world rank a peer index means.
#pragma once

#include "gin/dev_comm.h"
#include "gin/queues/platform.h"

#include <cstdint>

// Member i is place first + i * stride of the table, or of the world where there is none.
struct ginTeam {
  std::int32_t nRanks;
  std::int32_t rank;  // of the caller, in the team; -1: it is no member
  std::int32_t first;
  std::int32_t stride;
  const std::uint16_t* table;  // of world ranks, or null
  std::int32_t places;         // of the table, or ranks of the world
};
using ginTeam_t = ginTeam;

// All ranks; team rank and world rank are the same.
GIN_HOST_DEVICE inline ginTeam_t ginTeamWorld(const ginDevComm_t& comm) {
  return ginTeam_t{comm.nRanks, comm.rank, 0, 1, nullptr, comm.nRanks};
}

// The ranks that share the caller's gind, ascending.
GIN_HOST_DEVICE inline ginTeam_t ginTeamLocal(const ginDevComm_t& comm) {
  return ginTeam_t{comm.nLocalRanks, comm.localRank, 0, 1, comm.localRanks, comm.nLocalRanks};
}

// Of each gind the rank that has the caller's place there (ascending among its local ranks); ginds
// with fewer ranks have none in it.
GIN_HOST_DEVICE inline ginTeam_t ginTeamRail(const ginDevComm_t& comm) {
  return ginTeam_t{comm.nRailRanks, comm.railRank, 0, 1, comm.railRanks, comm.nRailRanks};
}

// n members of `parent`: first, first + stride ...  Where they would leave it, or stride is 0 and n
// above 1, the team is empty, and every use of it is bad use.
GIN_HOST_DEVICE inline ginTeam_t ginTeamStrided(const ginTeam_t& parent, int first, int stride,
                                                int n) {
  const std::int64_t last = first + (std::int64_t{n} - 1) * stride;
  const bool inside = n >= 1 && first >= 0 && first < parent.nRanks && last >= 0 &&
                      last < parent.nRanks && (stride != 0 || n == 1);
  if (!inside) return ginTeam_t{0, -1, 0, 1, parent.table, parent.places};
  const int step = n == 1 ? 1 : stride;
  const int away = parent.rank - first;
  const bool member = parent.rank >= 0 && away % step == 0 && away / step >= 0 && away / step < n;
  return ginTeam_t{n,
                   member ? away / step : -1,
                   parent.first + first * parent.stride,
                   step * parent.stride,
                   parent.table,
                   parent.places};
}

// The consecutive `inner` members of the parent that the caller is among; inner must divide the
// parent's size, else the team is empty.
// @source NCCL device API, ncclTeamInnerFactor
GIN_HOST_DEVICE inline ginTeam_t ginTeamInnerFactor(const ginTeam_t& parent, int inner) {
  const bool divides = inner >= 1 && parent.nRanks % inner == 0 && parent.rank >= 0;
  return divides ? ginTeamStrided(parent, parent.rank / inner * inner, 1, inner)
                 : ginTeamStrided(parent, 0, 0, 0);
}
// The members that have the caller's place among their consecutive `inner`.
// @source NCCL device API, ncclTeamOuterFactor
GIN_HOST_DEVICE inline ginTeam_t ginTeamOuterFactor(const ginTeam_t& parent, int inner) {
  const bool divides = inner >= 1 && parent.nRanks % inner == 0 && parent.rank >= 0;
  return divides ? ginTeamStrided(parent, parent.rank % inner, inner, parent.nRanks / inner)
                 : ginTeamStrided(parent, 0, 0, 0);
}

// The world rank of a team's member; -1 when there is none.
GIN_HOST_DEVICE inline std::int32_t ginTeamRankToWorld(const ginDevComm_t& comm,
                                                       const ginTeam_t& team, int peer) {
  if (peer < 0 || peer >= team.nRanks) return -1;
  const std::int64_t place = team.first + std::int64_t{peer} * team.stride;
  if (place < 0 || place >= team.places) return -1;
  const std::int64_t world = team.table != nullptr ? std::int64_t{team.table[place]} : place;
  return world < comm.nRanks ? static_cast<std::int32_t>(world) : -1;
}
