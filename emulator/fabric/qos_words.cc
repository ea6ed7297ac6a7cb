#include "emulator/fabric/qos_words.h"

#include <array>
#include <optional>

#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/quantity.h"

namespace verbena::fabric {
namespace {

constexpr Duration kReactionMax = milliseconds(1);
constexpr Duration kWatchdogMax = seconds(60);
constexpr Duration kWatchdogMin = microseconds(1);
constexpr std::uint64_t kBufferMax = std::uint64_t{1} << 32;
constexpr std::uint64_t kBufferMin = 16 << 10;
constexpr std::uint64_t kLaneBufferMin = 8 << 10;
constexpr std::uint64_t kWeightMax = 1000;
constexpr std::uint64_t kAlphaMax = 64;

constexpr std::array<Named<Trust>, 2> kTrusts{{{"dscp", Trust::dscp}, {"pcp", Trust::pcp}}};
constexpr std::array<Named<FlowControl>, 2> kFlowControls{
    {{"pfc", FlowControl::pfc}, {"global", FlowControl::global_pause}}};
constexpr std::array<Named<bool>, 2> kActions{{{"drop", true}, {"forward", false}}};

/// Calls `each` with the parts of "A+B+C". False: one of them was not right.
template <class Each>
bool for_each_part(std::string_view text, Each each) {
  while (true) {
    const std::size_t plus = text.find('+');
    if (!each(text.substr(0, plus))) return false;
    if (plus == text.npos) return true;
    text.remove_prefix(plus + 1);
  }
}

std::optional<std::uint64_t> number_up_to(std::string_view text, std::uint64_t most) {
  const auto number = parse_number(text);
  return number && *number <= most ? number : std::nullopt;
}

template <ClassMask Qos::* member>
bool take_classes(std::string_view text, Qos& into) {
  ClassMask classes = 0;
  const bool is_right = text == "none" || for_each_part(text, [&](std::string_view part) {
                          const auto number = number_up_to(part, kTrafficClasses - 1);
                          if (number) classes |= bit_of(static_cast<TrafficClass>(*number));
                          return number.has_value();
                        });
  if (text == "all")
    into.*member = kEveryClass;
  else if (is_right)
    into.*member = classes;
  return is_right || text == "all";
}

/// "26:3+48:6" into an array. Keys up to its size, values from `least` to `most`.
template <class Array>
bool take_map(std::string_view text, std::uint64_t least, std::uint64_t most, Array& into) {
  Array made = into;
  const bool is_right = for_each_part(text, [&](std::string_view part) {
    const std::size_t colon = part.find(':');
    if (colon == part.npos) return false;
    const auto key = number_up_to(part.substr(0, colon), into.size() - 1);
    const auto value = number_up_to(part.substr(colon + 1), most);
    if (!key || !value || *value < least) return false;
    made[*key] = static_cast<typename Array::value_type>(*value);
    return true;
  });
  if (is_right) into = made;
  return is_right;
}

template <auto member>
bool take_time(std::string_view text, Duration least, Duration most, Qos& into) {
  const auto time = parse_duration(text, most);
  if (!time || *time < least) return false;
  member(into) = *time;
  return true;
}

template <class Number>
bool take_octets(std::string_view text, std::uint64_t least, std::uint64_t most, Number& into) {
  const auto octets = parse_octets(text);
  if (!octets || *octets < least || *octets > most) return false;
  into = static_cast<Number>(*octets);
  return true;
}

/// "1/8", "2".
bool take_alpha(std::string_view text, std::uint32_t& into) {
  const std::size_t slash = text.find('/');
  const auto above = number_up_to(text.substr(0, slash), kAlphaMax);
  const auto below =
      slash == text.npos ? std::optional<std::uint64_t>(1) : number_up_to(text.substr(slash + 1), Threshold::kWhole);
  if (!above || !below || *above == 0 || *below == 0) return false;
  into = static_cast<std::uint32_t>(*above * Threshold::kWhole / *below);
  return into != 0;
}

constexpr auto kReaction = [](Qos& qos) -> Duration& { return qos.reaction; };
constexpr auto kDetect = [](Qos& qos) -> Duration& { return qos.watchdog.detect; };
constexpr auto kHeadLife = [](Qos& qos) -> Duration& { return qos.head_of_queue_life; };
constexpr auto kRestore = [](Qos& qos) -> Duration& { return qos.watchdog.restore; };

constexpr std::array kWords{
    QosWord{"trust", "want dscp or pcp", take_named<kTrusts, &Qos::trust>, nullptr, kNamesIn<kTrusts>},
    QosWord{
        "dscp", "want DSCP:CLASS, as in 26:3+48:6",
        [](std::string_view text, Qos& into) { return take_map(text, 0, kTrafficClasses - 1, into.class_of_dscp); }},
    QosWord{"strict", "want classes from 0 to 7, as in 6+7", take_classes<&Qos::strict>},
    QosWord{"weights", "want CLASS:WEIGHT with weights from 1 to 1000, as in 0:1+3:4",
            [](std::string_view text, Qos& into) { return take_map(text, 1, kWeightMax, into.weights); }},
    QosWord{"lossless", "want classes from 0 to 7, as in 3+4, all or none", take_classes<&Qos::lossless>},
    QosWord{"pause", "want pfc or global", take_named<kFlowControls, &Qos::flow_control>, nullptr,
            kNamesIn<kFlowControls>},
    QosWord{"pause-quanta", "want units of 512 bit times, from 1 to 65535",
            [](std::string_view text, Qos& into) {
              const auto quanta = number_up_to(text, UINT16_MAX);
              if (quanta) into.pause_quanta = static_cast<std::uint16_t>(*quanta);
              return quanta && *quanta != 0;
            }},
    QosWord{
        "reaction", "want a time up to 1ms, as in 3us",
        [](std::string_view text, Qos& into) { return take_time<kReaction>(text, Duration{}, kReactionMax, into); }},
    QosWord{
        "buffer", "want octets from 16KiB to 4GiB, as in 12MB",
        [](std::string_view text, Qos& into) { return take_octets(text, kBufferMin, kBufferMax, into.buffer_bytes); }},
    QosWord{"xoff", "want octets up to 4GiB, as in 100KB",
            [](std::string_view text, Qos& into) {
              into.xoff.alpha = 0;
              return take_octets(text, 1, kBufferMax, into.xoff.bytes);
            }},
    QosWord{"xoff-alpha", "want a number up to 64 or a fraction, as in 1/8",
            [](std::string_view text, Qos& into) { return take_alpha(text, into.xoff.alpha); }},
    QosWord{"xon-offset", "want octets up to 4GiB, as in 3KB",
            [](std::string_view text, Qos& into) { return take_octets(text, 0, UINT32_MAX, into.xon_offset_bytes); }},
    QosWord{"headroom", "want octets up to 4GiB, as in 50KB",
            [](std::string_view text, Qos& into) { return take_octets(text, 1, UINT32_MAX, into.headroom_bytes); }},
    QosWord{"egress-alpha", "want a number up to 64 or a fraction, as in 1/2",
            [](std::string_view text, Qos& into) { return take_alpha(text, into.egress.alpha); }},
    QosWord{
        "watchdog", "want a time from 1us to 60s, as in 200ms",
        [](std::string_view text, Qos& into) { return take_time<kDetect>(text, kWatchdogMin, kWatchdogMax, into); }},
    QosWord{"watchdog-restore", "want a time up to 60s, as in 200ms",
            [](std::string_view text, Qos& into) { return take_time<kRestore>(text, Duration{}, kWatchdogMax, into); }},
    QosWord{"watchdog-action", "want drop or forward",
            [](std::string_view text, Qos& into) {
              return take_named<kActions, &PauseWatchdog::drops>(text, into.watchdog);
            },
            nullptr, kNamesIn<kActions>},
    QosWord{"lane-buffer", "want octets from 8KiB to 4GiB, as in 32KiB",
            [](std::string_view text, Qos& into) {
              return take_octets(text, kLaneBufferMin, UINT32_MAX, into.lane_buffer_bytes);
            }},
    QosWord{
        "head-of-queue-life", "want a time up to 60s, as in 1ms",
        [](std::string_view text, Qos& into) { return take_time<kHeadLife>(text, Duration{}, kWatchdogMax, into); }},
    QosWord{"cut-through", "want true or false", take_named<kTrueOrFalse, &Qos::cuts_through>, nullptr,
            kNamesIn<kTrueOrFalse>},
};

}  // namespace

std::span<const QosWord> qos_words() {
  return kWords;
}

std::string contradiction(const Qos& qos) {
  const bool has_lanes =
      qos.lane_buffer_bytes != Qos().lane_buffer_bytes || qos.head_of_queue_life.ns != 0 || qos.cuts_through;
  if (has_lanes && qos.flow_control != FlowControl::credits)
    return "ports of InfiniBand alone have lane-buffer, head-of-queue-life and cut-through";
  if (qos.flow_control == FlowControl::global_pause && qos.lossless != kEveryClass)
    return "pause: global stops all classes at once: lossless: all goes with it";
  if (qos.xoff.alpha == 0 && qos.xon_offset_bytes > qos.xoff.bytes)
    return "xon would lie below nothing: xon-offset " + std::to_string(qos.xon_offset_bytes) + " is above xoff " +
           std::to_string(qos.xoff.bytes);
  if (qos.xoff.alpha == 0 && qos.xoff.bytes > qos.buffer_bytes)
    return "xoff " + std::to_string(qos.xoff.bytes) + " is above buffer " + std::to_string(qos.buffer_bytes) +
           ": nobody would ever be paused";
  if (qos.headroom_bytes > qos.buffer_bytes)
    return "headroom " + std::to_string(qos.headroom_bytes) + " is above buffer " + std::to_string(qos.buffer_bytes);
  if (qos.watchdog.detect.ns == 0 && qos.watchdog != PauseWatchdog{})
    return "watchdog-restore and watchdog-action need watchdog: a time";
  return {};
}

Result<Qos, std::string> parse_qos(std::string_view text) {
  Qos qos;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view setting = text.substr(0, comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    const std::size_t equals = setting.find('=');
    const std::string_view name = setting.substr(0, equals);
    const QosWord* const word = find_setting(qos_words(), name);
    if (word == nullptr) {
      std::string names;
      add_setting_names(qos_words(), names);
      std::vector<std::string_view> known;
      for (const QosWord& one : qos_words()) known.push_back(one.name);
      return Failure{"'" + std::string(name) + "' is none of " + names + did_you_mean(name, known)};
    }
    if (equals == setting.npos || !word->take(setting.substr(equals + 1), qos))
      return Failure{"'" + std::string(setting) +
                     "': " + right_of(*word, equals == setting.npos ? "" : setting.substr(equals + 1))};
  }
  if (std::string wrong = contradiction(qos); !wrong.empty()) return Failure{std::move(wrong)};
  return qos;
}

std::vector<std::string> qos_warnings(const Topology& topology) {
  if (!topology.qos || topology.qos->lossless == 0) return {};
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const std::uint64_t needed = headroom_needed(*topology.qos, topology.cables[i].parameters);
    const std::uint64_t has = headroom_of(*topology.qos, topology.cables[i].parameters);
    if (has < needed)
      return {"headroom " + std::to_string(has) + " is too small: up to " + std::to_string(needed) +
              " octets come on " + topology.cable_name(i) + " before a pause has its effect, and some may be lost"};
  }
  return {};
}

}  // namespace verbena::fabric
