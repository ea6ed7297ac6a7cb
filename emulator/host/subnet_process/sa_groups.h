// SaGroups: which multicast groups the ports of the nodes are members of, for which programs.
//
// Solely responsible for one membership of a port for all programs that have joined there: the first one joins at the
// administrator, the last one leaves. What is lost, since the manager or the port has forgotten it, is told to all.
// As the kernel's ib_sa has it (its multicast groups). A program is a number here.
// Tested by: tests/host/fabric_process/sa_client_test.cc
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "emulator/host/subnet_process/sa_transactions.h"
#include "wire/subnet_administration.h"

namespace verbena::host {

class SaGroups {
 public:
  /// Of a program.
  struct Member {
    std::uint64_t program = 0;
    std::uint64_t id = 0;  // the program's, of its request
    bool operator==(const Member&) const = default;
  };
  /// 0 and the record that the administrator has given; or an error, in front of a membership or behind it.
  using Tell = std::function<void(const Member& member, std::int32_t status, const wire::McMemberRecord& record)>;

  SaGroups(SaTransactions& transactions, Tell tell) : transactions_(transactions), tell_(std::move(tell)) {}

  /// `record` has the group, and the join state; the port's GID is in it.
  void join(subnet::PortEnd port, const Member& member, std::uint64_t component_mask,
            const wire::McMemberRecord& record);
  void leave(const Member& member);
  void leave_all(std::uint64_t program);
  /// Its memberships are lost (-ENETRESET).
  void lose(subnet::PortEnd port);

 private:
  struct Joining {
    Member member;
    std::uint64_t component_mask = 0;
    wire::McMemberRecord record;
    bool is_gone = false;  // has left before it was in
  };
  struct Joined {
    Member member;
    std::uint8_t join_state = 0;
  };
  struct Group {
    subnet::PortEnd port;
    wire::McMemberRecord record;  // the administrator's
    std::uint8_t join_state = 0;  // what the port is there
    bool is_busy = false;         // a request of it is under way
    std::deque<Joining> joining;  // the first one's request is under way if one is
    std::vector<Joined> joined;
  };
  void go_on(Group& group);
  void answered(Group& group, std::int32_t status, std::span<const std::byte> record);
  bool ask(Group& group, std::uint8_t method, std::uint64_t mask, const wire::McMemberRecord& record,
           SaTransactions::Done done);
  template <class Which>
  void leave_where(const Which& is_one);

  SaTransactions& transactions_;
  const Tell tell_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace verbena::host
