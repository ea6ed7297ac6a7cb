// OwnNode: the node of the fabric on which this process stands, by its environment.
//
// Solely the meaning of VERBENA_NODE: a node, or "auto:N", which leaves it to the launcher that has started the process
// (mpirun, srun): it tells each process its rank in a variable, and the process stands on node 1 + rank modulo N. A
// node with several devices may give the address of each, by commas (own_devices.h); the first one is the node's. The
// verbs, the files below /sys and the sockets ask here, so that they agree. libc only: the path shim includes it.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "emulator/host/config/variables.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/os/text_list.h"

namespace verbena::host {

/// In front of the number of nodes; "auto" alone is as many as there can be.
inline constexpr std::string_view kAutoNode = "auto";

/// What libraries of MPI are told: Open MPI's mpirun and PMIx servers; PMIx servers; Hydra (MPICH, Intel MPI) and other
/// servers of PMI. One process may have several, which then agree.
inline constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
/// Slurm gives it to every task, and an mpirun that is a task gives its own to all its ranks: it counts where none of
/// the others is.
inline constexpr const char* kTaskVariable = "SLURM_PROCID";

struct OwnNode {
  enum class Kind : std::uint8_t {
    known,
    wrong_value,   // of VERBENA_NODE
    no_rank,       // the launcher itself, or one that sets none of the variables
    wrong_rank,    // not a number
    ranks_differ,  // launchers within each other: whose rank it is cannot be told
  };
  Kind kind = Kind::known;
  wire::Gid address = node_address(kNodeDefault);
};

namespace detail {
/// A number that fills the text, from `least` on.
inline bool read_whole(std::string_view text, std::uint32_t least, std::uint32_t most, std::uint32_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size() && into >= least && into <= most;
}

/// Nodes in turn, if that is what the text says. 0: it does not, -1 (as all ones): it is wrong.
inline std::uint32_t auto_nodes(std::string_view text) {
  if (text.substr(0, kAutoNode.size()) != kAutoNode) return 0;
  if (text.size() == kAutoNode.size()) return kNodesMax;
  std::uint32_t nodes = 0;
  const std::string_view rest = text.substr(kAutoNode.size());
  return rest[0] == ':' && read_whole(rest.substr(1), 1, kNodesMax, nodes) ? nodes : UINT32_MAX;
}
}  // namespace detail

/// `look(NAME)`: the variable's value, null where it is not set or empty; of another process, from its own environment.
template <class Look>
OwnNode own_node_by(const Look& look) {
  using Kind = OwnNode::Kind;
  const char* const text = look(kNodeVariable);
  if (text == nullptr) return {};
  const std::uint32_t nodes = detail::auto_nodes(text);
  if (nodes == UINT32_MAX) return {Kind::wrong_value};
  if (nodes == 0) {
    const auto address = parse_node(list_item(text, 0));
    return address ? OwnNode{Kind::known, *address} : OwnNode{Kind::wrong_value};
  }
  bool found = false;
  std::uint32_t rank = 0;
  const auto take = [&](const char* name) {
    const char* const value = look(name);
    if (value == nullptr) return Kind::known;
    std::uint32_t one = 0;
    if (!detail::read_whole(value, 0, INT32_MAX, one)) return Kind::wrong_rank;
    if (found && one != rank) return Kind::ranks_differ;
    found = true;
    rank = one;
    return Kind::known;
  };
  for (const char* name : kRankVariables)
    if (const Kind kind = take(name); kind != Kind::known) return {kind};
  if (!found)
    if (const Kind kind = take(kTaskVariable); kind != Kind::known) return {kind};
  return found ? OwnNode{Kind::known, node_address(1 + rank % nodes)} : OwnNode{Kind::no_rank};
}

inline OwnNode own_node() {
  return own_node_by([](const char* name) { return variable(name); });
}

}  // namespace verbena::host
