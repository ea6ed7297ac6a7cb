#include "emulator/host/subnet_process/sa_groups.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace verbena::host {
namespace {

using Record = wire::McMemberRecord;

constexpr Duration kMembershipTimeout{3'000'000'000};  // ib_sa's for memberships

/// Whether a group that is there is what a program asks for (cmp_rec of the kernel). Fields that it does not name fit.
bool fits(const Record& group, const Record& wanted, std::uint64_t mask) {
  const auto is_same = [mask](std::uint64_t bit, auto one, auto other) { return (mask & bit) == 0 || one == other; };
  return is_same(Record::kQkey, group.qkey, wanted.qkey) && is_same(Record::kPkey, group.pkey, wanted.pkey) &&
         is_same(Record::kTrafficClass, group.traffic_class, wanted.traffic_class) &&
         is_same(Record::kServiceLevel, group.service_level, wanted.service_level) &&
         is_same(Record::kFlowLabel, group.flow_label, wanted.flow_label);
}

}  // namespace

void SaGroups::join(subnet::PortEnd port, const Member& member, std::uint64_t component_mask, const Record& record) {
  auto found = std::ranges::find_if(
      groups_, [&](const auto& one) { return one->port == port && one->record.group == record.group; });
  if (found == groups_.end()) {
    auto made = std::make_unique<Group>();
    made->port = port;
    made->record.group = record.group;
    groups_.push_back(std::move(made));
    found = groups_.end() - 1;
  }
  (*found)->joining.push_back({member, component_mask, record});
  go_on(**found);
}

/// Until a request is under way, or nothing is to do.
void SaGroups::go_on(Group& group) {
  while (!group.is_busy && !group.joining.empty()) {
    const Joining& next = group.joining.front();
    const std::uint8_t wanted = next.record.join_state;
    if (next.is_gone) {
      group.joining.pop_front();
    } else if ((group.join_state & wanted) == wanted) {
      answered(group, fits(group.record, next.record, next.component_mask) ? 0 : -EINVAL, {});
    } else {
      ask(group, wire::kMethodSet, next.component_mask, next.record, [this, &group](auto status, auto record) {
        group.is_busy = false;
        answered(group, status, record);
        go_on(group);
      });
    }
  }
  if (group.is_busy) return;
  std::uint8_t needed = 0;
  for (const Joined& one : group.joined) needed |= one.join_state;
  const auto over = static_cast<std::uint8_t>(group.join_state & ~needed);
  group.join_state &= needed;
  if (over != 0) {
    Record record = group.record;
    record.join_state = over;
    const bool is_asked = ask(group, wire::kMethodDelete, Record::kGroup | Record::kPort | Record::kJoinState, record,
                              [this, &group](auto, auto) {
                                group.is_busy = false;
                                go_on(group);
                              });
    if (is_asked) return;
  }
  if (group.joined.empty() && group.joining.empty())
    std::erase_if(groups_, [&](const auto& one) { return one.get() == &group; });
}

/// The first one that joins has its answer; `record` is empty: the group was there.
void SaGroups::answered(Group& group, std::int32_t status, std::span<const std::byte> record) {
  const Joining first = group.joining.front();
  group.joining.pop_front();
  if (status == 0 && !record.empty()) {
    group.record = wire::McMemberRecordLayout::parse(record.first<wire::McMemberRecordLayout::bytes>());
    group.join_state |= first.record.join_state;
  }
  if (first.is_gone) return;
  if (status == 0) group.joined.push_back({first.member, first.record.join_state});
  tell_(first.member, status, group.record);
}

/// False: it cannot be asked, and whoever joins has been told.
bool SaGroups::ask(Group& group, std::uint8_t method, std::uint64_t mask, const Record& record,
                   SaTransactions::Done done) {
  const auto octets = wire::McMemberRecordLayout::emit(record);
  const SaTransactions::Request request{method, wire::kAttributeMcMemberRecord, mask, octets, kMembershipTimeout};
  const std::int32_t status = transactions_.ask(group.port, request, std::move(done));
  group.is_busy = status == 0;
  if (status != 0 && method == wire::kMethodSet) answered(group, status, {});
  return group.is_busy;
}

template <class Which>
void SaGroups::leave_where(const Which& is_one) {
  // A group may end with it.
  std::vector<Group*> changed;
  for (const auto& group : groups_) {
    bool is_any = std::erase_if(group->joined, [&](const Joined& one) { return is_one(one.member); }) != 0;
    for (Joining& one : group->joining) {
      if (!is_one(one.member)) continue;
      one.is_gone = true;
      is_any = true;
    }
    if (is_any) changed.push_back(group.get());
  }
  for (Group* const group : changed) go_on(*group);
}

void SaGroups::leave(const Member& member) {
  leave_where([&](const Member& one) { return one == member; });
}

void SaGroups::leave_all(std::uint64_t program) {
  leave_where([&](const Member& one) { return one.program == program; });
}

void SaGroups::lose(subnet::PortEnd port) {
  std::vector<Group*> changed;
  for (const auto& group : groups_)
    if (group->port == port) changed.push_back(group.get());
  for (Group* const group : changed) {
    group->join_state = 0;
    for (const Joined& one : std::exchange(group->joined, {})) tell_(one.member, -ENETRESET, group->record);
    go_on(*group);
  }
}

}  // namespace verbena::host
