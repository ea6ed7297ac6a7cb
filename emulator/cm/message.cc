#include "emulator/cm/message.h"

namespace verbena::cm {
namespace {

bool is_cm_datagram(const wire::PacketView& packet) {
  return packet.opcode().has_deth && packet.payload().size() == wire::kMadBytes && packet.deth().qkey == wire::kGsiQkey;
}

}  // namespace

std::optional<wire::MadHeader> mad_header(const wire::PacketView& packet) {
  if (!is_cm_datagram(packet)) return std::nullopt;
  const auto header = wire::MadHeaderLayout::parse(packet.payload().first<wire::MadHeaderLayout::bytes>());
  if (header.base_version != 1 || header.management_class != wire::kManagementClassCm ||
      header.class_version != wire::kCmClassVersion || header.method != wire::kMadMethodSend)
    return std::nullopt;
  return header;
}

}  // namespace verbena::cm
