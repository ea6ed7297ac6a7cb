#include "wire/packet_form.h"

#include <algorithm>

#include "wire/assert.h"

namespace verbena::wire {
namespace {

std::uint8_t place_of(const Encapsulation& encapsulation) {
  const auto rows = encapsulations();
  const auto found = std::ranges::find(rows, &encapsulation);
  VERBENA_ASSERT(found != rows.end());
  return static_cast<std::uint8_t>(found - rows.begin());
}

}  // namespace

PacketForm::PacketForm(const PacketView& view, std::span<const std::byte> bytes)
    : info_(view.info_),
      frame_bytes_(static_cast<std::uint32_t>(view.frame_.size())),
      icrc_(view.icrc_),
      frame_at_(static_cast<std::uint16_t>(view.frame_.data() - bytes.data())),
      payload_at_(static_cast<std::uint16_t>(view.payload_.data() - view.frame_.data())),
      payload_left_(static_cast<std::uint16_t>(view.payload_.size())),
      payload_bytes_(static_cast<std::uint16_t>(view.payload_bytes_)),
      opcode_(std::to_integer<std::uint8_t>(view.headers_[view.bth_at_])),
      ip_at_(view.ip_at_),
      bth_at_(view.bth_at_),
      ip_offset_(view.ip_offset_),
      recovery_bytes_(view.recovery_bytes_),
      telemetry_bytes_(view.telemetry_bytes_),
      encapsulation_(place_of(view.network().encapsulation())),
      is_ipv4_(view.is_ipv4_),
      is_whole_(view.is_whole_),
      has_trailer_(view.has_trailer_) {
  VERBENA_ASSERT(frame_at_ + view.frame_.size() <= bytes.size());
  VERBENA_ASSERT(payload_at_ + view.payload_.size() <= view.frame_.size());
}

PacketView PacketForm::view_of(std::span<const std::byte> bytes) const {
  VERBENA_ASSERT(frame_at_ + std::size_t{frame_bytes_} <= bytes.size());
  PacketView view{PacketView::Unparsed()};
  view.frame_ = bytes.subspan(frame_at_, frame_bytes_);
  const std::size_t made_bytes = std::size_t{ip_at_} - ip_offset_;  // an Ethernet header that the packet does not have
  const std::size_t copied = std::min(view.frame_.size(), PacketView::kHeaderBytesMax - made_bytes);
  std::copy_n(view.frame_.begin(), copied, view.headers_.begin() + static_cast<std::ptrdiff_t>(made_bytes));
  if (made_bytes != 0)
    EthernetLayout::emit({{}, {}, is_ipv4_ ? kEtherTypeIpv4 : kEtherTypeIpv6},
                         std::span(view.headers_).first<EthernetLayout::bytes>());
  view.headers_[bth_at_] = std::byte{opcode_};
  view.ip_at_ = ip_at_;
  view.bth_at_ = bth_at_;
  view.ip_offset_ = ip_offset_;
  view.is_ipv4_ = is_ipv4_;
  if (encapsulation_ != 0) {
    view.encapsulation_ = encapsulations()[encapsulation_];
    const Encapsulation& by = *view.encapsulation_;
    const auto places = by.is_on_ethernet ? find_places(view.frame_) : by.find(view.frame_, 0, 0);
    view.places_ = places.value_or(FramePlaces{});
  }
  view.is_whole_ = is_whole_;
  view.has_trailer_ = has_trailer_;
  view.recovery_bytes_ = recovery_bytes_;
  view.telemetry_bytes_ = telemetry_bytes_;
  view.icrc_ = icrc_;
  view.info_ = info_;
  view.payload_ = view.frame_.subspan(payload_at_, payload_left_);
  view.payload_bytes_ = payload_bytes_;
  return view;
}

}  // namespace verbena::wire
