#include "verbs-shim/verbs/outside_faults.h"

#include <pthread.h>

#include <mutex>
#include <utility>
#include <vector>

#include "emulator/host/node/verb_fault_list.h"
#include "verbs-shim/verbs/call_faults.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim {
namespace {

host::DevicePlace place_of(const host::EngineConfig& config) {
  return host::device_place(config.address).value_or(host::DevicePlace{});
}

/// The list, as the process has read it last.
struct List {
  explicit List(const host::EngineConfig& config) : reader(config.fabric, place_of(config).node) {}
  std::mutex mutex;
  host::VerbFaultReader reader;
  host::VerbFaultReader::Seen seen;
};

/// Of the node, whichever of its devices asks first. It lives as long as the process; the child of fork(), where a
/// thread of the parent may have been reading, has another.
List& list_of_node(const host::EngineConfig& config) {
  static std::mutex mutex;
  static List* list = nullptr;
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                   [] {
                     list = nullptr;
                     mutex.unlock();
                   });
  });
  const std::scoped_lock lock(mutex);
  if (list == nullptr) list = new List(config);
  return *list;
}

void plan_all_slots() {
  Process& process = Process::instance();
  const auto plan = [&](Kind kind, auto* typed) {
    process.find(kind, [&](void* object) {
      plan_slots(*static_cast<decltype(typed)>(object));
      return false;
    });
  };
  plan(Kind::context, static_cast<Context*>(nullptr));
  plan(Kind::cq, static_cast<Cq*>(nullptr));
  plan(Kind::qp, static_cast<Qp*>(nullptr));
  plan(Kind::work_queue, static_cast<Wq*>(nullptr));
}

void put_into_plan(List& list, const host::EngineConfig& config, const std::vector<host::VerbFaultReader::Fault>& of) {
  std::vector<fabric::VerbRule> rules;
  std::vector<std::pair<std::uint32_t, std::size_t>> places;
  for (const auto& [number, place, text] : of) {
    auto rule = fabric::parse_verb_rule(text);
    if (!rule) continue;  // the fabric process is of another version
    rule->id = CallFaults::kAdded + number;
    rules.push_back(std::move(*rule));
    places.emplace_back(rules.back().id, place);
  }
  const auto count = [&list, places](std::uint32_t rule) {
    for (const auto& [id, place] : places)
      if (id == rule) list.reader.add_hit(id - CallFaults::kAdded, place);
  };
  CallFaults::plan_for_later(config.seed.value_or(host::EngineConfig::kFaultSeed))
      .replace_added(std::move(rules), count);
  plan_all_slots();
}

}  // namespace

std::uint32_t DeviceFaults::look() {
  const host::LinkKind* const kind = host::find_link_kind(config_.link);
  if (kind == nullptr || !kind->has_fabric_process) return 0;
  List& list = list_of_node(config_);
  const std::scoped_lock lock(list.mutex);
  host::VerbFaultReader::Seen seen = list.reader.look();
  if (seen.sequence != list.seen.sequence || seen.file != list.seen.file) put_into_plan(list, config_, seen.faults);
  list.seen = std::move(seen);
  return list.seen.sequence;
}

nic::CompletionJudge* DeviceFaults::judge() {
  if (CallFaults* const plan = CallFaults::plan(); plan != nullptr && judge_ == nullptr)
    judge_ = plan->judge_of(config_.number.device);
  return judge_;
}

}  // namespace verbena::shim
