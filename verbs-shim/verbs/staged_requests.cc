#include "verbs-shim/verbs/staged_requests.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "wire/assert.h"

namespace verbena::shim {

std::unique_ptr<StagedRequests> StagedRequests::make(const nic::QpCapabilities& capabilities) {
  std::unique_ptr<StagedRequests> staged(new (std::nothrow) StagedRequests);
  if (!staged) return nullptr;
  staged->capacity = std::max(1u, capabilities.max_send_wr);
  staged->sges_per_request = std::max(1u, capabilities.max_send_sge);
  staged->inline_bytes_per_request = capabilities.max_inline_data;
  const std::size_t requests_bytes = staged->capacity * sizeof(nic::SendRequest);
  const std::size_t sges_bytes = std::size_t{staged->capacity} * staged->sges_per_request * sizeof(nic::Sge);
  const std::size_t windows_bytes = staged->capacity * sizeof(ibv_mw*);
  const std::size_t inline_bytes = std::size_t{staged->capacity} * staged->inline_bytes_per_request;
  staged->memory_bytes_ = requests_bytes + sges_bytes + windows_bytes + inline_bytes;
  staged->memory_ =
      mmap(nullptr, staged->memory_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (staged->memory_ == MAP_FAILED) {
    staged->memory_ = nullptr;
    return nullptr;
  }
  auto* const bytes = static_cast<std::byte*>(staged->memory_);
  staged->requests = reinterpret_cast<nic::SendRequest*>(bytes);
  staged->sges = reinterpret_cast<nic::Sge*>(bytes + requests_bytes);
  staged->windows = reinterpret_cast<ibv_mw**>(bytes + requests_bytes + sges_bytes);
  staged->inline_data = bytes + requests_bytes + sges_bytes + windows_bytes;
  return staged;
}

StagedRequests::~StagedRequests() {
  if (memory_ != nullptr) munmap(memory_, memory_bytes_);
}

void StagedRequests::clear() {
  error = 0;
  count = 0;
}

nic::SendRequest* StagedRequests::append() {
  if (error != 0) return nullptr;
  if (count == capacity) {
    refuse(ENOMEM);
    return nullptr;
  }
  return new (&requests[count++]) nic::SendRequest;
}

void StagedRequests::set_sges(std::size_t number, const ibv_sge* list) {
  nic::SendRequest* const request = current();
  if (request == nullptr) return refuse(EINVAL);
  if (number > sges_per_request) return refuse(EINVAL);
  VERBENA_ASSERT(count != 0 && count <= capacity);
  nic::Sge* const into = sges + std::size_t{count - 1} * sges_per_request;
  for (std::size_t i = 0; i < number; ++i) into[i] = {list[i].addr, list[i].length, list[i].lkey};
  request->sges = {into, number};
}

void StagedRequests::set_inline(std::size_t number, const ibv_data_buf* list) {
  nic::SendRequest* const request = current();
  if (request == nullptr) return refuse(EINVAL);
  std::byte* const into = inline_data + std::size_t{count - 1} * inline_bytes_per_request;
  std::size_t length = 0;
  for (std::size_t i = 0; i < number; ++i) {
    if (list[i].length > inline_bytes_per_request - length) return refuse(EINVAL);
    if (list[i].length != 0) std::memcpy(into + length, list[i].addr, list[i].length);
    length += list[i].length;
  }
  nic::Sge* const sge = sges + std::size_t{count - 1} * sges_per_request;
  *sge = {reinterpret_cast<std::uint64_t>(into), static_cast<std::uint32_t>(length), 0};
  request->inline_data = true;
  request->sges = {sge, length == 0 ? std::size_t{0} : std::size_t{1}};
}

}  // namespace verbena::shim
