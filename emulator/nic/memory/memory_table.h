// MemoryTable: the memory regions and memory windows of a NIC, their keys, and the check that every access passes
// first.
//
// Solely responsible for keys, bounds, protection domains, access rights and bindings (IBTA 10.6), for the memory that
// a region is in, and for which pages of an on-demand region the NIC knows. Copies nothing: see memory.h.
//
// A key is a slot of the table and eight bits that change with every use of it; regions and windows share the slots.
// What an access needs lies in the first words of a slot. An access that these do not allow takes the long way
// (translate_rare): windows of type 2, which belong to one QP, and on-demand regions.
// Tested by: tests/nic/memory_verbs_test.cc, tests/nic/memory_window_test.cc
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "emulator/nic/memory/memory.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/counters.h"
#include "emulator/nic/objects/handles.h"
#include "emulator/nic/objects/nic_config.h"
#include "emulator/nic/objects/work_request.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::nic {

struct ProtectionDomain {
  PdHandle handle;
  std::uint32_t users = 0;
};

/// The right to read as a local buffer: regions have it, windows do not (their keys are for peers only).
inline constexpr std::uint32_t kLocalRead = 1u << 30;

class MemoryTable {
 public:
  /// `own_memory`: of regions that name no other. `now` is the time of the call in progress; `fault_delay` is
  /// NicConfig::page_fault_delay.
  MemoryTable(Memory& own_memory, const NicLimits& limits, std::uint64_t seed, Counters& counters, Duration fault_delay,
              const Time& now);

  /// no_memory beyond the limits; invalid_argument for access flags that contradict each other (remote write or atomic
  /// without local write, IBTA 10.6.3.1), a range that wraps, or a memory that has octets where the NIC's own has none,
  /// or the other way round.
  Result<MemoryRegion, VerbsError> add(const MemoryRegionInit& init);
  /// The PD of the removed region. invalid_argument if there is none, busy while windows are bound to it (10.6.7.2.3).
  Result<PdHandle, VerbsError> remove(MrHandle handle);
  /// Changes a region, which keeps its keys; nothing has changed on failure. Returns the PD that it had before.
  Result<PdHandle, VerbsError> change(MrHandle handle, const MemoryRegionChange& wanted);

  Result<MemoryWindow, VerbsError> add_window(PdHandle pd, WindowType type);
  /// The PD of the removed window, bound or not.
  Result<PdHandle, VerbsError> remove_window(MwHandle handle);
  std::optional<WindowType> type_of(MwHandle handle) const;
  /// Executes a bind by a QP with all checks of 10.6.7.2. False: refused, nothing has changed.
  bool bind(const WindowBinding& binding, PdHandle pd, QpHandle qp);
  /// Whether the QP may invalidate the key: that of a window of type 2B bound through it (10.6.7.2.6).
  bool may_invalidate(std::uint32_t key, PdHandle pd, QpHandle qp) const;
  /// Asserts may_invalidate().
  void invalidate(std::uint32_t key, PdHandle pd, QpHandle qp);

  /// Where [address, address + bytes) is, if the key, the PD, the QP, the bounds and the rights allow the access; else
  /// nowhere. Zero bytes with any key are allowed (IBTA 9.4.4: zero-length accesses are not checked).
  Translation translate(std::uint32_t key, PdHandle pd, QpHandle qp, std::uint64_t address, std::uint64_t bytes,
                        std::uint32_t access) {
    const std::uint32_t slot = key >> kKeyBits;
    if (slot >= slots_count_) return {};
    const Slot& entry = slots_[slot];
    if (entry.key != key || entry.plain_pd != pd || (entry.access & access) != access)
      return translate_rare(key, pd, qp, address, bytes, access);
    return entry.translate(address, bytes);
  }
  /// Why translate() gave nothing: when the pages of the access will be there, or kNever: it is not allowed. Whoever
  /// gets nothing asks, once.
  Time take_pages_due() { return std::exchange(pages_due_, kNever); }
  /// Whether the key is that of the PD's null region: reads give zeros, what is written vanishes, at any address.
  bool is_null(std::uint32_t key, PdHandle pd) const;
  /// ibv_advise_mr: the NIC learns the pages of the range. Returns where its first octet is. not_found: no key of an
  /// on-demand region; not_permitted: PD or rights; fault: out of bounds.
  Result<std::uint64_t, VerbsError> prefetch(const Sge& range, PdHandle pd, std::uint32_t access);

 private:
  static constexpr std::uint32_t kKeyBits = 8;  // the part of a key that changes with every use of a slot
  enum class Kind : std::uint8_t { free, region, paged_region, null_region, window_type1, window_type2 };

  struct Slot {
    PdHandle plain_pd;  // whose QPs may use it by what stands here alone; invalid: free, unbound, or for the long way
    std::uint32_t key = 0;
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
    std::uint64_t address = 0;  // where the octet at iova is, in `memory`
    Memory* memory = nullptr;   // a region's, or that of a bound window's region
    std::uint32_t access = 0;
    Kind kind = Kind::free;
    bool bound = false;         // a window
    PdHandle pd;                // whatever plain_pd says
    std::uint32_t windows = 0;  // a region: bound to it
    std::uint32_t region = 0;   // a bound window: the slot of its region, or 0
    QpHandle qp;                // a bound window of type 2
    bool is_pinned = false;     // as MemoryRegionInit has it
    std::uint64_t pinned_bytes = 0;

    /// Nowhere: out of bounds.
    Translation translate(std::uint64_t at, std::uint64_t bytes) const {
      // An address below the region gives an offset beyond its end: iova + length does not wrap (add).
      const std::uint64_t offset = at - iova;
      if (offset > length || bytes > length - offset) return {};
      return {memory, address + offset};
    }
  };

  /// The pages of an on-demand region that the NIC knows. Each has one place, which it may lose to another page.
  struct PageCache {
    static constexpr std::uint32_t kPageBits = 12;
    static constexpr std::uint64_t kPagesMax = 1 << 14;
    struct Page {
      std::uint64_t tag = 0;  // page number + 1
      Time due{};             // when it is there
    };
    std::vector<Page> pages;  // a power of two
    std::uint64_t known = 0;
  };

  [[gnu::cold]] Translation translate_rare(std::uint32_t key, PdHandle pd, QpHandle qp, std::uint64_t address,
                                           std::uint64_t bytes, std::uint32_t access);
  /// Makes the pages known; each that was not counts as `cause` and takes `delay`. Returns when all of them are there.
  Time learn_pages(std::uint32_t slot, std::uint64_t address, std::uint64_t bytes, Counter cause, Duration delay);
  /// Faults the pages of an access in. False: not all of them are there yet.
  bool fault_in(std::uint32_t slot, std::uint64_t address, std::uint64_t bytes);
  void forget_pages(std::uint32_t slot);
  /// What it counts for against NicLimits::max_pinned_bytes: all pages that have an octet of it.
  static std::uint64_t pinned_bytes(const MemoryRegionInit& init);
  /// `pinned_before`: by the region that is about to change.
  std::optional<VerbsError> objection(const MemoryRegionInit& init, std::uint64_t pinned_before) const;
  void fill(std::uint32_t slot, const MemoryRegionInit& init);
  std::uint32_t take_slot();
  void free_slot(std::uint32_t slot);
  Slot* find_region(std::uint32_t slot);
  Slot* find_window(std::uint32_t slot);
  const Slot* find_window(std::uint32_t slot) const { return const_cast<MemoryTable*>(this)->find_window(slot); }
  bool may_bind(const Slot& window, const WindowBinding& binding, PdHandle pd) const;
  void unbind(Slot& window);

  Memory& own_memory_;
  const bool has_octets_;  // own_memory_
  std::vector<Slot> slots_;
  std::uint32_t slots_count_ = 0;  // slots_.size()
  std::vector<std::uint32_t> free_;
  std::vector<PageCache> pages_;  // by slot, as far as on-demand regions reach
  Counters& counters_;
  const Time& now_;
  Duration fault_delay_;
  Time pages_due_ = kNever;
  std::uint32_t regions_ = 0;
  std::uint64_t pinned_bytes_ = 0;
  std::uint32_t windows_ = 0;
  NicLimits limits_;
  std::uint8_t next_key_;
};

}  // namespace verbena::nic
