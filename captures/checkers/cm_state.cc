// cm-state: the messages of a connection fit each other. Those that speak of it name the communication IDs and the QP
// that REQ and REP have announced; a message that is sent again is the same, octet for octet; and who has refused or
// ended a connection does not go on to make it.
//
// What was not seen binds nobody: of a connection whose REQ or REP is missing from the stream nothing is judged. An ID
// may be used again for another connection: its REQ has another transaction ID then. The order of one side's messages
// is judged only where they leave it.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "captures/checkers/rule.h"
#include "wire/management.h"

namespace verbena::checkers {
namespace {

using wire::CmAttribute;
using Octets = std::array<std::byte, wire::kMadBytes>;

struct Datagram {
  const Observation& seen;
  wire::MadHeader header;
  std::span<const std::byte> octets;

  template <class MessageLayout>
  typename MessageLayout::Header as() const {
    return MessageLayout::parse(octets.subspan(wire::MadHeaderLayout::bytes).first<MessageLayout::bytes>());
  }
  wire::Gid source() const { return seen.packet.source(); }
  wire::Gid destination() const { return seen.packet.destination(); }
  bool leaves() const { return seen.sighting.seen == Seen::sent; }
};

/// Of a message that may be sent again.
struct Said {
  std::uint64_t transaction_id = 0;
  Octets octets;
  static Said of(const Datagram& datagram) {
    Said said{datagram.header.transaction_id, {}};
    std::ranges::copy(datagram.octets, said.octets.begin());
    return said;
  }
  bool is(const Datagram& datagram) const { return std::ranges::equal(octets, datagram.octets); }
};

enum Side : std::size_t { kActive, kPassive };
constexpr Side other_than(Side side) {
  return side == kActive ? kPassive : kActive;
}

struct Dialogue {
  std::array<std::optional<Said>, 2> opening;  // REQ and REP
  std::array<std::uint32_t, 2> id{};
  std::array<std::optional<wire::Qpn>, 2> qpn;  // nothing: XRC, where the other side's number is not that of a QP
  std::array<bool, 2> is_over{};                // the side has refused or ended it
  bool is_known() const { return opening[kActive] && opening[kPassive]; }
};

struct DialogueKey {
  wire::Gid active;
  wire::Gid passive;
  std::uint32_t id = 0;  // of the active side, where nothing else is said
  auto operator<=>(const DialogueKey&) const = default;
};

class CmState final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const wire::PacketView& packet = seen.packet;
    const bool is_datagram = seen.info.has_deth && packet.bth().dest_qp == wire::kGsiQpn &&
                             packet.payload().size() == wire::kMadBytes && seen.sighting.seen != Seen::lost;
    const auto header = is_datagram ? wire::cm_header_in(packet.payload()) : std::nullopt;
    if (!header) return not_concerned();
    const Datagram datagram{seen, *header, packet.payload()};
    switch (header->attribute) {
      case CmAttribute::request:
        return judge_request(datagram);
      case CmAttribute::reply:
        return judge_reply(datagram);
      case CmAttribute::ready_to_use:
        return judge_pair(datagram, "RTU");
      case CmAttribute::disconnect_request:
        return judge_pair(datagram, "DREQ");
      case CmAttribute::disconnect_reply:
        return judge_pair(datagram, "DREP");
      case CmAttribute::reject:
        return judge_pair(datagram, "REJ");
      case CmAttribute::message_receipt:
      case CmAttribute::service_request:
      case CmAttribute::service_reply:
      case CmAttribute::load_alternate_path:
      case CmAttribute::alternate_path_response:
        return not_concerned();
    }
    return not_concerned();
  }

 private:
  RuleOutcome judge_request(const Datagram& datagram) {
    const auto request = datagram.as<wire::CmRequestLayout>();
    Dialogue& dialogue = dialogue_at({datagram.source(), datagram.destination(), request.local_id});
    const std::optional<Said>& before = dialogue.opening[kActive];
    if (before && before->transaction_id == datagram.header.transaction_id) {
      if (before->is(datagram)) return holds();
      return broken("the REQ of connection {:#x} is sent again with other octets", request.local_id);
    }
    dialogue = {};
    dialogue.opening[kActive] = Said::of(datagram);
    dialogue.id[kActive] = request.local_id;
    constexpr std::uint8_t kUnreliable = 1;  // of the transport service types: RC, UC
    if (request.transport_service_type <= kUnreliable) dialogue.qpn[kActive] = request.local_qpn;
    return holds();
  }

  RuleOutcome judge_reply(const Datagram& datagram) {
    const auto reply = datagram.as<wire::CmReplyLayout>();
    const auto found = dialogues_.find({datagram.destination(), datagram.source(), reply.remote_id});
    if (found == dialogues_.end() || !found->second.opening[kActive]) return unjudged();
    Dialogue& dialogue = found->second;
    if (datagram.header.transaction_id != dialogue.opening[kActive]->transaction_id) return unjudged();  // of before
    if (const auto& before = dialogue.opening[kPassive]) {
      if (!before->is(datagram))
        return broken("the REP for connection {:#x} is sent again with other octets", reply.remote_id);
    } else if (dialogue.is_over[kPassive] && datagram.leaves()) {
      return broken("REP for connection {:#x}, which its sender has refused", reply.remote_id);
    }
    dialogue.opening[kPassive] = Said::of(datagram);
    dialogue.id[kPassive] = reply.local_id;
    by_passive_id_[{datagram.destination(), datagram.source(), reply.local_id}] = reply.remote_id;
    if (dialogue.qpn[kActive]) dialogue.qpn[kPassive] = reply.local_qpn;
    return holds();
  }

  /// A message that begins with its sender's and its receiver's ID.
  RuleOutcome judge_pair(const Datagram& datagram, std::string_view name) {
    const auto pair = datagram.as<wire::CmPairLayout>();
    const Meant meant = meant_by(datagram, pair);
    if (meant.dialogue == nullptr) return unjudged();
    Dialogue& dialogue = *meant.dialogue;
    const Side sender = meant.sender;
    const bool is_reject = datagram.header.attribute == CmAttribute::reject;
    // A REJ may come before there is a second ID.
    if (is_reject && !dialogue.is_known()) {
      dialogue.is_over[sender] = true;
      return holds();
    }
    if (!dialogue.is_known()) return unjudged();
    if (const std::string wrong = wrong_id(dialogue, sender, pair, is_reject); !wrong.empty()) {
      if (dialogue.is_over[kActive] && dialogue.is_over[kPassive]) return unjudged();  // its IDs may be another's
      return broken("{} names {}", name, wrong);
    }
    const Side other = other_than(sender);
    if (datagram.header.attribute == CmAttribute::disconnect_request) {
      const wire::Qpn named = datagram.as<wire::CmDisconnectLayout>().remote_qpn;
      if (dialogue.qpn[other] && named != *dialogue.qpn[other])
        return broken("DREQ names QP {:#08x}, and its receiver has announced QP {:#08x}", named.value(),
                      dialogue.qpn[other]->value());
    }
    if (datagram.header.attribute == CmAttribute::ready_to_use) {
      if (sender == kPassive) return broken("RTU comes from the side that has sent the REP");
      if (dialogue.is_over[sender] && datagram.leaves())
        return broken("RTU for connection {:#x}, which its sender has ended", pair.local_id);
      return holds();
    }
    dialogue.is_over[sender] = true;
    return holds();
  }

  struct Meant {
    Dialogue* dialogue = nullptr;  // null: none that is known, or one of two
    Side sender = kActive;
  };
  /// Found by either of its IDs. Of several connections it is the one that both fit, or none.
  Meant meant_by(const Datagram& datagram, const wire::CmPair& pair) {
    const wire::Gid source = datagram.source();
    const wire::Gid destination = datagram.destination();
    const std::array candidates{Meant{find({source, destination, pair.local_id}), kActive},
                                Meant{find({destination, source, pair.remote_id}), kPassive},
                                Meant{find_by_passive({source, destination, pair.remote_id}), kActive},
                                Meant{find_by_passive({destination, source, pair.local_id}), kPassive}};
    Meant only;
    bool is_one = true;
    for (const Meant& candidate : candidates) {
      if (candidate.dialogue == nullptr) continue;
      if (wrong_id(*candidate.dialogue, candidate.sender, pair, false).empty()) return candidate;
      is_one = is_one && (only.dialogue == nullptr || only.dialogue == candidate.dialogue);
      only = candidate;
    }
    return is_one ? only : Meant{};
  }
  Dialogue* find(const DialogueKey& key) {
    const auto found = dialogues_.find(key);
    return found == dialogues_.end() ? nullptr : &found->second;
  }
  /// `key`: with the passive side's ID.
  Dialogue* find_by_passive(const DialogueKey& key) {
    const auto found = by_passive_id_.find(key);
    if (found == by_passive_id_.end()) return nullptr;
    Dialogue* const dialogue = find({key.active, key.passive, found->second});
    return dialogue != nullptr && dialogue->id[kPassive] == key.id ? dialogue : nullptr;
  }

  /// What is wrong with the IDs of a message; empty: nothing. `is_reject`: it may lack the ID that its sender has not
  /// given, or has not heard.
  static std::string wrong_id(const Dialogue& dialogue, Side sender, const wire::CmPair& pair, bool is_reject) {
    const Side other = other_than(sender);
    const auto is_wrong = [&](std::uint32_t id, std::uint32_t announced) {
      return id != announced && !(is_reject && id == 0);
    };
    if (is_wrong(pair.local_id, dialogue.id[sender]))
      return fmt::format("{:#x} as its own connection, and has announced {:#x}", pair.local_id, dialogue.id[sender]);
    if (is_wrong(pair.remote_id, dialogue.id[other]))
      return fmt::format("connection {:#x}, and its receiver has announced {:#x}", pair.remote_id, dialogue.id[other]);
    return "";
  }

  /// Bounded: of so many connections the old ones are over.
  Dialogue& dialogue_at(const DialogueKey& key) {
    if (dialogues_.size() >= kConnectionsMax && !dialogues_.contains(key)) {
      dialogues_.clear();
      by_passive_id_.clear();
    }
    return dialogues_[key];
  }

  std::map<DialogueKey, Dialogue> dialogues_;
  std::map<DialogueKey, std::uint32_t> by_passive_id_;  // the active side's ID
};

}  // namespace

std::unique_ptr<Rule> make_cm_state(const RegionTable&) {
  return std::make_unique<CmState>();
}

}  // namespace verbena::checkers
