#include "emulator/cm/message.h"

namespace verbena::cm {
namespace {

bool is_cm_datagram(const wire::PacketView& packet) {
  return packet.opcode().has_deth && packet.payload().size() == wire::kMadBytes && packet.deth().qkey == wire::kGsiQkey;
}

}  // namespace

std::optional<wire::MadHeader> mad_header(const wire::PacketView& packet) {
  return is_cm_datagram(packet) ? wire::cm_header_in(packet.payload()) : std::nullopt;
}

}  // namespace verbena::cm
