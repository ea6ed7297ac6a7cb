// What the line of a port in a topology file says of its link: a rate as ibnetdiscover writes it behind #, or options
// as ibsim has them.
//
// Solely these words. Where they stand is topology_file.h's.
// Tested by: tests/subnet/topology_file_test.cc
#pragma once

#include <string>
#include <string_view>

#include "emulator/subnet/topology_file.h"

namespace verbena::subnet {

/// Whether the word is a rate, "4xQDR".
bool read_rate(std::string_view word, PortPlan& into);
/// It has a rate's form, "4xFOO": a width that there is, and a name in capitals.
bool looks_like_rate(std::string_view word);
/// "s=4", "w=2" or "v=4", as ibnetdiscover --full writes them.
bool is_code_of_rate(std::string_view word);
/// "SDR, DDR, ...".
std::string speed_names();

/// "w=4" (the width), "s=2" (speeds that are enabled, of which the highest counts) or "mtu=2048" (what the port can
/// do).
bool is_port_option(std::string_view word);
/// What to write in the place of such a word; empty: it is read.
std::string read_port_option(std::string_view word, PortPlan& plan);

}  // namespace verbena::subnet
