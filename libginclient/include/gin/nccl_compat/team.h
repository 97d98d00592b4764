// SPDX-License-Identifier: Apache-2.0
// NCCL's teams: member r is world rank  mine + (r - team.rank) * team.stride.
#pragma once

#include "gin/device/team.h"
#include "gin/nccl_compat/types.h"

namespace gin::nccl {

GIN_HOST_DEVICE inline ginTeam_t team_of(const ncclDevComm& comm, const ncclTeam& team) {
  const std::int64_t first = comm.rank - std::int64_t{team.rank} * team.stride;
  return ginTeam_t{team.nRanks, team.rank, static_cast<std::int32_t>(first),
                   team.stride, nullptr,   comm.nRanks};
}

// How far member r of a team is from the caller, in world ranks.
GIN_HOST_DEVICE constexpr int away(const ncclTeam& team, int r) {
  return (r - team.rank) * team.stride;
}

}  // namespace gin::nccl

GIN_HOST_DEVICE inline ncclTeam_t ncclTeamWorld(ncclDevComm const& comm) {
  return {comm.nRanks, comm.rank, 1};
}
GIN_HOST_DEVICE inline ncclTeam_t ncclTeamLsa(ncclDevComm const& comm) {
  return {comm.lsaSize, comm.lsaRank, 1};
}
GIN_HOST_DEVICE inline ncclTeam_t ncclTeamRail(ncclDevComm const& comm) {
  return {comm.nRanks / comm.lsaSize, comm.rank / comm.lsaSize, comm.lsaSize};
}

// innerSize must divide the team's size.
GIN_HOST_DEVICE inline ncclTeam_t ncclTeamInnerFactor(ncclTeam_t parent, int innerSize) {
  return {innerSize, parent.rank % innerSize, parent.stride};
}
GIN_HOST_DEVICE inline ncclTeam_t ncclTeamOuterFactor(ncclTeam_t parent, int innerSize) {
  return {parent.nRanks / innerSize, parent.rank / innerSize, parent.stride * innerSize};
}

GIN_HOST_DEVICE inline int ncclTeamRankToWorld(ncclDevComm const& comm, ncclTeam_t team, int rank) {
  return comm.rank + gin::nccl::away(team, rank);
}
GIN_HOST_DEVICE inline int ncclTeamRankToLsa(ncclDevComm const& comm, ncclTeam_t team, int rank) {
  return comm.lsaRank + gin::nccl::away(team, rank);
}

// Whether, and as which, member bPeer of team b is in team a.
GIN_HOST_DEVICE inline bool ncclTeamRankIsMember(ncclTeam_t a, ncclTeam_t b, int bPeer) {
  const int d = gin::nccl::away(b, bPeer);
  const int r = a.rank + d / a.stride;
  return d % a.stride == 0 && r >= 0 && r < a.nRanks;
}
GIN_HOST_DEVICE inline int ncclTeamRankToTeam(ncclTeam_t a, ncclTeam_t b, int bPeer) {
  return a.rank + gin::nccl::away(b, bPeer) / a.stride;
}

// The index-th member of `parent` that is not in `subset`, all of which must be in `parent`.
GIN_HOST_DEVICE inline int ncclTeamRankInDifference(ncclTeam_t parent, ncclTeam_t subset,
                                                    int index) {
  int step = subset.stride / parent.stride;
  int lowest = parent.rank - subset.rank * step;
  if (step < 0) {
    lowest += (subset.nRanks - 1) * step;
    step = -step;
  }
  if (index < lowest) return index;
  // As many of the subset are below the answer as it is beyond `index`.
  const int gap = step - 1;
  int below = subset.nRanks;
  if (gap > 0 && (index - lowest) / gap + 1 < below) below = (index - lowest) / gap + 1;
  return index + below;
}
