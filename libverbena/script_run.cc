#include "libverbena/script_run.h"

#include "wire/packet_view.h"

namespace libverbena {
namespace {

constexpr verbena::Duration kWithinDefault = verbena::seconds(10);
constexpr std::size_t kShownMax = 8;  // packets that a failure shows, the last ones

std::string time_text(verbena::Time time) {
  const std::int64_t ns = time.ns;
  std::string fraction = std::to_string(ns % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return std::to_string(ns / 1000) + "." + fraction + " us";
}

}  // namespace

ScriptRun::ScriptRun(WorldState& state, std::size_t end, std::vector<ScriptLine> lines)
    : state_(state), end_(end), lines_(std::move(lines)) {}

ScriptRun::~ScriptRun() {
  if (state_.script == this) watch(false);
}

void ScriptRun::watch(bool on) {
  state_.script = on ? this : nullptr;
  const End& end = state_.ends[end_];
  for (const std::uint32_t host : {end.host, state_.ends[*end.other].host})
    for (const std::uint32_t cable : state_.topology().cables_of(host))
      state_.watch({cable, state_.topology().cables[cable].b == host}, on);
}

const End& ScriptRun::end_named(std::string_view name) const {
  const End& end = state_.ends[end_];
  return state_.name_of(end.host) == name ? end : state_.ends[*end.other];
}

Result<void> ScriptRun::check_names() const {
  const End& end = state_.ends[end_];
  const std::string& a = state_.name_of(end.host);
  const std::string& b = state_.name_of(state_.ends[*end.other].host);
  for (const ScriptLine& line : lines_)
    if (line.kind != ScriptLine::Kind::silence && !(line.from == a && line.to == b) &&
        !(line.from == b && line.to == a))
      return invalid("script line " + std::to_string(line.number) + ": the connection is between '" + a + "' and '" +
                     b + "': " + line.text);
  return {};
}

/// What scripts count PSNs from. A request has a PSN of its sender's; a response that of whom it answers.
wire::Psn ScriptRun::first_psn(Opcode opcode, const End& from) const {
  const bool is_request = wire::opcode_info(static_cast<wire::Opcode>(opcode)).is_request;
  return is_request ? from.first_psn : state_.ends[*from.other].first_psn;
}

Result<void> ScriptRun::run() {
  if (auto checked = check_names(); !checked) return checked;
  watch(true);
  since_ = state_.world.now();
  std::deque<SeenPacket> rest = std::move(state_.rest);
  state_.rest.clear();
  const bool is_mine = state_.rest_of == end_ || state_.rest_of == *state_.ends[end_].other;
  advance(since_);
  // What has left already, in the instant in which the script before ended.
  for (const SeenPacket& seen : rest) {
    if (!is_mine || error_) break;
    fabric::Interceptor::Decision none;
    judge(seen.time, seen, {}, none);
  }
  while (!is_done()) {
    const verbena::Time limit = deadline();
    if (state_.world.step(limit)) continue;
    state_.world.run_until(limit);
    if (line() != nullptr && !error_) deadline_is_over();
  }
  watch(false);
  state_.injected.clear();
  if (error_) return *error_;
  return {};
}

verbena::Time ScriptRun::deadline() const {
  if (line() == nullptr) return verbena::kNever;
  return since_ + (line()->time ? to_internal(*line()->time) : kWithinDefault);
}

void ScriptRun::deadline_is_over() {
  if (line()->kind != ScriptLine::Kind::silence) {
    fail("nothing came within " + std::to_string((deadline() - since_).ns / 1000) + " us");
    return;
  }
  ++next_;
  advance(state_.world.now());
}

void ScriptRun::advance(verbena::Time now) {
  since_ = now;
  for (; !error_ && line() != nullptr && line()->kind == ScriptLine::Kind::inject; ++next_) inject(*line(), now);
}

void ScriptRun::inject(const ScriptLine& line, verbena::Time now) {
  const End& from = end_named(line.from);
  auto frame = state_.make_frame(from, line.packet(first_psn(line.opcode, from).value()));
  if (!frame) {
    fail(frame.error().text);
    return;
  }
  WorldState& state = state_;
  const std::uint32_t host = from.host;
  state.injected.push_back(frame.value());
  state.world.at(now + to_internal(line.time.value_or(Duration(0))),
                 [&state, host, octets = std::move(frame).value()](verbena::Time) {
                   sim::PacketControl(state.world).send(host, octets);
                 });
}

void ScriptRun::intercept(verbena::Time now, fabric::LinkId link, std::span<std::byte> frame,
                          fabric::Interceptor::Decision& decision) {
  const auto view = wire::parse_frame(frame);
  if (!view) return;
  const End& one = state_.ends[end_];
  const End& two = state_.ends[*one.other];
  const std::uint32_t host =
      link.backward ? state_.topology().cables[link.cable].b : state_.topology().cables[link.cable].a;
  const bool from_one = host == one.host && view->destination() == sim::host_address(two.host);
  const bool from_two = host == two.host && view->destination() == sim::host_address(one.host);
  if (!from_one && !from_two) return;
  // What the script itself has sent is not expected.
  for (auto sent = state_.injected.begin(); sent != state_.injected.end(); ++sent)
    if (std::equal(sent->begin(), sent->end(), frame.begin(), frame.end())) {
      state_.injected.erase(sent);
      return;
    }
  const End& from = from_one ? one : two;
  if (view->bth().dest_qp != (from_one ? two : one).qpn) return;
  SeenPacket seen{.time = now, .link = {state_.name_of(from.host), state_.name_of((from_one ? two : one).host)}};
  seen.packet = packet_of(*view);
  seen.relative_psn = wire::distance(first_psn(seen.packet.opcode, from), view->bth().psn);
  if (line() == nullptr && !error_) {
    state_.rest.push_back(std::move(seen));
    state_.rest_of = end_;
    return;
  }
  judge(now, seen, frame, decision);
}

void ScriptRun::judge(verbena::Time now, const SeenPacket& seen, std::span<std::byte> frame,
                      fabric::Interceptor::Decision& decision) {
  if (error_) return;
  if (line() == nullptr) {
    state_.rest.push_back(seen);
    state_.rest_of = end_;
    return;
  }
  const std::string came = line_of(seen.link, seen.packet, seen.relative_psn);
  seen_.push_back(time_text(seen.time) + "  " + came);
  const ScriptLine& expected = *line();
  if (expected.kind == ScriptLine::Kind::silence) {
    fail("it sent: " + came);
    return;
  }
  std::string wrong;
  if (expected.from != seen.link.from)
    wrong = "it comes from " + seen.link.from;
  else
    wrong = expected.differences(seen.packet, seen.relative_psn);
  if (!wrong.empty()) {
    fail("came: " + came + "\n  " + wrong);
    return;
  }
  if (expected.action != ScriptLine::Action::none && frame.empty()) {
    fail("the packet had left when the script began: this line belongs to the script before");
    return;
  }
  act(expected, frame, decision);
  ++next_;
  advance(now);
}

void ScriptRun::act(const ScriptLine& line, std::span<std::byte> frame, fabric::Interceptor::Decision& decision) {
  using enum ScriptLine::Action;
  switch (line.action) {
    case none:
      return;
    case drop:
      decision.drop = true;
      break;
    case duplicate:
      decision.duplicate = true;
      break;
    case corrupt:
      // The octet before the ICRC: payload, or the last header.
      frame[frame.size() - wire::kIcrcBytes - 1] ^= std::byte{1};
      decision.has_changed = true;
      break;
    case delay:
      decision.delay = decision.delay + to_internal(line.delay);
      break;
  }
  decision.comment =
      (line.action == drop ? "dropped by script line " : "changed by script line ") + std::to_string(line.number);
}

void ScriptRun::fail(std::string what) {
  const ScriptLine& at = *line();
  std::string text = "script line " + std::to_string(at.number) + " at " + time_text(state_.world.now()) + ": " +
                     at.text + "\n  " + std::move(what);
  if (seen_.size() > 1) {
    text += "\n  seen so far:";
    for (std::size_t i = seen_.size() > kShownMax ? seen_.size() - kShownMax : 0; i < seen_.size(); ++i)
      text += "\n    " + seen_[i];
  }
  error_ = Error{ErrorKind::mismatch, std::move(text)};
}

Result<void> World::play(const Qp& qp, std::string_view script) {
  if (qp.state_ != state_.get() || !state_->ends[qp.index_].other)
    return invalid("play: the QP is not connected, or of another world");
  auto lines = read_script(script);
  if (!lines) return lines.error();
  return ScriptRun(*state_, qp.index_, std::move(lines).value()).run();
}

}  // namespace libverbena
