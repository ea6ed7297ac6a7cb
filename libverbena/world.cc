// World: how one is made, its clock, and what can be seen of it.
#include <algorithm>
#include <utility>

#include "libverbena/settings.h"
#include "libverbena/state.h"

namespace libverbena {
namespace {

std::string_view wrong_with(const CableOptions& cable) {
  if (cable.rate_bits_per_second > kRateMax) return "its rate is above 100 Tbit/s";
  if (cable.delay < Duration(0) || cable.delay > kDelayMax) return "its delay is not between 0 and 60 s";
  if (cable.ecn.kmin_bytes > cable.ecn.kmax_bytes) return "its kmin_bytes are more than its kmax_bytes";
  if (cable.ecn.pmax_ppb > 1'000'000'000) return "its pmax_ppb is above 1'000'000'000, which is all";
  return {};
}

/// Cables as they are by themselves: one between each two.
std::vector<CableOptions> cables_of(const WorldOptions& options, const fabric::Topology& topology) {
  std::vector<CableOptions> cables = options.cables;
  if (!cables.empty() || !options.switches.empty()) return cables;
  for (std::uint32_t a = 0; a < topology.hosts; ++a)
    for (std::uint32_t b = a + 1; b < topology.hosts; ++b)
      if (topology.are_of_one_network(a, b))
        cables.push_back({.a = topology.vertices[a].name, .b = topology.vertices[b].name});
  return cables;
}

Result<fabric::Topology> topology_of(const WorldOptions& options, const SettingsState& settings) {
  fabric::Topology topology;
  if (auto applied = settings.apply_rails(topology); !applied) return applied.error();
  for (const auto* names : {&options.nics, &options.peers, &options.switches})
    for (const std::string& name : *names) {
      if (name.empty() || name.find_first_of(" \t\n#>=") != std::string::npos)
        return invalid("'" + name + "' is no name: it is empty or has a space, '#', '>' or '='");
      const bool is_host = names != &options.switches;
      if (is_host && topology.rails != 1 && name.find('.') != std::string::npos)
        return invalid("'" + name + "': with rails a name has no '.', for a.2 is the second NIC of a");
      for (std::uint32_t rail = 0; rail < (is_host ? topology.rails : 1); ++rail)
        topology.vertices.push_back({is_host ? fabric::host_name(name, rail, topology.rails) : name,
                                     is_host ? fabric::VertexKind::host : fabric::VertexKind::network_switch});
    }
  topology.hosts = static_cast<std::uint32_t>(options.nics.size() + options.peers.size()) * topology.rails;
  for (const CableOptions& cable : cables_of(options, topology)) {
    fabric::Cable made;
    for (const std::string* name : {&cable.a, &cable.b})
      if (fabric::vertices_named(topology, *name).empty())
        return invalid("a cable ends at '" + *name + "', which there is not" + fabric::rails_meant(topology, *name));
    if (const std::string_view wrong = wrong_with(cable); !wrong.empty())
      return invalid("cable " + cable.a + "-" + cable.b + ": " + std::string(wrong));
    made.parameters = {
        .rate_bits_per_second = cable.rate_bits_per_second,
        .propagation = to_internal(cable.delay),
        .queue_bytes = cable.queue_bytes,
        .ecn = {
            .kmin_bytes = cable.ecn.kmin_bytes, .kmax_bytes = cable.ecn.kmax_bytes, .pmax_ppb = cable.ecn.pmax_ppb}};
    for (const auto& [a, b] : fabric::ends_named(topology, cable.a, cable.b)) {
      made.a = a;
      made.b = b;
      topology.cables.push_back(made);
    }
  }
  if (auto applied = settings.apply(topology); !applied) return applied.error();
  if (const auto checked = fabric::check(topology); !checked) return invalid(checked.error());
  return topology;
}

}  // namespace

Result<World> World::make(const WorldOptions& options) {
  return make(options, Settings());
}

Result<World> World::make(const WorldOptions& options, const Settings& settings) {
  auto topology = topology_of(options, *settings.state_);
  if (!topology) return topology.error();
  auto of_hosts = settings.state_->of_hosts(topology.value(), options.nics.size() * topology.value().rails);
  if (!of_hosts) return of_hosts.error();
  for (std::uint32_t host = 0; host < of_hosts.value().size(); ++host)
    topology.value().slow_to_nic(host, of_hosts.value()[host].speed_bits_per_second.value_or(0));
  return World(std::make_unique<WorldState>(options, std::move(topology).value(), std::move(of_hosts).value()));
}

World::World(std::unique_ptr<WorldState> state) : state_(std::move(state)) {}
World::~World() = default;
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;

Result<Nic> World::nic(std::string_view name) const {
  const auto vertex = state_->vertex_named(name);
  if (!vertex || *vertex >= state_->nics) return invalid("there is no NIC '" + std::string(name) + "'");
  return Nic(state_.get(), *vertex);
}

Time World::now() const {
  return to_public(state_->world.now());
}
void World::run_for(Duration time) {
  state_->world.run_until(state_->world.now() + to_internal(time));
}

Result<void> World::run_until_idle(Duration within) {
  const verbena::Time limit = state_->world.now() + to_internal(within);
  while (state_->world.step(limit)) {
  }
  if (state_->is_idle()) return {};
  state_->world.run_until(limit);
  return Error{ErrorKind::timed_out, "after the time given there is still something to happen"};
}

Result<void> World::run_until(const std::function<bool()>& is_done, Duration within) {
  if (!is_done) return invalid("run_until: there is nothing to ask");
  if (state_->run_until(is_done, within)) return {};
  return Error{ErrorKind::timed_out, "it has not come true within the time given"};
}

void World::observe(std::function<void(const Sighting&)> observer) {
  state_->observer = std::move(observer);
}

Result<void> World::capture(const Link& cable, const std::string& path) {
  const auto link = state_->find(cable);
  if (!link) return link.error();
  const Link forward = state_->link_of({link.value().cable, false});
  auto capture = std::make_unique<Capture>(path, forward.from + ">" + forward.to, forward.to + ">" + forward.from);
  if (!capture->is_good()) return Error{ErrorKind::io, "cannot write '" + path + "'"};
  state_->captures.emplace_back(link.value().cable, std::move(capture));
  return {};
}

Result<void> World::finish_captures() {
  std::string failed;
  for (const auto& [cable, capture] : state_->captures)
    if (!capture->finish()) failed += (failed.empty() ? "" : ", ") + capture->path();
  state_->captures.clear();
  if (!failed.empty()) return Error{ErrorKind::io, "could not write all of " + failed};
  return {};
}

CheckReport World::check_report() {
  CheckReport report;
  if (!state_->checkers) return report;
  if (!std::exchange(state_->checks_ended, true)) state_->checkers->finish();
  for (const verbena::checkers::CheckerTotals& totals : state_->checkers->totals())
    report.rules.push_back(
        {std::string(totals.row.name), std::string(totals.row.clause), totals.judged, totals.violations});
  for (const verbena::checkers::Violation& violation : state_->checkers->violations())
    report.violations.push_back(std::string(violation.checker) + ": " + violation.text + " (IBTA " +
                                std::string(violation.clause) + ")");
  return report;
}

std::uint64_t World::trace_hash() const {
  return state_->world.network().trace_hash();
}

}  // namespace libverbena
