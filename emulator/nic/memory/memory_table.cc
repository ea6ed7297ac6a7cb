#include "emulator/nic/memory/memory_table.h"

#include <algorithm>
#include <bit>

#include "wire/assert.h"

namespace verbena::nic {
namespace {

constexpr std::uint32_t kRemoteAccess = kRemoteWrite | kRemoteRead | kRemoteAtomic;

}  // namespace

MemoryTable::MemoryTable(Memory& own_memory, const NicLimits& limits, std::uint64_t seed, Counters& counters,
                         Duration fault_delay, const Time& now)
    : own_memory_(own_memory),
      has_octets_(own_memory.has_octets()),
      counters_(counters),
      now_(now),
      fault_delay_(fault_delay),
      limits_(limits),
      next_key_(static_cast<std::uint8_t>(seed * 0x9e + 0x11)) {
  slots_.emplace_back();  // slot 0 stays empty: key 0 is never valid
  slots_count_ = 1;
}

std::uint32_t MemoryTable::take_slot() {
  if (free_.empty()) {
    slots_.emplace_back();
    return slots_count_++;
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void MemoryTable::free_slot(std::uint32_t slot) {
  slots_[slot] = {};
  free_.push_back(slot);
}

MemoryTable::Slot* MemoryTable::find_region(std::uint32_t slot) {
  if (slot >= slots_count_) return nullptr;
  const Kind kind = slots_[slot].kind;
  return kind == Kind::region || kind == Kind::paged_region || kind == Kind::null_region ? &slots_[slot] : nullptr;
}

MemoryTable::Slot* MemoryTable::find_window(std::uint32_t slot) {
  if (slot >= slots_count_) return nullptr;
  const Kind kind = slots_[slot].kind;
  return kind == Kind::window_type1 || kind == Kind::window_type2 ? &slots_[slot] : nullptr;
}

std::uint64_t MemoryTable::pinned_bytes(const MemoryRegionInit& init) {
  if (!init.is_pinned || init.is_null || (init.access & kOnDemand) != 0 || init.length == 0) return 0;
  constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << PageCache::kPageBits) - 1;
  return ((init.address & kOffsetMask) + init.length + kOffsetMask) & ~kOffsetMask;
}

std::optional<VerbsError> MemoryTable::objection(const MemoryRegionInit& init, std::uint64_t pinned_before) const {
  if ((init.access & (kRemoteWrite | kRemoteAtomic)) != 0 && (init.access & kLocalWrite) == 0)
    return VerbsError::invalid_argument;
  if (init.address + init.length < init.address || init.iova + init.length < init.iova)
    return VerbsError::invalid_argument;
  if (init.memory != nullptr && init.memory->has_octets() != has_octets_) return VerbsError::invalid_argument;
  const bool is_everything = (init.access & kOnDemand) != 0 && init.length == UINT64_MAX;
  if (init.length > limits_.max_mr_bytes && !is_everything) return VerbsError::no_memory;
  const std::uint64_t wanted = pinned_bytes(init);
  if (wanted != 0 && pinned_bytes_ - pinned_before + wanted > limits_.max_pinned_bytes) return VerbsError::no_memory;
  return std::nullopt;
}

void MemoryTable::fill(std::uint32_t slot, const MemoryRegionInit& init) {
  Slot& entry = slots_[slot];
  const bool paged = (init.access & kOnDemand) != 0;
  entry.kind = init.is_null ? Kind::null_region : paged ? Kind::paged_region : Kind::region;
  entry.pd = init.pd;
  entry.plain_pd = entry.kind == Kind::region ? init.pd : PdHandle{};
  entry.iova = init.iova;
  entry.length = init.length;
  entry.address = init.address;
  entry.memory = init.memory != nullptr ? init.memory : &own_memory_;
  entry.access = init.access | kLocalRead;
  entry.is_pinned = init.is_pinned;
  entry.pinned_bytes = pinned_bytes(init);
  pinned_bytes_ += entry.pinned_bytes;
  if (!paged) return;
  if (pages_.size() <= slot) pages_.resize(slot + 1);
  const std::uint64_t pages = (init.length >> PageCache::kPageBits) + 2;
  pages_[slot].pages.assign(std::bit_ceil(std::min(pages, PageCache::kPagesMax)), {});
}

Result<MemoryRegion, VerbsError> MemoryTable::add(const MemoryRegionInit& init) {
  if (const auto refused = objection(init, 0)) return Failure{*refused};
  if (regions_ >= limits_.max_mr) return Failure{VerbsError::no_memory};
  const std::uint32_t slot = take_slot();
  ++regions_;
  fill(slot, init);
  const std::uint32_t key = slot << kKeyBits | next_key_++;
  slots_[slot].key = key;
  return MemoryRegion{MrHandle{slot}, key, init.is_null ? 0 : key};
}

Result<PdHandle, VerbsError> MemoryTable::remove(MrHandle handle) {
  const Slot* const entry = find_region(handle.index);
  if (entry == nullptr) return Failure{VerbsError::invalid_argument};
  if (entry->windows != 0) return Failure{VerbsError::busy};
  const PdHandle pd = entry->pd;
  pinned_bytes_ -= entry->pinned_bytes;
  forget_pages(handle.index);
  free_slot(handle.index);
  --regions_;
  return pd;
}

Result<PdHandle, VerbsError> MemoryTable::change(MrHandle handle, const MemoryRegionChange& wanted) {
  const Slot* const entry = find_region(handle.index);
  if (entry == nullptr || entry->kind == Kind::null_region) return Failure{VerbsError::invalid_argument};
  if (entry->windows != 0) return Failure{VerbsError::busy};
  const PdHandle before = entry->pd;
  MemoryRegionInit init{.pd = wanted.pd.value_or(before),
                        .address = entry->address,
                        .length = entry->length,
                        .iova = entry->iova,
                        .access = wanted.access.value_or(entry->access & ~kLocalRead),
                        .is_pinned = entry->is_pinned,
                        .memory = entry->memory};
  if (wanted.translation) {
    init.address = wanted.translation->address;
    init.length = wanted.translation->length;
    init.iova = wanted.translation->iova;
  }
  if (const auto refused = objection(init, entry->pinned_bytes)) return Failure{*refused};
  pinned_bytes_ -= entry->pinned_bytes;
  forget_pages(handle.index);
  fill(handle.index, init);
  return before;
}

Result<MemoryWindow, VerbsError> MemoryTable::add_window(PdHandle pd, WindowType type) {
  if (windows_ >= limits_.max_mw) return Failure{VerbsError::no_memory};
  const std::uint32_t slot = take_slot();
  ++windows_;
  Slot& entry = slots_[slot];
  entry.kind = type == WindowType::type1 ? Kind::window_type1 : Kind::window_type2;
  entry.pd = pd;
  entry.key = slot << kKeyBits | next_key_++;
  return MemoryWindow{MwHandle{slot}, entry.key};
}

Result<PdHandle, VerbsError> MemoryTable::remove_window(MwHandle handle) {
  Slot* const window = find_window(handle.index);
  if (window == nullptr) return Failure{VerbsError::invalid_argument};
  const PdHandle pd = window->pd;
  unbind(*window);
  free_slot(handle.index);
  --windows_;
  return pd;
}

std::optional<WindowType> MemoryTable::type_of(MwHandle handle) const {
  const Slot* const window = find_window(handle.index);
  if (window == nullptr) return std::nullopt;
  return window->kind == Kind::window_type1 ? WindowType::type1 : WindowType::type2;
}

void MemoryTable::unbind(Slot& window) {
  if (window.region != 0) --slots_[window.region].windows;
  window.region = 0;
  window.bound = false;
  window.plain_pd = PdHandle{};
  window.length = 0;
}

/// 10.6.7.2.2, C10-72 to C10-75.
bool MemoryTable::may_bind(const Slot& window, const WindowBinding& binding, PdHandle pd) const {
  const bool type2 = window.kind == Kind::window_type2;
  if (window.pd != pd) return false;
  if (type2 && (window.bound || binding.length == 0)) return false;  // o10-37.2.30, o10-37.2.40
  if (!type2 && (binding.access & kZeroBased) != 0) return false;    // o10-36.2.2
  if (!type2 && (binding.rkey ^ window.key) >> kKeyBits != 0) return false;
  if (binding.length == 0) return true;  // a window of type 1 is unbound
  Slot* const region = const_cast<MemoryTable*>(this)->find_region(binding.lkey >> kKeyBits);
  if (region == nullptr || region->key != binding.lkey || region->pd != pd || region->kind == Kind::null_region)
    return false;
  if ((region->access & kMwBind) == 0 || (region->access & kZeroBased) != 0) return false;  // as rxe and mlx5
  if ((binding.access & (kRemoteWrite | kRemoteAtomic)) != 0 && (region->access & kLocalWrite) == 0) return false;
  return static_cast<bool>(region->translate(binding.address, binding.length));
}

bool MemoryTable::bind(const WindowBinding& binding, PdHandle pd, QpHandle qp) {
  Slot* const window = find_window(binding.window.index);
  if (window == nullptr || !may_bind(*window, binding, pd)) return false;
  unbind(*window);
  // Only the low bits are the consumer's (10.6.7.2.2); of what else stands there irdma and mlx5 take no notice.
  constexpr std::uint32_t kConsumerBits = (1u << kKeyBits) - 1;
  window->key = (window->key & ~kConsumerBits) | (binding.rkey & kConsumerBits);
  if (binding.length == 0) return true;
  const std::uint32_t region_slot = binding.lkey >> kKeyBits;
  Slot& region = slots_[region_slot];
  ++region.windows;
  window->region = region_slot;
  window->bound = true;
  window->access = binding.access & kRemoteAccess;
  window->iova = (binding.access & kZeroBased) != 0 ? 0 : binding.address;
  window->length = binding.length;
  const Translation first = region.translate(binding.address, binding.length);
  window->memory = first.memory;
  window->address = first.address;
  window->qp = qp;
  if (window->kind == Kind::window_type1 && region.kind == Kind::region) window->plain_pd = pd;
  return true;
}

bool MemoryTable::may_invalidate(std::uint32_t key, PdHandle pd, QpHandle qp) const {
  const Slot* const window = find_window(key >> kKeyBits);
  return window != nullptr && window->kind == Kind::window_type2 && window->bound && window->key == key &&
         window->pd == pd && window->qp == qp;
}

void MemoryTable::invalidate(std::uint32_t key, PdHandle pd, QpHandle qp) {
  VERBENA_ASSERT(may_invalidate(key, pd, qp));
  unbind(slots_[key >> kKeyBits]);
}

Translation MemoryTable::translate_rare(std::uint32_t key, PdHandle pd, QpHandle qp, std::uint64_t address,
                                        std::uint64_t bytes, std::uint32_t access) {
  const std::uint32_t slot = key >> kKeyBits;
  const Slot& entry = slots_[slot];
  if (entry.key != key || entry.pd != pd || (entry.access & access) != access) return {};
  switch (entry.kind) {
    case Kind::free:
    case Kind::region:  // one that translate() has refused
    case Kind::null_region:
      return {};
    case Kind::window_type1:
    case Kind::window_type2: {
      if (!entry.bound || (entry.kind == Kind::window_type2 && entry.qp != qp)) return {};
      const Translation found = entry.translate(address, bytes);
      const bool is_paged = slots_[entry.region].kind == Kind::paged_region;
      return !found || !is_paged || fault_in(entry.region, found.address, bytes) ? found : Translation{};
    }
    case Kind::paged_region: {
      const Translation found = entry.translate(address, bytes);
      return found && fault_in(slot, found.address, bytes) ? found : Translation{};
    }
  }
  return {};
}

bool MemoryTable::fault_in(std::uint32_t slot, std::uint64_t address, std::uint64_t bytes) {
  // The check of a long message sees its first packet only: each packet comes by again for its own octets.
  constexpr std::uint64_t kPacketBytesMax = 4096;
  const Time due = learn_pages(slot, address, std::min(bytes, kPacketBytesMax), Counter::page_faults, fault_delay_);
  if (due <= now_) return true;
  pages_due_ = due;
  return false;
}

Time MemoryTable::learn_pages(std::uint32_t slot, std::uint64_t address, std::uint64_t bytes, Counter cause,
                              Duration delay) {
  if (bytes == 0) return now_;
  Time due = now_;
  PageCache& cache = pages_[slot];
  // By the address that peers use: where the octets are differs from one run of a simulation to the next.
  const std::uint64_t first = address - slots_[slot].address + slots_[slot].iova;
  const std::uint64_t last = (first + bytes - 1) >> PageCache::kPageBits;
  for (std::uint64_t number = first >> PageCache::kPageBits; number <= last; ++number) {
    PageCache::Page& page = cache.pages[number & (cache.pages.size() - 1)];
    // One that is on its way keeps its place: two streams that meet there would else put each other off for ever.
    const bool is_known = page.tag == number + 1;
    if (!is_known && (page.tag == 0 || page.due <= now_)) {
      if (page.tag != 0)
        counters_.add(Counter::page_invalidations);
      else
        ++cache.known;
      counters_.add(cause);
      page = {number + 1, now_ + delay};
    } else if (is_known) {
      page.due = std::min(page.due, now_ + delay);
    }
    due = std::max(due, page.due);
  }
  return due;
}

void MemoryTable::forget_pages(std::uint32_t slot) {
  if (slots_[slot].kind != Kind::paged_region) return;
  counters_.add(Counter::page_invalidations, std::exchange(pages_[slot].known, 0));
  pages_[slot].pages = {};
}

bool MemoryTable::is_null(std::uint32_t key, PdHandle pd) const {
  const std::uint32_t slot = key >> kKeyBits;
  return slot < slots_count_ && slots_[slot].key == key && slots_[slot].kind == Kind::null_region &&
         slots_[slot].pd == pd;
}

Result<std::uint64_t, VerbsError> MemoryTable::prefetch(const Sge& range, PdHandle pd, std::uint32_t access) {
  const std::uint32_t slot = range.lkey >> kKeyBits;
  if (slot >= slots_count_) return Failure{VerbsError::not_found};
  const Slot& entry = slots_[slot];
  if (entry.key != range.lkey || entry.kind != Kind::paged_region) return Failure{VerbsError::not_found};
  if (entry.pd != pd || (entry.access & access) != access) return Failure{VerbsError::not_permitted};
  const Translation first = entry.translate(range.address, range.length);
  if (!first) return Failure{VerbsError::fault};
  constexpr std::uint64_t kPageBytes = std::uint64_t{1} << PageCache::kPageBits;
  const std::uint64_t bytes = std::min<std::uint64_t>(range.length, PageCache::kPagesMax * kPageBytes);
  static_cast<void>(learn_pages(slot, first.address, bytes, Counter::page_prefetch, Duration{}));
  return first.address;
}

}  // namespace verbena::nic
