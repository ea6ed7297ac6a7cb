// member_name: the name of a member, from the pointer to it, so that a field is called what its declaration calls it.
//
// Solely that. The compiler says which member a function was made for; both of ours write "...::NAME" before the next
// ']' or ';'.
// Tested by: tests/wire/packet_text_test.cc
#pragma once

#include <string_view>

namespace verbena::wire {

template <auto kMember>
constexpr std::string_view member_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("kMember = "));
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

namespace member_name_detail {
struct Sample {
  int ack_request;
};
static_assert(member_name<&Sample::ack_request>() == "ack_request");
}  // namespace member_name_detail

}  // namespace verbena::wire
