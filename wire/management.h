// Datagrams of the communication manager: the messages of class 7 behind a MAD's header (mad.h), as plain values in
// host order, each with its one layout.
//
// Solely responsible for where each field lies. What the messages mean belongs to emulator/cm. A MAD is 256 octets:
// the header, then the message's own fields, then private data up to the end, of which there is as much as each
// message leaves. Sources: IBTA vol 1, 13.4.3 (MAD), 12.6 and 12.11 (CM messages); annex A11 (IP addressing header).
// Tested by: tests/cm/kernel_capture_test.cc
#pragma once

#include <array>
#include <optional>
#include <span>

#include "wire/layout.h"
#include "wire/mad.h"
#include "wire/types.h"

namespace verbena::wire {

inline constexpr std::uint32_t kGsiQkey = 0x80010000;  // 3.5.3: the well-known Q_Key of QP1
inline constexpr std::uint8_t kManagementClassCm = kClassCommunication;
inline constexpr std::uint8_t kCmClassVersion = 2;
inline constexpr std::uint8_t kMadMethodSend = kMethodSend;

enum class CmAttribute : std::uint16_t {
  request = 0x10,
  message_receipt = 0x11,
  reject = 0x12,
  reply = 0x13,
  ready_to_use = 0x14,
  disconnect_request = 0x15,
  disconnect_reply = 0x16,
  service_request = 0x17,  // SIDR_REQ
  service_reply = 0x18,    // SIDR_REP
  load_alternate_path = 0x19,
  alternate_path_response = 0x1a,
};

using MadHeader = MadHeaderOf<CmAttribute>;

/// 12.6.5
struct CmRequest {
  std::uint32_t local_id = 0;
  std::uint32_t reserved4 = 0;
  std::uint64_t service_id = 0;
  std::uint64_t local_ca_guid = 0;
  std::uint32_t reserved24 = 0;
  std::uint32_t local_qkey = 0;
  Qpn local_qpn;
  std::uint8_t responder_resources = 0;
  std::uint32_t local_eecn = 0;
  std::uint8_t initiator_depth = 0;
  std::uint32_t remote_eecn = 0;
  std::uint8_t remote_cm_response_timeout = 0;
  std::uint8_t transport_service_type = 0;
  bool end_to_end_flow_control = false;
  Psn starting_psn;
  std::uint8_t local_cm_response_timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint16_t pkey = 0xffff;
  std::uint8_t path_mtu = 0;
  bool rdc_exists = false;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t max_cm_retries = 0;
  bool srq = false;
  std::uint8_t extended_transport_type = 0;
  std::uint16_t primary_local_lid = 0xffff;
  std::uint16_t primary_remote_lid = 0xffff;
  Gid primary_local_gid;
  Gid primary_remote_gid;
  std::uint32_t primary_flow_label = 0;
  std::uint8_t reserved90 = 0;
  std::uint8_t primary_packet_rate = 0;
  std::uint8_t primary_traffic_class = 0;
  std::uint8_t primary_hop_limit = 64;
  std::uint8_t primary_service_level = 0;
  bool primary_subnet_local = false;
  std::uint8_t reserved94 = 0;
  std::uint8_t primary_local_ack_timeout = 0;
  std::uint8_t reserved95 = 0;
  // The alternate path: 40 octets of zeros where there is none, for a long time all there is.
  std::uint16_t alternate_local_lid = 0;
  std::uint16_t alternate_remote_lid = 0;
  Gid alternate_local_gid;
  Gid alternate_remote_gid;
  std::uint64_t alternate_rest = 0;
};

/// 12.6.8
struct CmReply {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint32_t local_qkey = 0;
  Qpn local_qpn;
  std::uint8_t reserved15 = 0;
  std::uint32_t local_eecn = 0;
  std::uint8_t reserved19 = 0;
  Psn starting_psn;
  std::uint8_t reserved23 = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;
  std::uint8_t failover_accepted = 0;
  bool end_to_end_flow_control = false;
  std::uint8_t rnr_retry_count = 0;
  bool srq = false;
  std::uint8_t reserved27 = 0;
  std::uint64_t local_ca_guid = 0;
};

/// RTU and DREP, 12.6.9 and 12.6.11: nothing but who speaks to whom. All other messages between known ends begin so.
struct CmPair {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
};

/// 12.6.7
struct CmReject {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint8_t message = 0;
  std::uint8_t reserved8 = 0;
  std::uint8_t info_bytes = 0;
  bool reserved9 = false;
  std::uint16_t reason = 0;
};
inline constexpr std::size_t kCmRejectInfoBytes = 72;

// CmReject::message, CmReceipt::message: which of the sender's messages is meant.
inline constexpr std::uint8_t kMessageRequest = 0;
inline constexpr std::uint8_t kMessageReply = 1;
inline constexpr std::uint8_t kMessageOther = 2;

/// 12.6.6
struct CmReceipt {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint8_t message = 0;
  std::uint8_t reserved8 = 0;
  std::uint8_t service_timeout = 0;
  std::uint8_t reserved9 = 0;
};

/// 12.6.10
struct CmDisconnect {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  Qpn remote_qpn;
  std::uint8_t reserved11 = 0;
};

/// 12.11.1
struct CmServiceRequest {
  std::uint32_t request_id = 0;
  std::uint16_t pkey = 0xffff;
  std::uint16_t reserved6 = 0;
  std::uint64_t service_id = 0;
};

/// 12.11.2
struct CmServiceReply {
  std::uint32_t request_id = 0;
  std::uint8_t status = 0;
  std::uint8_t info_bytes = 0;
  std::uint16_t reserved6 = 0;
  Qpn qpn;
  std::uint8_t reserved11 = 0;
  std::uint64_t service_id = 0;
  std::uint32_t qkey = 0;
};
inline constexpr std::size_t kCmServiceInfoBytes = 72;

/// 12.8.2: the answer to LAP.
struct CmPathResponse {
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint8_t info_bytes = 0;
  std::uint8_t status = 0;
  std::uint16_t reserved10 = 0;
};

/// Annex A11: what rdma_cm puts in front of the private data of REQ and SIDR_REQ.
struct IpAddressingHeader {
  std::uint8_t version = 0;  // major and minor
  std::uint8_t ip_version = 4;
  std::uint8_t reserved = 0;
  std::uint16_t source_port = 0;
  Gid source;  // an IPv4 address lies in the last four octets, behind zeros
  Gid destination;
};
/// Of whom a service is asked, by what that header says, or whom it is for.
struct IpVersions {
  bool ipv4 = false;
  bool ipv6 = false;
  bool none = false;  // there is no such header: ports are named by their GIDs
  bool operator==(const IpVersions&) const = default;
};
inline constexpr IpVersions kBothIpVersions{true, true};
inline constexpr IpVersions kAnyIpVersion{true, true, true};

/// One of them.
enum class IpVersion : std::uint8_t { ipv4, ipv6, none };
inline constexpr std::array kIpVersions{IpVersion::ipv4, IpVersion::ipv6, IpVersion::none};
constexpr bool includes(IpVersions versions, IpVersion version) {
  switch (version) {
    case IpVersion::ipv4:
      return versions.ipv4;
    case IpVersion::ipv6:
      return versions.ipv6;
    case IpVersion::none:
      return versions.none;
  }
  return false;
}

/// Of a REJ (12.6.7.2).
enum class RejectReason : std::uint16_t {
  no_qp = 1,
  no_eec = 2,
  no_resources = 3,
  timeout = 4,
  unsupported = 5,
  invalid_communication_id = 6,
  invalid_communication_instance = 7,
  invalid_service_id = 8,
  invalid_transport_type = 9,
  stale_connection = 10,
  no_rdc = 11,
  invalid_gid = 12,
  invalid_lid = 13,
  invalid_sl = 14,
  invalid_traffic_class = 15,
  invalid_hop_limit = 16,
  invalid_packet_rate = 17,
  invalid_alternate_gid = 18,
  invalid_alternate_lid = 19,
  invalid_alternate_sl = 20,
  invalid_alternate_traffic_class = 21,
  invalid_alternate_hop_limit = 22,
  invalid_alternate_packet_rate = 23,
  port_and_cm_redirection = 24,
  port_redirection = 25,
  invalid_mtu = 26,
  insufficient_responder_resources = 27,
  consumer_defined = 28,
  invalid_rnr_retry = 29,
  duplicate_communication_id = 30,
  invalid_class_version = 31,
  invalid_flow_label = 32,
  invalid_alternate_flow_label = 33,
  vendor_option = 35,
};

// -- The layouts ---------------------------------------------------------------------------------------------------

using MadHeaderLayout = MadHeaderLayoutOf<MadHeader>;
static_assert(MadHeaderLayout::bytes == 24);

/// The header of a message between communication managers. Nothing: the datagram is none, or its header is cut off.
inline std::optional<MadHeader> cm_header_in(std::span<const std::byte> datagram) {
  if (datagram.size() < MadHeaderLayout::bytes) return std::nullopt;
  const auto header = MadHeaderLayout::parse(datagram.first<MadHeaderLayout::bytes>());
  const bool is_message = header.base_version == 1 && header.management_class == kManagementClassCm &&
                          header.class_version == kCmClassVersion && header.method == kMadMethodSend;
  return is_message ? std::optional(header) : std::nullopt;
}
/// Which message it is.
inline std::optional<CmAttribute> cm_message_in(std::span<const std::byte> datagram) {
  const auto header = cm_header_in(datagram);
  return header ? std::optional(header->attribute) : std::nullopt;
}

using CmRequestLayout =
    Layout<Field<&CmRequest::local_id, 32>, Field<&CmRequest::reserved4, 32>, Field<&CmRequest::service_id, 64>,
           Field<&CmRequest::local_ca_guid, 64>, Field<&CmRequest::reserved24, 32>, Field<&CmRequest::local_qkey, 32>,
           Field<&CmRequest::local_qpn, 24>, Field<&CmRequest::responder_resources, 8>,
           Field<&CmRequest::local_eecn, 24>, Field<&CmRequest::initiator_depth, 8>, Field<&CmRequest::remote_eecn, 24>,
           Field<&CmRequest::remote_cm_response_timeout, 5>, Field<&CmRequest::transport_service_type, 2>,
           Field<&CmRequest::end_to_end_flow_control, 1>, Field<&CmRequest::starting_psn, 24>,
           Field<&CmRequest::local_cm_response_timeout, 5>, Field<&CmRequest::retry_count, 3>,
           Field<&CmRequest::pkey, 16>, Field<&CmRequest::path_mtu, 4>, Field<&CmRequest::rdc_exists, 1>,
           Field<&CmRequest::rnr_retry_count, 3>, Field<&CmRequest::max_cm_retries, 4>, Field<&CmRequest::srq, 1>,
           Field<&CmRequest::extended_transport_type, 3>, Field<&CmRequest::primary_local_lid, 16>,
           Field<&CmRequest::primary_remote_lid, 16>, Field<&CmRequest::primary_local_gid, 128>,
           Field<&CmRequest::primary_remote_gid, 128>, Field<&CmRequest::primary_flow_label, 20>,
           Field<&CmRequest::reserved90, 6>, Field<&CmRequest::primary_packet_rate, 6>,
           Field<&CmRequest::primary_traffic_class, 8>, Field<&CmRequest::primary_hop_limit, 8>,
           Field<&CmRequest::primary_service_level, 4>, Field<&CmRequest::primary_subnet_local, 1>,
           Field<&CmRequest::reserved94, 3>, Field<&CmRequest::primary_local_ack_timeout, 5>,
           Field<&CmRequest::reserved95, 3>, Field<&CmRequest::alternate_local_lid, 16>,
           Field<&CmRequest::alternate_remote_lid, 16>, Field<&CmRequest::alternate_local_gid, 128>,
           Field<&CmRequest::alternate_remote_gid, 128>, Field<&CmRequest::alternate_rest, 64>>;
static_assert(CmRequestLayout::bytes == 140);

using CmReplyLayout =
    Layout<Field<&CmReply::local_id, 32>, Field<&CmReply::remote_id, 32>, Field<&CmReply::local_qkey, 32>,
           Field<&CmReply::local_qpn, 24>, Field<&CmReply::reserved15, 8>, Field<&CmReply::local_eecn, 24>,
           Field<&CmReply::reserved19, 8>, Field<&CmReply::starting_psn, 24>, Field<&CmReply::reserved23, 8>,
           Field<&CmReply::responder_resources, 8>, Field<&CmReply::initiator_depth, 8>,
           Field<&CmReply::target_ack_delay, 5>, Field<&CmReply::failover_accepted, 2>,
           Field<&CmReply::end_to_end_flow_control, 1>, Field<&CmReply::rnr_retry_count, 3>, Field<&CmReply::srq, 1>,
           Field<&CmReply::reserved27, 4>, Field<&CmReply::local_ca_guid, 64>>;
static_assert(CmReplyLayout::bytes == 36);

using CmPairLayout = Layout<Field<&CmPair::local_id, 32>, Field<&CmPair::remote_id, 32>>;
static_assert(CmPairLayout::bytes == 8);

using CmRejectLayout =
    Layout<Field<&CmReject::local_id, 32>, Field<&CmReject::remote_id, 32>, Field<&CmReject::message, 2>,
           Field<&CmReject::reserved8, 6>, Field<&CmReject::info_bytes, 7>, Field<&CmReject::reserved9, 1>,
           Field<&CmReject::reason, 16>>;
static_assert(CmRejectLayout::bytes == 12);

using CmReceiptLayout =
    Layout<Field<&CmReceipt::local_id, 32>, Field<&CmReceipt::remote_id, 32>, Field<&CmReceipt::message, 2>,
           Field<&CmReceipt::reserved8, 6>, Field<&CmReceipt::service_timeout, 5>, Field<&CmReceipt::reserved9, 3>>;
static_assert(CmReceiptLayout::bytes == 10);

using CmDisconnectLayout = Layout<Field<&CmDisconnect::local_id, 32>, Field<&CmDisconnect::remote_id, 32>,
                                  Field<&CmDisconnect::remote_qpn, 24>, Field<&CmDisconnect::reserved11, 8>>;
static_assert(CmDisconnectLayout::bytes == 12);

using CmServiceRequestLayout =
    Layout<Field<&CmServiceRequest::request_id, 32>, Field<&CmServiceRequest::pkey, 16>,
           Field<&CmServiceRequest::reserved6, 16>, Field<&CmServiceRequest::service_id, 64>>;
static_assert(CmServiceRequestLayout::bytes == 16);

using CmServiceReplyLayout = Layout<Field<&CmServiceReply::request_id, 32>, Field<&CmServiceReply::status, 8>,
                                    Field<&CmServiceReply::info_bytes, 8>, Field<&CmServiceReply::reserved6, 16>,
                                    Field<&CmServiceReply::qpn, 24>, Field<&CmServiceReply::reserved11, 8>,
                                    Field<&CmServiceReply::service_id, 64>, Field<&CmServiceReply::qkey, 32>>;
static_assert(CmServiceReplyLayout::bytes == 24);

using CmPathResponseLayout = Layout<Field<&CmPathResponse::local_id, 32>, Field<&CmPathResponse::remote_id, 32>,
                                    Field<&CmPathResponse::info_bytes, 8>, Field<&CmPathResponse::status, 8>,
                                    Field<&CmPathResponse::reserved10, 16>>;
static_assert(CmPathResponseLayout::bytes == 12);

using IpAddressingHeaderLayout =
    Layout<Field<&IpAddressingHeader::version, 8>, Field<&IpAddressingHeader::ip_version, 4>,
           Field<&IpAddressingHeader::reserved, 4>, Field<&IpAddressingHeader::source_port, 16>,
           Field<&IpAddressingHeader::source, 128>, Field<&IpAddressingHeader::destination, 128>>;
static_assert(IpAddressingHeaderLayout::bytes == 36);

// Private data, per message: what is left of the MAD.
template <class MessageLayout>
inline constexpr std::size_t kCmPrivateBytes = kMadBytes - MadHeaderLayout::bytes - MessageLayout::bytes;
static_assert(kCmPrivateBytes<CmRequestLayout> == 92 && kCmPrivateBytes<CmReplyLayout> == 196 &&
              kCmPrivateBytes<CmPairLayout> == 224 && kCmPrivateBytes<CmDisconnectLayout> == 220 &&
              kCmPrivateBytes<CmRejectLayout> - kCmRejectInfoBytes == 148 &&
              kCmPrivateBytes<CmServiceRequestLayout> == 216 &&
              kCmPrivateBytes<CmServiceReplyLayout> - kCmServiceInfoBytes == 136);
inline constexpr std::size_t kCmPrivateBytesMax = kCmPrivateBytes<CmPairLayout>;

}  // namespace verbena::wire
