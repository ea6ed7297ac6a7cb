// ObjectTable: owns the objects of one kind and hands out handles that go stale when the object dies.
//
// A handle is a slot number with a generation above it, so that a handle kept after destroy is refused instead of
// naming whatever took the slot. Objects do not move.
// Tested by: tests/nic/queue_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/nic/objects/handles.h"

namespace verbena::nic {

template <class T, class Tag>
class ObjectTable {
 public:
  static constexpr std::uint32_t kSlotBits = 20;
  static constexpr std::uint32_t kSlotMask = (1u << kSlotBits) - 1;
  static constexpr std::uint32_t kGenerations =
      (1u << (32 - kSlotBits)) - 1;  // the last one stays free: invalid handle

  explicit ObjectTable(std::uint32_t max_objects) : objects_max_(max_objects) {}

  bool full() const { return live_ >= objects_max_; }
  std::uint32_t live() const { return live_; }

  /// Asserts that the table is not full. Returns the new object; its handle is stored in T::handle.
  T& create() {
    VERBENA_ASSERT(!full());
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot].object = std::make_unique<T>();
    slots_[slot].object->handle = Handle<Tag>{slots_[slot].generation << kSlotBits | slot};
    ++live_;
    return *slots_[slot].object;
  }

  /// Null for a stale or foreign handle.
  T* find(Handle<Tag> handle) const {
    const std::uint32_t slot = handle.index & kSlotMask;
    if (slot >= slots_.size() || slots_[slot].generation != handle.index >> kSlotBits) return nullptr;
    return slots_[slot].object.get();
  }

  /// So many find_slot() has to look at to see all.
  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  /// Whatever lives in the slot; null: nothing.
  T* find_slot(std::uint32_t slot) const { return slot < slots_.size() ? slots_[slot].object.get() : nullptr; }

  void destroy(T& object) {
    const std::uint32_t slot = object.handle.index & kSlotMask;
    VERBENA_ASSERT(find(object.handle) == &object);
    slots_[slot].object.reset();
    slots_[slot].generation = (slots_[slot].generation + 1) % kGenerations;
    free_.push_back(slot);
    --live_;
  }

  /// Calls visit(T&) for every object, in slot order.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& slot : slots_)
      if (slot.object) visit(*slot.object);
  }

 private:
  struct Slot {
    std::unique_ptr<T> object;
    std::uint32_t generation = 0;
  };
  std::uint32_t objects_max_;
  std::uint32_t live_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace verbena::nic
