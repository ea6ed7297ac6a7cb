#include "verbs-shim/rdma_cm/planned_news.h"

#include "emulator/fabric/verb_faults.h"
#include "verbs-shim/rdma_cm/opened_device.h"
#include "verbs-shim/verbs/call_faults.h"

namespace verbena::shim::rdma_cm {
namespace {

using fabric::ConnectionStep;
using fabric::PlannedEnd;

/// What SIDR_REP can say of a REJ's reason (12.11.2.1).
cm::ServiceStatus status_of(cm::RejectReason reason) {
  if (reason == cm::RejectReason::invalid_service_id) return cm::ServiceStatus::invalid_service_id;
  return reason == cm::RejectReason::no_qp ? cm::ServiceStatus::no_qp : cm::ServiceStatus::rejected;
}

/// The event of what rdma_connect of an RC or UC connection came to.
UserEvent event_of(PlannedEnd end) {
  if (end == PlannedEnd::rejected) return UserEvent::rejected;
  return end == PlannedEnd::connect_error ? UserEvent::connect_error : UserEvent::unreachable;
}

/// Of news at the device port.
fabric::ConnectionVerdict planned_news(ConnectionStep step, const DevicePort& at) {
  CallFaults* const plan = CallFaults::plan();
  return plan == nullptr ? fabric::ConnectionVerdict{} : plan->instead_of(step, at.identity().number.device);
}

}  // namespace

void report_address(Id& id) {
  const auto planned = planned_news(ConnectionStep::address, *id.device_port);
  if (planned.end == PlannedEnd::none) return report(id, UserEvent::address_resolved);
  id.state = IdState::address_bound;
  report(id, UserEvent::address_error, -planned.error);
}

void report_route(Id& id) {
  const auto planned = planned_news(ConnectionStep::route, *id.device_port);
  if (planned.end == PlannedEnd::none) return report(id, UserEvent::route_resolved);
  id.state = IdState::address_resolved;
  report(id, UserEvent::route_error, -planned.error);
}

int planned_group_error(const Id& id) {
  return planned_news(ConnectionStep::member, *id.device_port).error;
}

bool refuse_as_planned(const DevicePort& at, const cm::Event& request) {
  const auto planned = planned_news(ConnectionStep::request, at);
  if (planned.end == PlannedEnd::none) return false;
  at.run_connections([&](cm::ConnectionManager& manager, Time now) {
    if (request.type == cm::EventType::service_request) {
      manager.reply_service(now, request.connection, {.status = status_of(planned.reason)}, {});
    } else {
      manager.reject(now, request.connection, planned.reason, {});
      manager.destroy(now, request.connection);
    }
    return true;
  });
  return true;
}

bool fail_answer_as_planned(Id& id, const cm::Event& answer) {
  if (answer.status != 0) return false;  // of UD: it is a no already
  const auto planned = planned_news(ConnectionStep::answer, *id.device_port);
  if (planned.end == PlannedEnd::none) return false;
  const bool is_rejected = planned.end == PlannedEnd::rejected;
  if (id.is_datagram()) {
    report(id, UserEvent::unreachable, is_rejected ? static_cast<int>(status_of(planned.reason)) : -planned.error);
    return true;
  }
  const auto reason =
      planned.end == PlannedEnd::unreachable ? cm::RejectReason::timeout : cm::RejectReason::consumer_defined;
  id.device_port->run_connections(
      [&](cm::ConnectionManager& manager, Time now) { return manager.reject(now, id.connection, reason, {}); });
  report(id, event_of(planned.end), is_rejected ? static_cast<int>(planned.reason) : -planned.error);
  return true;
}

}  // namespace verbena::shim::rdma_cm
