// The verbs of memory: regions and windows come, change and go.
// Tested by: tests/nic/memory_verbs_test.cc
#include "emulator/nic/nic_private.h"

namespace verbena::nic {

VerbsResult<MemoryRegion> Nic::register_memory(const MemoryRegionInit& init) {
  ProtectionDomain* pd = state_->pds.find(init.pd);
  if (pd == nullptr) return Failure{VerbsError::invalid_argument};
  auto region = state_->regions.add(init);
  if (region) ++pd->users;
  return region;
}

VerbsResult<void> Nic::reregister_memory(MrHandle handle, const MemoryRegionChange& wanted) {
  NicState& nic = *state_;
  ProtectionDomain* const pd = wanted.pd ? nic.pds.find(*wanted.pd) : nullptr;
  if (wanted.pd && pd == nullptr) return Failure{VerbsError::invalid_argument};
  const auto before = nic.regions.change(handle, wanted);
  if (!before) return Failure{before.error()};
  if (pd != nullptr) {
    ++pd->users;
    --nic.pds.find(*before)->users;
  }
  return {};
}

VerbsResult<void> Nic::deregister_memory(MrHandle handle) {
  const auto pd = state_->regions.remove(handle);
  if (!pd) return Failure{pd.error()};
  --state_->pds.find(*pd)->users;
  return {};
}

VerbsResult<std::uint64_t> Nic::prefetch_memory(PdHandle pd, const Sge& range, bool for_writing) {
  return state_->regions.prefetch(range, pd, for_writing ? kLocalWrite : kLocalRead);
}

VerbsResult<MemoryWindow> Nic::allocate_window(PdHandle handle, WindowType type) {
  ProtectionDomain* pd = state_->pds.find(handle);
  if (pd == nullptr) return Failure{VerbsError::invalid_argument};
  auto window = state_->regions.add_window(handle, type);
  if (window) ++pd->users;
  return window;
}

VerbsResult<void> Nic::deallocate_window(MwHandle handle) {
  const auto pd = state_->regions.remove_window(handle);
  if (!pd) return Failure{pd.error()};
  --state_->pds.find(*pd)->users;
  return {};
}

}  // namespace verbena::nic
