#include "emulator/host/fabric_process/node_faults.h"

#include <algorithm>
#include <atomic>
#include <new>

namespace verbena::host {

template <class Change>
void NodeFaults::write(Time now, const std::vector<std::uint32_t>& nodes, Change&& change) {
  VerbFaultList& written = *list();
  const std::uint32_t sequence = written.sequence.load(std::memory_order_relaxed);
  written.sequence.store(sequence + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  change(written.entries);
  written.sequence.store(sequence + 2, std::memory_order_release);
  const std::uint32_t rails = ports_.network().topology().rails;
  for (const std::uint32_t node : nodes)
    for (std::uint32_t rail = 0; rail < rails; ++rail) ports_.notify((node - 1) * rails + rail, Notice::faults_changed);
  told_ = nodes;
  done_by_ = now + kDoneWithin;
}

std::string NodeFaults::add(Time now, std::uint32_t number, const std::vector<std::uint32_t>& nodes,
                            const std::string& text) {
  if (text.size() > VerbFaultList::kTextMax)
    return "this fault has more than " + std::to_string(VerbFaultList::kTextMax) + " characters";
  if (file_ == nullptr) {
    auto made = HostFile::make(verb_fault_list_path(fabric_), kVerbFaultLists, 1, 1,
                               [](void* record) { new (record) VerbFaultList; });
    if (!made) return "the programs cannot be told: " + made.error();
    file_ = std::move(*made);
  }
  const auto is_free = [](const VerbFaultList::Entry& entry) { return entry.number.load() == 0; };
  if (static_cast<std::size_t>(std::ranges::count_if(list()->entries, is_free)) < nodes.size())
    return "there are " + std::to_string(VerbFaultList::kEntries) +
           " faults of verbs already, one for each node: end some first (remove NUMBER, clear)";
  write(now, nodes, [&](auto& entries) {
    auto entry = entries.begin();
    for (const std::uint32_t node : nodes) {
      entry = std::find_if(entry, entries.end(), is_free);
      entry->node = node;
      entry->hits = 0;
      entry->text = {};
      std::ranges::copy(text, entry->text.begin());
      entry->number = number;
    }
  });
  since_[number] = list()->sequence.load();
  return {};
}

void NodeFaults::remove(Time now, std::uint32_t number) {
  if (file_ == nullptr) return;
  write(now, nodes_of(number), [&](auto& entries) {
    for (VerbFaultList::Entry& entry : entries)
      if (entry.number == number) entry.number = 0;
  });
  since_.erase(number);
}

std::vector<std::uint32_t> NodeFaults::nodes_of(std::uint32_t number) const {
  std::vector<std::uint32_t> nodes;
  for (const VerbFaultList::Entry& entry : list()->entries)
    if (entry.number == number) nodes.push_back(entry.node);
  return nodes;
}

std::uint64_t NodeFaults::hits(std::uint32_t number) const {
  std::uint64_t sum = 0;
  if (file_ != nullptr)
    for (const VerbFaultList::Entry& entry : list()->entries)
      if (entry.number == number) sum += entry.hits.load(std::memory_order_relaxed);
  return sum;
}

std::uint32_t NodeFaults::unheard_on(std::uint32_t node, std::uint32_t sequence) const {
  const std::uint32_t rails = ports_.network().topology().rails;
  std::uint32_t most = 0;  // a process has a connection for each of its devices
  for (std::uint32_t rail = 0; rail < rails; ++rail)
    most = std::max(most, ports_.last_words().unheard((node - 1) * rails + rail, sequence));
  return most;
}

std::uint32_t NodeFaults::unheard(std::uint32_t number) const {
  std::uint32_t sum = 0;
  if (const auto since = since_.find(number); since != since_.end())
    for (const std::uint32_t node : nodes_of(number)) sum += unheard_on(node, since->second);
  return sum;
}

bool NodeFaults::is_awaited() const {
  return std::ranges::any_of(told_, [&](std::uint32_t node) { return unheard_on(node, list()->sequence.load()) != 0; });
}

}  // namespace verbena::host
