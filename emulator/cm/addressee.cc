#include "emulator/cm/addressee.h"

#include "emulator/cm/message.h"

namespace verbena::cm {

std::optional<Addressee> addressee_of(const wire::PacketView& packet) {
  const auto header = mad_header(packet);
  if (!header) return std::nullopt;
  const auto body = packet.payload().subspan(wire::MadHeaderLayout::bytes);
  switch (header->attribute) {
    case wire::CmAttribute::request:
      return Addressee{0, parse<wire::CmRequestLayout>(body).service_id, asker_of<wire::CmRequestLayout>(body)};
    case wire::CmAttribute::service_request:
      return Addressee{0, parse<wire::CmServiceRequestLayout>(body).service_id,
                       asker_of<wire::CmServiceRequestLayout>(body)};
    case wire::CmAttribute::service_reply:
      return Addressee{parse<wire::CmServiceReplyLayout>(body).request_id, 0, {}};
    case wire::CmAttribute::reject: {
      const auto message = parse<wire::CmRejectLayout>(body);
      return Addressee{message.remote_id, 0, {}};
    }
    case wire::CmAttribute::message_receipt:
    case wire::CmAttribute::reply:
    case wire::CmAttribute::ready_to_use:
    case wire::CmAttribute::disconnect_request:
    case wire::CmAttribute::disconnect_reply:
    case wire::CmAttribute::load_alternate_path:
    case wire::CmAttribute::alternate_path_response:
      return Addressee{parse<wire::CmPairLayout>(body).remote_id, 0, {}};
  }
  return std::nullopt;
}

}  // namespace verbena::cm
