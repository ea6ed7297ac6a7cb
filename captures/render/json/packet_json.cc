#include "captures/render/json/packet_json.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "captures/render/words/notes.h"
#include "captures/render/words/packet_words.h"
#include "captures/render/words/total_rows.h"
#include "wire/grh.h"
#include "wire/infiniband.h"
#include "wire/member_name.h"
#include "wire/packet_text.h"
#include "wire/roce_v1.h"

namespace verbena::captures {

namespace {

using Json = nlohmann::ordered_json;

/// A capture's comments, and names of interfaces, are anybody's octets.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <auto kMember, class Value>
Json field_json(const Value& value) {
  if constexpr (std::is_same_v<Value, wire::MacAddress> || std::is_same_v<Value, wire::Gid>) {
    return wire::to_text(value);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value;
  } else {
    return wire::layout_detail::to_word(value);
  }
}
template <>
Json field_json<&wire::Ipv4::source>(const std::uint32_t& value) {
  return wire::to_text(wire::Gid::from_ipv4(value));
}
template <>
Json field_json<&wire::Ipv4::destination>(const std::uint32_t& value) {
  return wire::to_text(wire::Gid::from_ipv4(value));
}

template <class HeaderLayout>
Json header_json(const typename HeaderLayout::Header& header) {
  Json fields = Json::object();
  HeaderLayout::visit(header, [&]<class OneField>(const auto& value) {
    fields[std::string(wire::member_name<OneField::member>())] = field_json<OneField::member>(value);
  });
  return fields;
}

/// Up to the BTH.
void add_network_headers(Json& headers, const wire::PacketView& view) {
  const wire::FramePlaces places = view.network().places();
  if (!view.network().encapsulation().is_on_ethernet) {
    const auto frame = view.frame();
    constexpr std::size_t kLrhBytes = wire::LocalRouteHeaderLayout::bytes;
    headers["lrh"] =
        header_json<wire::LocalRouteHeaderLayout>(wire::LocalRouteHeaderLayout::parse(frame.first<kLrhBytes>()));
    if (places.network_bytes != 0)
      headers["grh"] = header_json<wire::GrhLayout>(
          wire::GrhLayout::parse(frame.subspan(places.network_at).first<wire::GrhLayout::bytes>()));
    return;
  }
  headers["ethernet"] = header_json<wire::EthernetLayout>(view.ethernet());
  if (const auto vlan = view.vlan()) headers["vlan"] = header_json<wire::VlanLayout>(*vlan);
  if (view.network().header() == wire::NetworkHeader::grh)
    headers["grh"] = header_json<wire::GrhLayout>(wire::grh_of(view));
  else if (view.ip().is_v4())
    headers["ipv4"] = header_json<wire::Ipv4Layout>(view.ip().v4());
  else
    headers["ipv6"] = header_json<wire::Ipv6Layout>(view.ip().v6());
  if (view.network().header() != wire::NetworkHeader::grh) headers["udp"] = header_json<wire::UdpLayout>(view.udp());
}

Json headers_json(const wire::PacketView& view) {
  const wire::OpcodeInfo& info = view.opcode();
  Json headers = Json::object();
  add_network_headers(headers, view);
  headers["bth"] = header_json<wire::BthLayout>(view.bth());
  if (info.has_xrceth) headers["xrceth"] = header_json<wire::XrcethLayout>(view.xrceth());
  if (info.has_deth) headers["deth"] = header_json<wire::DethLayout>(view.deth());
  if (info.has_reth) headers["reth"] = header_json<wire::RethLayout>(view.reth());
  if (info.has_atomic_eth) headers["atomic_eth"] = header_json<wire::AtomicEthLayout>(view.atomic_eth());
  if (info.has_aeth) headers["aeth"] = header_json<wire::AethLayout>(view.aeth());
  if (info.has_atomic_ack_eth) headers["atomic_ack_eth"] = header_json<wire::AtomicAckEthLayout>(view.atomic_ack_eth());
  if (info.has_immediate) headers["immediate"] = header_json<wire::ImmDtLayout>(view.immediate());
  if (info.has_invalidate) headers["ieth"] = header_json<wire::IethLayout>(view.ieth());
  if (const auto placement = placement_of(view))
    headers["placement_eth"] = header_json<wire::PlacementEthLayout>(*placement);
  if (const auto sack = sack_of(view)) headers["sack_eth"] = header_json<wire::SackEthLayout>(*sack);
  return headers;
}

std::string_view direction_name(wire::Direction direction) {
  switch (direction) {
    case wire::Direction::unknown:
      return "";
    case wire::Direction::inbound:
      return "inbound";
    case wire::Direction::outbound:
      return "outbound";
  }
  return "";
}

std::string_view integrity_word(wire::Integrity integrity) {
  switch (integrity) {
    case wire::Integrity::right:
      return "right";
    case wire::Integrity::wrong:
      return "wrong";
    case wire::Integrity::unknown:
      return "unknown";
  }
  return "";
}

Json texts_json(const std::vector<Note>& notes, bool problems) {
  Json texts = Json::array();
  for (const Note& note : notes)
    if (note.is_problem == problems) texts.push_back(note.text);
  return texts;
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string packet_json(const ToldPacket& told) {
  const auto& [packet, view, judged, conversation, first_sighting] = told;
  const std::vector<Note> notes = notes_of(packet, view, judged);
  Json json{{"kind", "packet"},
            {"number", packet.number},
            {"time_ns", packet.time.ns},
            {"conversation", conversation},
            {"sender", judged.sender},
            {"source", wire::to_text(view.source())},
            {"destination", wire::to_text(view.destination())},
            {"opcode", view.opcode().name},
            {"text", words(view, judged)},
            {"payload_bytes", view.payload_bytes()},
            {"relative_psn", or_null(judged.relative)},
            {"is_again", judged.is_again},
            {"is_dropped", packet.was_dropped()},
            {"direction", direction_name(packet.captured.direction)},
            {"interface", packet.captured.interface_name},
            {"comment", packet.captured.comment},
            {"layers", packet.layers},
            {"carried_by", view.network().encapsulation().name},
            {"lacks_headers", packet.lacks_headers},
            {"frame_bytes", packet.captured.original_bytes},
            {"icrc", integrity_word(judged.integrity)},
            {"problems", texts_json(notes, true)},
            {"remarks", texts_json(notes, false)}};
  if (const std::string management = management_name(view); !management.empty()) json["management"] = management;
  if (view.opcode().has_aeth) json["answer"] = wire::to_text(wire::Syndrome::decode(view.aeth().syndrome));
  if (first_sighting != nullptr) json["seen_first"] = first_sighting->number;
  if (view.network().encapsulation().trailer_bytes != 0) json["vcrc"] = integrity_word(wire::trailer_integrity(view));
  json["headers"] = headers_json(view);
  return dump(json);
}

std::string pause_json(const PausePacket& packet) {
  Json classes = Json::array();
  for (std::size_t i = 0; packet.frame.is_by_class && i < wire::kPauseClasses; ++i)
    if ((packet.frame.classes >> i & 1) != 0) classes.push_back({{"class", i}, {"quanta", packet.frame.quanta[i]}});
  Json json{{"kind", "pause"},
            {"number", packet.number},
            {"time_ns", packet.time.ns},
            {"source", wire::to_text(packet.frame.source)},
            {"text", wire::to_text(packet.frame)}};
  if (packet.frame.is_by_class)
    json["classes"] = std::move(classes);
  else
    json["quanta"] = packet.frame.quanta[0];
  return dump(json);
}

std::string pauses_json(const Pauses& pauses) {
  std::string text;
  for (const PauseRow& row : pauses.rows())
    text += dump({{"kind", "pauses"},
                  {"source", wire::to_text(row.source)},
                  {"class", row.is_by_class ? Json(row.traffic_class) : Json(nullptr)},
                  {"stops", row.stops},
                  {"resumes", row.resumes},
                  {"stopped_ns_least", row.stopped.ns}}) +
            "\n";
  return text;
}

std::string conversation_json(const Conversation& conversation, std::size_t number, const Sums& sums) {
  Json json{{"kind", "conversation"},
            {"number", number},
            {"transport", transport_name(conversation.transport)},
            {"path_mtu_bytes", conversation.path_mtu_bytes},
            {"packets", conversation.packets.size()},
            {"seen_again", conversation.again.size()},
            {"duration_ns", sums.duration.ns},
            {"ends", Json::array()}};
  for (std::size_t i = 0; i < conversation.ends.size(); ++i) {
    const End& end = conversation.ends[i];
    Json sent = Json::object();
    for (const TotalRow& row : total_rows()) sent[std::string(row.name)] = sums.totals[i].*row.value;
    json["ends"].push_back({{"address", wire::to_text(end.address)},
                            {"qpn", end.qpn ? Json(end.qpn->value()) : Json(nullptr)},
                            {"held_back_times", sums.held_back[i].times},
                            {"held_back_ns", sums.held_back[i].time.ns},
                            {"sent", std::move(sent)}});
    if (const auto& silence = sums.silences[i])
      json["ends"].back()["unanswered"] = {{"since_ns", silence->since.ns},
                                           {"was_answered_before", silence->was_answered},
                                           {"timeouts", silence->attempts},
                                           {"silent_ns", sums.until_end.ns}};
  }
  return dump(json);
}

nlohmann::ordered_json kinds_json(const std::vector<Kind>& kinds) {
  Json json = Json::object();
  for (const Kind& kind : kinds) json[kind.name] = kind.count;
  return json;
}

std::string file_json(const Capture& capture, Outcome outcome) {
  Json malformed = Json::array();
  for (const MalformedPacket& packet : capture.malformed())
    malformed.push_back(
        {{"number", packet.number}, {"time_ns", packet.time.ns}, {"error", wire::to_string(packet.error)}});
  return dump({{"kind", "file"},
               {"verdict", to_string(outcome)},
               {"packets", capture.packets().size()},
               {"carried_by", kinds_json(capture.carried())},
               {"other_packets", capture.skipped_count()},
               {"pause_frames", capture.pauses().size()},
               {"headless_packets", capture.headless_count()},
               {"others", kinds_json(capture.others())},
               {"packets_lacking_headers", capture.lacking_headers_count()},
               {"malformed_packets", capture.malformed_count()},
               {"malformed", std::move(malformed)},
               {"damage", capture.damage()}});
}

}  // namespace verbena::captures
