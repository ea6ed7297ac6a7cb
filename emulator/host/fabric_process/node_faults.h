// NodeFaults: the faults of verbs that were said of nodes while the fabric runs, for the programs there, now and later.
//
// Solely responsible for the list that these programs read (node/verb_fault_list.h), for telling them that it is
// another, and for knowing whether all of them have heard: `verbena fault n1 fail verb=reg_mr` answers when the next
// call fails. What a fault does is the program's own library's (verbs-shim/verbs/call_faults.h).
// Tested by: tests/host/fabric_process/node_faults_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/host/fabric_process/fabric_ports.h"
#include "emulator/host/node/host_file.h"
#include "emulator/host/node/verb_fault_list.h"

namespace verbena::host {

class NodeFaults {
 public:
  /// `ports` outlives it.
  NodeFaults(std::string fabric, FabricPorts& ports) : fabric_(std::move(fabric)), ports_(ports) {}

  /// `text`: a rule that is right; `nodes`: from 1. Returns what is wrong, in one line; nothing: it holds.
  std::string add(Time now, std::uint32_t number, const std::vector<std::uint32_t>& nodes, const std::string& text);
  void remove(Time now, std::uint32_t number);
  /// Of all programs together.
  std::uint64_t hits(std::uint32_t number) const;
  /// How many processes, of all its nodes, go on as if it were not there: they are stopped, or too busy to hear.
  std::uint32_t unheard(std::uint32_t number) const;

  /// Every process has heard of the latest change, or has had its time.
  bool is_done(Time now) const { return now >= done_by_ || !is_awaited(); }
  /// When is_done() becomes true by itself; in the past if nobody waits.
  Time next_deadline() const { return done_by_; }

 private:
  static constexpr Duration kDoneWithin = seconds(1);

  VerbFaultList* list() const { return file_ == nullptr ? nullptr : static_cast<VerbFaultList*>(file_->records()); }
  /// `change(entries)`; then the programs of these nodes are told.
  template <class Change>
  void write(Time now, const std::vector<std::uint32_t>& nodes, Change&& change);
  std::vector<std::uint32_t> nodes_of(std::uint32_t number) const;
  std::uint32_t unheard_on(std::uint32_t node, std::uint32_t sequence) const;
  bool is_awaited() const;

  const std::string fabric_;
  FabricPorts& ports_;
  std::unique_ptr<HostFile> file_;                // from the first fault on
  std::map<std::uint32_t, std::uint32_t> since_;  // the sequence of the list from which on a fault is in it
  std::vector<std::uint32_t> told_;               // the nodes of the latest change
  Time done_by_{};
};

}  // namespace verbena::host
