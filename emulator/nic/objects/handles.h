// Handles: how the objects of a NIC are named, and how a call about one is refused.
// Tested by: tests/nic/queue_test.cc
#pragma once

#include <compare>
#include <cstdint>

#include "wire/result.h"

namespace verbena::nic {

/// A handle names an object of one NIC. Handles are never reused while the object lives; a stale one is answered with
/// VerbsError::invalid_argument.
template <class Tag>
struct Handle {
  std::uint32_t index = UINT32_MAX;
  constexpr auto operator<=>(const Handle&) const = default;
  constexpr bool valid() const { return index != UINT32_MAX; }
};
using PdHandle = Handle<struct PdTag>;
using MrHandle = Handle<struct MrTag>;
using MwHandle = Handle<struct MwTag>;
using AhHandle = Handle<struct AhTag>;
using CqHandle = Handle<struct CqTag>;
using SrqHandle = Handle<struct SrqTag>;
using QpHandle = Handle<struct QpTag>;
using XrcDomainHandle = Handle<struct XrcDomainTag>;
using WorkQueueHandle = Handle<struct WorkQueueTag>;
using IndirectionTableHandle = Handle<struct IndirectionTableTag>;
using FlowHandle = Handle<struct FlowTag>;
using FlowCountersHandle = Handle<struct FlowCountersTag>;

enum class VerbsError : std::uint8_t {
  invalid_argument,  // EINVAL
  no_memory,         // ENOMEM: a limit is reached or a queue is full
  busy,              // EBUSY: still in use
  not_supported,     // EOPNOTSUPP
  fault,             // EFAULT
  not_found,         // ENOENT
  not_permitted,     // EPERM
  no_device,         // EIO: Nic::remove_device
};
template <class T>
using VerbsResult = Result<T, VerbsError>;

}  // namespace verbena::nic
