#include "wire/mad.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace verbena::wire {
namespace {

struct Named {
  std::uint16_t number;
  std::string_view name;
};

std::string_view find(std::span<const Named> among, std::uint16_t number) {
  const auto found = std::ranges::find(among, number, &Named::number);
  return found != among.end() ? found->name : std::string_view();
}

// 13.4.5; the tables of methods of each class have no others.
constexpr std::array kMethods{
    Named{kMethodGet, "Get"},
    Named{kMethodSet, "Set"},
    Named{kMethodSend, "Send"},
    Named{kMethodTrap, "Trap"},
    Named{kMethodReport, "Report"},
    Named{kMethodTrapRepress, "TrapRepress"},
    Named{kMethodGetTable, "GetTable"},
    Named{kMethodGetTraceTable, "GetTraceTable"},
    Named{kMethodGetMulti, "GetMulti"},
    Named{kMethodDelete, "Delete"},
    Named{kMethodGet | kMethodResponseBit, "GetResp"},
    Named{kMethodReport | kMethodResponseBit, "ReportResp"},
    Named{kMethodGetTable | kMethodResponseBit, "GetTableResp"},
    Named{kMethodGetMulti | kMethodResponseBit, "GetMultiResp"},
    Named{kMethodDelete | kMethodResponseBit, "DeleteResp"},
};

// 13.4.8: the same in all classes.
constexpr std::array kCommonAttributes{
    Named{0x01, "ClassPortInfo"},
    Named{0x02, "Notice"},
    Named{0x03, "InformInfo"},
};

// 14.2.5
constexpr std::array kSubnetAttributes{
    Named{0x10, "NodeDescription"},
    Named{0x11, "NodeInfo"},
    Named{0x12, "SwitchInfo"},
    Named{0x14, "GUIDInfo"},
    Named{0x15, "PortInfo"},
    Named{0x16, "P_KeyTable"},
    Named{0x17, "SLtoVLMappingTable"},
    Named{0x18, "VLArbitrationTable"},
    Named{0x19, "LinearForwardingTable"},
    Named{0x1a, "RandomForwardingTable"},
    Named{0x1b, "MulticastForwardingTable"},
    Named{0x1c, "LinkSpeedWidthPairsTable"},
    Named{0x1d, "VendorSpecificMadsTable"},
    Named{0x20, "SMInfo"},
    Named{0x30, "VendorDiag"},
    Named{0x31, "LedInfo"},
    Named{0x33, "CableInfo"},
};

// 15.2.5
constexpr std::array kAdministrationAttributes{
    Named{0x11, "NodeRecord"},
    Named{0x12, "PortInfoRecord"},
    Named{0x13, "SLtoVLMappingTableRecord"},
    Named{0x14, "SwitchInfoRecord"},
    Named{0x15, "LinearForwardingTableRecord"},
    Named{0x16, "RandomForwardingTableRecord"},
    Named{0x17, "MulticastForwardingTableRecord"},
    Named{0x18, "SMInfoRecord"},
    Named{0x19, "LinkSpeedWidthPairsTableRecord"},
    Named{0x20, "LinkRecord"},
    Named{0x30, "GuidInfoRecord"},
    Named{0x31, "ServiceRecord"},
    Named{0x33, "P_KeyTableRecord"},
    Named{0x35, "PathRecord"},
    Named{0x36, "VLArbitrationTableRecord"},
    Named{0x38, "MCMemberRecord"},
    Named{0x39, "TraceRecord"},
    Named{0x3a, "MultiPathRecord"},
    Named{0x3b, "ServiceAssociationRecord"},
    Named{0xf3, "InformInfoRecord"},
};

// 16.1.3, 16.1.4
constexpr std::array kPerformanceAttributes{
    Named{0x10, "PortSamplesControl"},
    Named{0x11, "PortSamplesResult"},
    Named{0x12, "PortCounters"},
    Named{0x15, "PortRcvErrorDetails"},
    Named{0x16, "PortXmitDiscardDetails"},
    Named{0x17, "PortOpRcvCounters"},
    Named{0x18, "PortFlowCtlCounters"},
    Named{0x19, "PortVLOpPackets"},
    Named{0x1a, "PortVLOpData"},
    Named{0x1b, "PortVLXmitFlowCtlUpdateErrors"},
    Named{0x1c, "PortVLXmitWaitCounters"},
    Named{0x1d, "PortCountersExtended"},
    Named{0x1e, "PortSamplesResultExtended"},
    Named{0x30, "SwPortVLCongestion"},
};

// 16.7.1
constexpr std::array kCommunicationAttributes{
    Named{0x10, "ConnectRequest"},
    Named{0x11, "MsgRcptAck"},
    Named{0x12, "ConnectReject"},
    Named{0x13, "ConnectReply"},
    Named{0x14, "ReadyToUse"},
    Named{0x15, "DisconnectRequest"},
    Named{0x16, "DisconnectReply"},
    Named{0x17, "ServiceIDResReq"},
    Named{0x18, "ServiceIDResReqResp"},
    Named{0x19, "LoadAlternatePath"},
    Named{0x1a, "AlternatePathResponse"},
};

struct Class {
  std::uint8_t number;
  std::string_view prefix;  // of its methods
  std::span<const Named> attributes;
};

constexpr std::array kClasses{
    Class{kClassSubnetLid, "Subn", kSubnetAttributes},
    Class{kClassSubnetDirected, "Subn", kSubnetAttributes},
    Class{kClassSubnetAdministration, "SubnAdm", kAdministrationAttributes},
    Class{kClassPerformance, "Perf", kPerformanceAttributes},
    Class{kClassBoard, "BM", {}},
    Class{kClassDevice, "DevMgt", {}},
    Class{kClassCommunication, "ComMgt", kCommunicationAttributes},
    Class{kClassSnmp, "SnmpTunnel", {}},
    Class{kClassCongestion, "CongCtrl", {}},
};

}  // namespace

std::string mad_name(const AnyMadHeader& header) {
  const auto of = std::ranges::find(kClasses, header.management_class, &Class::number);
  if (of == kClasses.end())
    return fmt::format("MAD class {:#x} method {:#x} attribute {:#x}", header.management_class, header.method,
                       header.attribute);
  std::string text(of->prefix);
  const std::string_view method = find(kMethods, header.method);
  text += method.empty() ? fmt::format("Method {:#x}", header.method) : std::string(method);
  std::string_view attribute = find(kCommonAttributes, header.attribute);
  if (attribute.empty()) attribute = find(of->attributes, header.attribute);
  return text +
         (attribute.empty() ? fmt::format("(attribute {:#x})", header.attribute) : fmt::format("({})", attribute));
}

}  // namespace verbena::wire
