#include "emulator/host/fabric_client/fabric_codec.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "emulator/host/node/identity.h"
#include "wire/enumerators.h"

namespace verbena::host {
namespace {

constexpr std::size_t kElementsMax = std::size_t{1} << 20;  // of a list
constexpr std::size_t kLengthBytes = 4;
constexpr unsigned kDigitBits = 7;
constexpr unsigned kWordBits = 64;
constexpr std::uint8_t kMore = 0x80;

// -- What each value has, in order: one declaration for both ways -----------------------------------------------------

template <class Way, class T>
using In = typename Way::template Of<T>;

template <class Way>
void fields(Way&, In<Way, AskHello>&) {}
template <class Way>
void fields(Way&, In<Way, AskSnapshot>&) {}
template <class Way>
void fields(Way&, In<Way, FabricDone>&) {}
template <class Way>
void fields(Way& way, In<Way, Duration>& value) {
  way(value.ns);
}
template <class Way>
void fields(Way& way, In<Way, Time>& value) {
  way(value.ns);
}
template <class Way>
void fields(Way& way, In<Way, fabric::LinkId>& value) {
  way(value.cable, value.backward);
}
template <class Way>
void fields(Way& way, In<Way, fabric::ElementChange>& value) {
  way(value.kind, value.links, value.hosts, value.peers, value.switches, value.rate_bits_per_second, value.delay,
      value.jitter, value.classes);
}
template <class Way>
void fields(Way& way, In<Way, SayWords>& value) {
  way(value.words);
}
template <class Way>
void fields(Way& way, In<Way, ChangeElements>& value) {
  way(value.change);
}
template <class Way>
void fields(Way& way, In<Way, AddPrepared>& value) {
  way(value.prepared, value.links, value.where);
}
template <class Way>
void fields(Way& way, In<Way, RemoveFault>& value) {
  way(value.number);
}
template <class Way>
void fields(Way& way, In<Way, RemoveDevices>& value) {
  way(value.hosts);
}
template <class Way>
void fields(Way& way, In<Way, SetNodePower>& value) {
  way(value.hosts, value.power);
}
template <class Way>
void fields(Way& way, In<Way, FaultAdded>& value) {
  way(value.number);
}
template <class Way>
void fields(Way& way, In<Way, FaultRemoved>& value) {
  way(value.hits, value.unit);
}
template <class Way>
void fields(Way& way, In<Way, FabricHello>& value) {
  way(value.nodes, value.rails, value.port_rates, value.stats_path, value.wire);
}
template <class Way>
void fields(Way& way, In<Way, fabric::LinkStatistics>& value) {
  way(value.frames, value.octets, value.lost, value.overflowed, value.queue_octets, value.queue_octets_max,
      value.rate_bits_per_second, value.propagation, value.jitter);
}
template <class Way>
void fields(Way& way, In<Way, fabric::PauseStatistics>& value) {
  way(value.sent, value.received, value.paused, value.frames_received, value.paused_now);
}
template <class Way>
void fields(Way& way, In<Way, fabric::NetworkStatistics>& value) {
  way(value.arrivals, value.host_arrivals, value.events, value.overflowed, value.vanished, value.lost, value.marked,
      value.lossless_lost, value.pause_frames, value.pause_storms);
}
template <class Way>
void fields(Way& way, In<Way, fabric::PauseDeadlock>& value) {
  way(value.time, value.traffic_class, value.links);
}
template <class Way>
void fields(Way& way, In<Way, fabric::ForwardingLoop>& value) {
  way(value.lid, value.lids, value.links);
}
template <class Way>
void fields(Way& way, In<Way, FabricSnapshot::Cable>& value) {
  way(value.a, value.b);
}
template <class Way>
void fields(Way& way, In<Way, FabricSnapshot::Link>& value) {
  way(value.is_up, value.seen);
}
template <class Way>
void fields(Way& way, In<Way, FabricSnapshot::Node>& value) {
  way(value.is_up, value.processes, value.frames_in, value.octets_in, value.frames_out, value.octets_out, value.nobody,
      value.overflowed, value.pauses, value.not_run, value.not_run_from, value.counters);
}
template <class Way>
void fields(Way& way, In<Way, FabricSubnet::Port>& value) {
  way(value.base_lid, value.sm_lid, value.lmc, value.state);
}
template <class Way>
void fields(Way& way, In<Way, FabricSubnet::Switch>& value) {
  way(value.lid, value.sm_lid);
}
template <class Way>
void fields(Way& way, In<Way, FabricSubnet>& value) {
  way(value.is_managed, value.ports, value.switches);
}
template <class Way>
void fields(Way& way, In<Way, FabricSnapshot::Fault>& value) {
  way(value.number, value.where, value.rule, value.hits, value.unheard);
}
template <class Way>
void fields(Way& way, In<Way, FabricCaptureCounts>& value) {
  way(value.frames_missing, value.missing_from, value.frames_cut);
}
template <class Way>
void fields(Way& way, In<Way, FabricSnapshot>& value) {
  way(value.fabric, value.uptime, value.network, value.strays, value.has_classes, value.deadlock, value.loops,
      value.names, value.rails, value.cables, value.links, value.nodes, value.subnet, value.faults, value.crashed,
      value.cut_off, value.counter_names, value.counters_complete, value.capture);
  if (value.has_classes)
    for (auto& link : value.links) way(link.pauses);
}

// -- To octets --------------------------------------------------------------------------------------------------------

class Writer {
 public:
  template <class T>
  using Of = const T;

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(octets_); }

 private:
  void put_number(std::uint64_t number) {
    for (; number >= kMore; number >>= kDigitBits) octets_ += static_cast<char>((number & (kMore - 1)) | kMore);
    octets_ += static_cast<char>(number);
  }
  void put(const std::string& text) {
    put_number(text.size());
    octets_ += text;
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put_number(list.size());
    for (const T& one : list) put(one);
  }
  template <class T, std::size_t kCount>
  void put(const std::array<T, kCount>& list) {
    for (const T& one : list) put(one);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& value) {
    put(value.first);
    put(value.second);
  }
  template <class... T>
  void put(const std::variant<T...>& value) {
    put_number(value.index());
    std::visit([this](const auto& alternative) { this->put(alternative); }, value);
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
      put_number(static_cast<std::uint64_t>(value));
    else
      fields(*this, value);
  }

  std::string octets_;
};

template <class T>
std::string encode_message(const T& value) {
  Writer writer;
  writer(value);
  const std::string body = writer.take();
  std::string message(kFabricProtocol);
  message.reserve(message.size() + 1 + kLengthBytes + body.size());
  message += '\0';
  for (std::size_t i = 0; i < kLengthBytes; ++i) message += static_cast<char>(body.size() >> (8 * i) & 0xff);
  return message += body;
}

// -- From octets ------------------------------------------------------------------------------------------------------

class Reader {
 public:
  template <class T>
  using Of = T;

  explicit Reader(std::string_view octets) : left_(octets) {}

  template <class... T>
  void operator()(T&... values) {
    (take(values), ...);
  }
  bool is_whole() const { return !failed_ && left_.empty(); }

 private:
  /// Zero, and failed, when there is no such number.
  std::uint64_t take_number(std::uint64_t most) {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < kWordBits && !left_.empty() && !failed_; shift += kDigitBits) {
      const auto octet = static_cast<std::uint8_t>(left_.front());
      left_.remove_prefix(1);
      const std::uint64_t digit = octet & (kMore - 1);
      if (digit << shift >> shift != digit) break;
      number |= digit << shift;
      if ((octet & kMore) != 0) continue;
      if (number > most) break;
      return number;
    }
    failed_ = true;
    return 0;
  }
  /// Each element has an octet at least.
  std::size_t take_count() {
    return static_cast<std::size_t>(take_number(std::min<std::uint64_t>(left_.size(), kElementsMax)));
  }
  void take(std::string& text) {
    const auto size = static_cast<std::size_t>(take_number(left_.size()));
    if (size > left_.size()) failed_ = true;
    if (failed_) return;
    text = left_.substr(0, size);
    left_.remove_prefix(size);
  }
  template <class T>
  void take(std::vector<T>& list) {
    const std::size_t count = take_count();
    for (std::size_t i = 0; i < count && !failed_; ++i) take(list.emplace_back());
  }
  template <class T, std::size_t kCount>
  void take(std::array<T, kCount>& list) {
    for (T& one : list) take(one);
  }
  template <class T>
  void take(std::optional<T>& value) {
    bool is_there = false;
    take(is_there);
    if (is_there) take(value.emplace());
  }
  template <class A, class B>
  void take(std::pair<A, B>& value) {
    take(value.first);
    take(value.second);
  }
  template <class... T>
  void take(std::variant<T...>& value) {
    const std::uint64_t which = take_number(sizeof...(T) - 1);
    std::uint64_t index = 0;
    ((index++ == which && !failed_ ? take(value.template emplace<T>()) : void()), ...);
  }
  template <class T>
  void take(T& value) {
    if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(take_number(wire::enumerators<T>() - 1));
    else if constexpr (std::is_same_v<T, bool>)
      value = take_number(1) != 0;
    else if constexpr (std::is_signed_v<T>)
      value = static_cast<T>(take_number(std::numeric_limits<std::uint64_t>::max()));
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(take_number(std::numeric_limits<T>::max()));
    else
      fields(*this, value);
  }

  std::string_view left_;
  bool failed_ = false;
};

bool are_rails(std::uint32_t rails) {
  return rails >= 1 && rails <= kDevicesMax;
}

bool is_sound(const FabricSubnet& subnet, const FabricSnapshot& of) {
  return subnet.ports.size() == of.nodes.size() &&
         (!subnet.is_managed || subnet.ports.size() + subnet.switches.size() == of.names.size());
}

bool is_sound(const FabricSnapshot& snapshot) {
  const auto is_vertex = [&](std::uint32_t vertex) { return vertex < snapshot.names.size(); };
  const auto is_link = [&](fabric::LinkId link) { return link.cable < snapshot.cables.size(); };
  return are_rails(snapshot.rails) && snapshot.nodes.size() <= snapshot.names.size() &&
         snapshot.links.size() == 2 * snapshot.cables.size() &&
         std::ranges::all_of(snapshot.cables, [&](auto cable) { return is_vertex(cable.a) && is_vertex(cable.b); }) &&
         std::ranges::all_of(snapshot.crashed, is_vertex) &&
         std::ranges::all_of(snapshot.cut_off,
                             [&](const auto& pair) { return is_vertex(pair.first) && is_vertex(pair.second); }) &&
         std::ranges::all_of(snapshot.nodes,
                             [&](const FabricSnapshot::Node& node) {
                               return node.counters.empty() || node.counters.size() == snapshot.counter_names.size();
                             }) &&
         std::ranges::all_of(snapshot.loops,
                             [&](const fabric::ForwardingLoop& loop) {
                               return !loop.links.empty() && std::ranges::all_of(loop.links, is_link);
                             }) &&
         (!snapshot.subnet || is_sound(*snapshot.subnet, snapshot)) &&
         (!snapshot.deadlock ||
          (!snapshot.deadlock->links.empty() && std::ranges::all_of(snapshot.deadlock->links, is_link)));
}

bool is_sound(const FabricReply& reply) {
  const auto* const snapshot = std::get_if<FabricSnapshot>(&reply);
  const auto* const hello = std::get_if<FabricHello>(&reply);
  return (snapshot == nullptr || is_sound(*snapshot)) &&
         (hello == nullptr ||
          (are_rails(hello->rails) && hello->port_rates.size() == std::size_t{hello->nodes} * hello->rails));
}

bool is_sound(const FabricRequest&) {
  return true;  // the topology is the fabric process's
}

template <class T>
Result<T, CodecError> decode_message(std::string_view message) {
  const std::size_t word = message.find('\0');
  if (word == message.npos || message.substr(0, word) != kFabricProtocol)
    return Failure{CodecError{true, "it does not begin with " + std::string(kFabricProtocol)}};
  message.remove_prefix(word + 1);
  if (message.size() < kLengthBytes) return Failure{CodecError{false, "it ends before its length"}};
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(message[i])) << (8 * i);
  message.remove_prefix(kLengthBytes);
  if (length != message.size())
    return Failure{
        CodecError{false, "it has " + std::to_string(message.size()) + " octets and says " + std::to_string(length)}};
  Reader reader(message);
  T value;
  reader(value);
  if (!reader.is_whole() || !is_sound(value)) return Failure{CodecError{false, "its fields do not fit"}};
  return value;
}

}  // namespace

std::string encode(const FabricRequest& request) {
  return encode_message(request);
}

std::string encode(const FabricReply& reply) {
  return encode_message(reply);
}

Result<FabricRequest, CodecError> decode_request(std::string_view message) {
  return decode_message<FabricRequest>(message);
}

Result<FabricReply, CodecError> decode_reply(std::string_view message) {
  return decode_message<FabricReply>(message);
}

}  // namespace verbena::host
