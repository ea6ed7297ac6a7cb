// Layout: the one declaration of where a header's fields lie; size, parse and emit derive from it at compile time.
//
// Solely responsible for turning octets in network order into plain values and back. It knows no header: headers.h
// declares them. The octets are read and written in whole words, so every offset, mask and shift is a constant.
// Tested by: tests/wire/packet_test.cc
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace verbena::wire {

namespace layout_detail {

template <std::size_t kBits>
constexpr std::uint64_t low_mask() {
  static_assert(kBits >= 1 && kBits <= 64);
  return ~std::uint64_t{0} >> (64 - kBits);
}

template <class T>
struct MemberOf;
template <class Header, class Value>
struct MemberOf<Value Header::*> {
  using header = Header;
  using value = Value;
};

/// Addresses are arrays of octets and are copied as they lie; everything else is a number.
template <class T>
concept OctetArray = requires(T value) { value.octets.data(); };

/// A field's value as an unsigned number: integers, enums and the strong types of types.h.
template <class T>
constexpr std::uint64_t to_word(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<std::make_unsigned_t<std::underlying_type_t<T>>>(value);
  } else if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (requires { value.value(); }) {
    return value.value();
  } else {
    return value.value;
  }
}

template <class T>
constexpr T from_word(std::uint64_t word) {
  if constexpr (std::is_same_v<T, bool>) {
    return word != 0;
  } else if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {
    return static_cast<T>(word);
  } else {
    return T{static_cast<std::uint32_t>(word)};
  }
}

template <class To, class From>
constexpr void copy_octets(To* into, const From* from, std::size_t bytes) {
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < bytes; ++i) into[i] = static_cast<To>(from[i]);
    return;
  }
  std::memcpy(into, from, bytes);
}

template <std::size_t kBytes>
using Unsigned = std::conditional_t<
    kBytes == 8, std::uint64_t,
    std::conditional_t<kBytes == 4, std::uint32_t, std::conditional_t<kBytes == 2, std::uint16_t, std::uint8_t>>>;

template <std::size_t kBytes>
constexpr Unsigned<kBytes> swap_to_network(Unsigned<kBytes> value) {
  static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big);
  if constexpr (std::endian::native == std::endian::big || kBytes == 1) return value;
  if constexpr (kBytes == 2) return __builtin_bswap16(value);
  if constexpr (kBytes == 4) return __builtin_bswap32(value);
  if constexpr (kBytes == 8) return __builtin_bswap64(value);
}

template <std::size_t kBytes>
constexpr std::uint64_t load_big_endian(const std::byte* from) {
  if (std::is_constant_evaluated()) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kBytes; ++i) value = value << 8 | static_cast<std::uint8_t>(from[i]);
    return value;
  }
  Unsigned<kBytes> value;
  std::memcpy(&value, from, kBytes);
  // The compiler must not load it a second time: the octets may change between two loads (shared memory).
  asm("" : "+r"(value));
  return swap_to_network<kBytes>(value);
}

template <std::size_t kBytes>
constexpr void store_big_endian(std::byte* into, std::uint64_t value) {
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < kBytes; ++i) into[i] = static_cast<std::byte>(value >> (8 * (kBytes - 1 - i)));
    return;
  }
  const Unsigned<kBytes> network = swap_to_network<kBytes>(static_cast<Unsigned<kBytes>>(value));
  std::memcpy(into, &network, kBytes);
}

/// Little-endian: only the ICRC lies so.
inline std::uint32_t load_icrc(const std::byte* from) {
  return __builtin_bswap32(static_cast<std::uint32_t>(load_big_endian<4>(from)));
}
inline void store_icrc(std::byte* into, std::uint32_t value) {
  store_big_endian<4>(into, __builtin_bswap32(value));
}

/// The octets of a header are taken as words of 8, 8, ..., 4, 2, 1 octets.
struct Chunk {
  std::size_t first = 0;  // octet
  std::size_t bytes = 0;
};
template <std::size_t kBytes>
inline constexpr std::size_t kChunks = kBytes / 8 + static_cast<std::size_t>(std::popcount(kBytes % 8));
template <std::size_t kBytes>
constexpr std::array<Chunk, kChunks<kBytes>> chunks_of() {
  std::array<Chunk, kChunks<kBytes>> chunks{};
  std::size_t first = 0;
  for (Chunk& chunk : chunks) {
    const std::size_t left = kBytes - first;
    chunk = {first, left >= 8 ? 8 : std::bit_floor(left)};
    first += chunk.bytes;
  }
  return chunks;
}

}  // namespace layout_detail

/// `kBits` bits on the wire, most significant first, that are `kMember` of the header.
template <auto kMember, std::size_t kBits>
struct Field {
  using Header = typename layout_detail::MemberOf<decltype(kMember)>::header;
  using Value = typename layout_detail::MemberOf<decltype(kMember)>::value;
  static constexpr auto member = kMember;
  static constexpr std::size_t bits = kBits;
  static_assert(layout_detail::OctetArray<Value> ? sizeof(Value) * 8 == kBits
                                                 : sizeof(Value) * 8 >= kBits || kBits == 1);
};

/// Fields in wire order. Together they must fill whole octets.
template <class First, class... Rest>
class Layout {
 public:
  using Header = typename First::Header;
  static constexpr std::size_t bits = (First::bits + ... + Rest::bits);
  static_assert(bits % 8 == 0, "a header is whole octets");
  static constexpr std::size_t bytes = bits / 8;

  static constexpr void parse(std::span<const std::byte, bytes> from, Header& into) {
    std::array<std::uint64_t, kChunkList.size()> words{};
    load(words, from.data(), std::make_index_sequence<kChunkList.size()>{});
    parse_fields<First, Rest...>(into, from.data(), words, std::make_index_sequence<1 + sizeof...(Rest)>{});
  }
  static constexpr Header parse(std::span<const std::byte, bytes> from) {
    Header header{};
    parse(from, header);
    return header;
  }

  static constexpr void emit(const Header& header, std::span<std::byte, bytes> into) {
    emit_chunks(header, into.data(), std::make_index_sequence<kChunkList.size()>{});
    emit_octets<First, Rest...>(header, into.data(), std::make_index_sequence<1 + sizeof...(Rest)>{});
  }

  static constexpr std::array<std::byte, bytes> emit(const Header& header) {
    std::array<std::byte, bytes> octets{};
    emit(header, octets);
    return octets;
  }

  /// Calls `see.template operator()<Field>(value)` for each field, in wire order.
  template <class See>
  static constexpr void visit(const Header& header, See&& see) {
    see.template operator()<First>(header.*(First::member));
    (see.template operator()<Rest>(header.*(Rest::member)), ...);
  }

  /// Whether each bit of the octets survives parse and emit at its place: no field overlaps, none is cut. Both only
  /// copy bits, so it is enough that for each binary digit of a bit's number the octets in which exactly the bits with
  /// that digit 1 (or 0) are set come back: any two bits differ in some digit, so a bit that came out elsewhere would
  /// be seen.
  static constexpr bool round_trips() {
    for (std::size_t digit = 0; digit < static_cast<std::size_t>(std::bit_width(bits)); ++digit) {
      std::array<std::byte, bytes> ones{};
      std::array<std::byte, bytes> zeros{};
      for (std::size_t bit = 0; bit < bits; ++bit)
        ((bit >> digit & 1) != 0 ? ones : zeros)[bit / 8] |= static_cast<std::byte>(0x80 >> bit % 8);
      if (emit(parse(ones)) != ones || emit(parse(zeros)) != zeros) return false;
    }
    return true;
  }

 private:
  static constexpr auto kChunkList = layout_detail::chunks_of<bytes>();
  static constexpr std::array<std::size_t, 1 + sizeof...(Rest)> kWidths{First::bits, Rest::bits...};
  static constexpr std::size_t offset_of(std::size_t index) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < index; ++i) offset += kWidths[i];
    return offset;
  }

  template <std::size_t... kChunk>
  static constexpr void load(std::array<std::uint64_t, sizeof...(kChunk)>& words, const std::byte* from,
                             std::index_sequence<kChunk...>) {
    ((words[kChunk] = layout_detail::load_big_endian<kChunkList[kChunk].bytes>(from + kChunkList[kChunk].first)), ...);
  }

  /// Where a field and a chunk overlap, counted in bits.
  template <std::size_t kChunk, std::size_t kOffset, std::size_t kWidth>
  struct Overlap {
    static constexpr std::size_t chunk_begin = kChunkList[kChunk].first * 8;
    static constexpr std::size_t chunk_end = chunk_begin + kChunkList[kChunk].bytes * 8;
    static constexpr std::size_t begin = kOffset > chunk_begin ? kOffset : chunk_begin;
    static constexpr std::size_t end = kOffset + kWidth < chunk_end ? kOffset + kWidth : chunk_end;
    static constexpr bool any = begin < end;
    static constexpr std::size_t width = any ? end - begin : 1;
    static constexpr std::size_t chunk_shift = any ? chunk_end - end : 0;
    static constexpr std::size_t field_shift = any ? kOffset + kWidth - end : 0;
  };

  template <class OneField, std::size_t kOffset, std::size_t kChunk, class Words>
  static constexpr std::uint64_t take(const Words& words) {
    using Place = Overlap<kChunk, kOffset, OneField::bits>;
    if constexpr (Place::any) {
      return (words[kChunk] >> Place::chunk_shift & layout_detail::low_mask<Place::width>()) << Place::field_shift;
    } else {
      return 0;
    }
  }
  template <class OneField, std::size_t kOffset, class Words, std::size_t... kChunk>
  static constexpr void parse_field(Header& header, const std::byte* from, const Words& words,
                                    std::index_sequence<kChunk...>) {
    using Value = typename OneField::Value;
    if constexpr (layout_detail::OctetArray<Value>) {
      static_assert(kOffset % 8 == 0);
      auto& octets = (header.*(OneField::member)).octets;
      layout_detail::copy_octets(octets.data(), from + kOffset / 8, octets.size());
    } else {
      header.*(OneField::member) = layout_detail::from_word<Value>((take<OneField, kOffset, kChunk>(words) | ...));
    }
  }
  template <class... Fields, class Words, std::size_t... kIndex>
  static constexpr void parse_fields(Header& header, const std::byte* from, const Words& words,
                                     std::index_sequence<kIndex...>) {
    (parse_field<Fields, offset_of(kIndex)>(header, from, words, std::make_index_sequence<kChunkList.size()>{}), ...);
  }

  template <class OneField, std::size_t kOffset>
  static constexpr void emit_octets_of(const Header& header, std::byte* into) {
    if constexpr (layout_detail::OctetArray<typename OneField::Value>) {
      const auto& octets = (header.*(OneField::member)).octets;
      layout_detail::copy_octets(into + kOffset / 8, octets.data(), octets.size());
    }
  }
  template <class... Fields, std::size_t... kIndex>
  static constexpr void emit_octets(const Header& header, std::byte* into, std::index_sequence<kIndex...>) {
    (emit_octets_of<Fields, offset_of(kIndex)>(header, into), ...);
  }

  template <class OneField, std::size_t kOffset, std::size_t kChunk>
  static constexpr std::uint64_t give(const Header& header) {
    using Place = Overlap<kChunk, kOffset, OneField::bits>;
    if constexpr (Place::any && !layout_detail::OctetArray<typename OneField::Value>) {
      static_assert(OneField::bits <= 64);
      const std::uint64_t part = layout_detail::to_word(header.*(OneField::member)) >> Place::field_shift;
      return (part & layout_detail::low_mask<Place::width>()) << Place::chunk_shift;
    } else {
      return 0;
    }
  }
  template <std::size_t kChunk, class... Fields, std::size_t... kIndex>
  static constexpr std::uint64_t chunk_word(const Header& header, std::index_sequence<kIndex...>) {
    return (give<Fields, offset_of(kIndex), kChunk>(header) | ...);
  }
  template <std::size_t... kChunk>
  static constexpr void emit_chunks(const Header& header, std::byte* into, std::index_sequence<kChunk...>) {
    (layout_detail::store_big_endian<kChunkList[kChunk].bytes>(
         into + kChunkList[kChunk].first,
         chunk_word<kChunk, First, Rest...>(header, std::make_index_sequence<1 + sizeof...(Rest)>{})),
     ...);
  }
};

}  // namespace verbena::wire
