// is_enumerator: whether an enumeration has a name for a value, for tables that have one row for each.
//
// Solely responsible for asking the compiler: g++ and clang write such a value by its name, and any other as a cast.
// Tested by: tests/wire/enumerators_test.cc
#pragma once

#include <cstddef>
#include <string_view>

namespace verbena::wire {
namespace detail {

template <auto value>
consteval bool has_name() {
  const std::string_view text = __PRETTY_FUNCTION__;  // "... [with auto value = Kind::drop]", "... = (Kind)8]"
  const std::size_t cast = text.rfind(')');
  return cast == text.npos || text.rfind("::") > cast;
}

}  // namespace detail

/// What a table that has a row for each enumerator, from 0, says of the value behind its last row.
template <class Enumeration, std::size_t number>
inline constexpr bool is_enumerator = detail::has_name<static_cast<Enumeration>(number)>();

/// How many there are, from 0.
template <class Enumeration, std::size_t from = 0>
consteval std::size_t enumerators() {
  if constexpr (is_enumerator<Enumeration, from>)
    return enumerators<Enumeration, from + 1>();
  else
    return from;
}

}  // namespace verbena::wire
