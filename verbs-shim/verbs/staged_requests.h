// StagedRequests: what an extended QP collects between wr_start and wr_complete.
//
// Sized once, from the granted capabilities; nothing here allocates afterwards. The pages behind it come from the
// kernel when first touched, so a large send queue costs memory only as far as it is used in one batch.
// Tested by: tests/shim/verbs/extended_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/work_request.h"

namespace verbena::shim {

inline constexpr std::size_t kAtomicWriteBytes = 8;

struct StagedRequests {
  /// Null: no memory.
  static std::unique_ptr<StagedRequests> make(const nic::QpCapabilities& capabilities);
  ~StagedRequests();

  /// Forgets what was collected.
  void clear();
  /// The next request, or null after recording an error: the send queue could never hold so many.
  nic::SendRequest* append();
  /// The request being built, or null.
  nic::SendRequest* current() { return count == 0 || error != 0 ? nullptr : &requests[count - 1]; }
  /// Records the first error of the batch.
  void refuse(int reason) {
    if (error == 0) error = reason;
  }

  void set_sges(std::size_t number, const ibv_sge* list);
  void set_inline(std::size_t number, const ibv_data_buf* list);

  std::mutex mutex;  // held from wr_start to wr_complete or wr_abort
  int error = 0;
  std::uint32_t count = 0;
  std::uint32_t capacity = 0;
  std::uint32_t sges_per_request = 0;
  std::uint32_t inline_bytes_per_request = 0;
  nic::SendRequest* requests = nullptr;
  nic::Sge* sges = nullptr;          // sges_per_request for each
  ibv_mw** windows = nullptr;        // one for each; set where the request binds one
  std::byte* inline_data = nullptr;  // inline_bytes_per_request for each

 private:
  void* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
};

}  // namespace verbena::shim
