#include "emulator/host/subnet_process/sa_transactions.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "wire/management.h"
#include "wire/subnet_administration.h"

namespace verbena::host {
namespace {

/// Agents of umad devices count their upper halves from 1 (umad_server.cc).
constexpr std::uint64_t kOwnTransactions = std::uint64_t{0xffffffff} << 32;
constexpr std::size_t kMadHeadBytes = wire::AnyMadHeaderLayout::bytes;

std::vector<std::byte> mad_of(const SaTransactions::Request& request, std::uint64_t transaction) {
  std::vector<std::byte> mad(wire::kMadBytes);
  const std::span octets(mad);
  wire::AnyMadHeaderLayout::emit({.management_class = wire::kClassSubnetAdministration,
                                  .class_version = wire::kAdministrationClassVersion,
                                  .method = request.method,
                                  .transaction_id = transaction,
                                  .attribute = request.attribute},
                                 octets.first<kMadHeadBytes>());
  wire::AdministrationHeaderLayout::emit(
      {.component_mask = request.component_mask},
      octets.subspan<wire::kAdministrationHeaderAt, wire::AdministrationHeaderLayout::bytes>());
  const std::size_t bytes = std::min(request.record.size(), wire::kAdministrationDataBytes);
  std::ranges::copy(request.record.first(bytes), octets.subspan(wire::kAdministrationDataAt).begin());
  return mad;
}

}  // namespace

std::int32_t SaTransactions::ask(subnet::PortEnd from, const Request& request, Done done) {
  if (!subnet_.nodes()[from.node].ports[from.port].is_up()) return -EAGAIN;
  if (waiting_.size() == kWaitingMax) return -ENOMEM;
  Waiting made;
  made.transaction = kOwnTransactions | ++transactions_;
  made.from = from;
  made.mad = mad_of(request, made.transaction);
  made.interval = Duration{std::max<std::int64_t>(request.timeout.ns / kTries, 1'000'000)};
  made.deadline = now_ + made.interval;
  made.tries_left = kTries;
  made.done = std::move(done);
  waiting_.push_back(std::move(made));
  send(waiting_.back());
  return 0;
}

/// To the manager that the port knows now: after a handover the next try reaches the new one.
void SaTransactions::send(const Waiting& one) {
  const wire::PortInfo& info = subnet_.nodes()[one.from.node].ports[one.from.port].info;
  subnet::Datagram datagram;
  datagram.source = info.base_lid;
  datagram.destination = info.master_sm_lid;
  datagram.service_level = info.master_sm_sl;
  datagram.source_qp = datagram.destination_qp = wire::kGsiQpn;
  datagram.qkey = wire::kGsiQkey;
  datagram.octets = one.mad;
  const subnet::PortEnd from = one.from;
  subnet_.send(from, std::move(datagram));
}

bool SaTransactions::receive(subnet::PortEnd at, const subnet::Datagram& datagram) {
  const std::span<const std::byte> octets(datagram.octets);
  if (octets.size() < kMadHeadBytes) return false;
  const auto header = wire::AnyMadHeaderLayout::parse(octets.first<kMadHeadBytes>());
  const bool is_own = header.management_class == wire::kClassSubnetAdministration &&
                      (header.method & wire::kMethodResponseBit) != 0 &&
                      (header.transaction_id & kOwnTransactions) == kOwnTransactions;
  if (!is_own) return false;
  const auto found = std::ranges::find_if(
      waiting_, [&](const Waiting& one) { return one.transaction == header.transaction_id && one.from == at; });
  if (found == waiting_.end()) return true;                   // it comes too late
  if ((header.status & wire::kStatusBusy) != 0) return true;  // the next try asks again
  const Done done = std::move(found->done);
  waiting_.erase(found);
  const bool is_good = header.status == 0 && octets.size() >= wire::kMadBytes;
  done(is_good ? 0 : -EINVAL, is_good ? octets.subspan(wire::kAdministrationDataAt) : std::span<const std::byte>());
  return true;
}

std::optional<Time> SaTransactions::next_deadline() const {
  if (waiting_.empty()) return std::nullopt;
  return std::ranges::min_element(waiting_, {}, [](const Waiting& one) { return one.deadline.ns; })->deadline;
}

void SaTransactions::advance(Time now) {
  now_ = now;
  std::vector<Done> over;
  for (std::size_t i = 0; i < waiting_.size();) {
    Waiting& one = waiting_[i];
    if (one.deadline.ns > now.ns) {
      ++i;
    } else if (--one.tries_left > 0) {
      one.deadline = now + one.interval;
      send(one);
      ++i;
    } else {
      over.push_back(std::move(one.done));
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const Done& done : over) done(-ETIMEDOUT, {});
}

}  // namespace verbena::host
