// printable(): text that somebody else has written, as it may stand on a terminal and in a line of a report.
//
// The only place that decides which characters may not: comments of captures, names in scenarios, names of files and
// output of programs all pass it before they are shown. JSON escapes by itself and gets the text as it is.
#pragma once

#include <string>
#include <string_view>

namespace verbena::wire {

/// The same text, but each octet of what would move a cursor, end a line, or show text in another order than it is
/// written as \xNN: controls (C0, DEL, C1), line and paragraph separators, marks of direction, invisible characters,
/// and octets that are no UTF-8. So it stays one line.
std::string printable(std::string_view text);

}  // namespace verbena::wire
