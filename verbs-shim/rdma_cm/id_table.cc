#include "verbs-shim/rdma_cm/id_table.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "wire/assert.h"

namespace verbena::shim::rdma_cm {

Id* IdTable::make(std::shared_ptr<Channel> channel, std::uint16_t port_space, std::uint8_t qp_type) {
  auto place = std::find(ids_.begin(), ids_.end(), nullptr);
  if (place == ids_.end()) {
    if (ids_.size() >= kIdsMax) return nullptr;
    ids_.emplace_back();
    place = ids_.end() - 1;
  }
  *place = std::make_unique<Id>();
  Id& id = **place;
  id.handle = static_cast<std::uint32_t>(place - ids_.begin());
  id.serial = ++last_serial_;
  id.channel = std::move(channel);
  ++id.channel->ids;
  id.starting_psn = wire::Psn(static_cast<std::uint32_t>(psns_())).value();
  id.port_space = port_space;
  id.qp_type = qp_type;
  handles_[id.serial] = id.handle;
  return &id;
}

void IdTable::remove(Id& id) {
  const std::size_t erased = handles_.erase(id.serial);
  VERBENA_ASSERT(erased == 1 && id.channel->ids != 0 && ids_[id.handle].get() == &id);
  --id.channel->ids;
  ids_[id.handle] = nullptr;
}

void IdTable::move(Id& id, std::shared_ptr<Channel> channel) {
  VERBENA_ASSERT(id.channel->ids != 0);
  --id.channel->ids;
  id.channel = std::move(channel);
  ++id.channel->ids;
}

void IdTable::clear() {
  ids_.clear();
  handles_.clear();
}

Id* IdTable::at(std::uint32_t handle) const {
  return handle < ids_.size() ? ids_[handle].get() : nullptr;
}

Id* IdTable::of_channel(const std::shared_ptr<Channel>& channel, std::uint32_t handle) const {
  Id* const id = at(handle);
  return id != nullptr && id->channel == channel ? id : nullptr;
}

Id* IdTable::by_serial(std::uint64_t serial) const {
  const auto found = handles_.find(serial);
  return found == handles_.end() ? nullptr : ids_[found->second].get();
}

Result<Id*, int> IdTable::find(const std::shared_ptr<Channel>& channel, std::uint32_t handle) const {
  Id* const id = of_channel(channel, handle);
  if (id == nullptr) return Failure{ENOENT};
  if (id->state == IdState::device_removed) return Failure{ENXIO};
  return id;
}

std::uint32_t IdTable::free_group_handle() const {
  std::uint32_t handle = 1;
  const auto is_taken = [&](std::uint32_t number) {
    return std::ranges::any_of(ids_, [&](const auto& other) {
      return other && std::ranges::any_of(other->groups, [&](const auto& it) { return it.handle == number; });
    });
  };
  while (is_taken(handle)) ++handle;
  return handle;
}

}  // namespace verbena::shim::rdma_cm
