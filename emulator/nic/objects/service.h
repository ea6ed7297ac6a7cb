// Service: what a QP's type means, as one row of a table. The only place that knows it.
//
// A type is a transport service of the specification (IBTA vol 1, 9.7 - 9.8, annex A14) or raw Ethernet. A QP points to
// its row; what differs between QPs of a type (an SRQ, the capabilities) is in the QP. Which attributes a type's
// transitions want is the table of modify_qp.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/operations.h"
#include "emulator/nic/objects/work_request.h"
#include "wire/opcode.h"

namespace verbena::nic {

/// RD is obsolete: no packet passes the opcode table with it.
inline constexpr wire::Transport kNoTransport = wire::Transport::rd;

struct Service {
  QpType type{};
  wire::Transport transport = kNoTransport;
  bool is_reliable = false;      // acknowledges, or is acknowledged
  bool is_connected = false;     // has one peer, whose address and QPN are among its attributes
  bool responds = false;         // takes requests
  bool takes_responses = false;  // has reliable requests of its own
  bool sends_datagrams = false;  // each work request is one packet
  bool names_srq = false;        // each request names an SRQ of the QP's XRC domain, which brings its PD and CQ
  // What a QP of the type is made of.
  bool has_send_queue = true;
  bool has_receive_cq = true;
  bool takes_srq = true;
  bool takes_indirection_table = false;
  Operations operations = 0;  // that the service offers (IBTA table 40)
  Operations posted = 0;      // that posting takes; the others of a UD QP fail when it takes the work request up
};

inline constexpr Operations kDatagramOperations = bit(SendOpcode::send) | bit(SendOpcode::send_with_immediate);
inline constexpr Operations kUnreliableOperations =
    kDatagramOperations | bit(SendOpcode::rdma_write) | bit(SendOpcode::rdma_write_with_immediate) | kLocal;
inline constexpr Operations kReliableOperations =
    kUnreliableOperations | bit(SendOpcode::send_with_invalidate) | kAwaitData;
/// XRC: as RC, but for what the extensions of annexes A19 and on brought.
inline constexpr Operations kXrcOperations =
    kReliableOperations & ~(bit(SendOpcode::send_with_invalidate) | bit(SendOpcode::atomic_write));

inline constexpr std::array kServices{
    Service{.type = QpType::rc,
            .transport = wire::Transport::rc,
            .is_reliable = true,
            .is_connected = true,
            .responds = true,
            .takes_responses = true,
            .operations = kReliableOperations,
            .posted = kReliableOperations},
    Service{.type = QpType::uc,
            .transport = wire::Transport::uc,
            .is_connected = true,
            .responds = true,
            .operations = kUnreliableOperations,
            .posted = kUnreliableOperations},
    Service{.type = QpType::ud,
            .transport = wire::Transport::ud,
            .responds = true,
            .sends_datagrams = true,
            .operations = kDatagramOperations,
            .posted = kReliableOperations},
    Service{.type = QpType::raw_packet,
            .responds = true,
            .sends_datagrams = true,
            .takes_srq = false,  // its receive queue, or those of its table, are all that it receives with
            .takes_indirection_table = true,
            .operations = kDatagramOperations,
            .posted = kDatagramOperations},
    Service{.type = QpType::xrc_send,
            .transport = wire::Transport::xrc,
            .is_reliable = true,
            .is_connected = true,
            .takes_responses = true,
            .has_receive_cq = false,
            .takes_srq = false,
            .operations = kXrcOperations,
            .posted = kXrcOperations},
    Service{.type = QpType::xrc_receive,
            .transport = wire::Transport::xrc,
            .is_reliable = true,
            .is_connected = true,
            .responds = true,
            .names_srq = true,
            .has_send_queue = false,
            .has_receive_cq = false,
            .takes_srq = false},
};

/// Null: there is no such type.
constexpr const Service* find_service(QpType type) {
  const auto* const row =
      std::find_if(kServices.begin(), kServices.end(), [type](const Service& service) { return service.type == type; });
  return row != kServices.end() ? row : nullptr;
}

/// What one row must be for the code that reads it, and for the opcode table.
constexpr bool is_consistent(const Service& service) {
  const bool acknowledges = wire::is_defined(service.transport, wire::OperationCode::acknowledge);
  return find_service(service.type) == &service && service.is_reliable == acknowledges &&
         service.takes_responses == (service.is_reliable && service.has_send_queue) &&
         (service.operations & ~service.posted) == 0 && service.has_send_queue == (service.operations != 0) &&
         (service.is_reliable || (service.operations & kAwaitData) == 0) &&
         service.is_connected != service.sends_datagrams && (service.is_connected || !service.is_reliable) &&
         (!service.names_srq || (!service.takes_srq && !service.has_receive_cq));
}
static_assert(std::all_of(kServices.begin(), kServices.end(), is_consistent));

}  // namespace verbena::nic
