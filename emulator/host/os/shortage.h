// What the machine has run out of, said by its name: a full disk and a limit on memory are not mistakes of the user.
//
// Solely telling such errors apart and putting them into words; who reports them is the caller's business.
#pragma once

#include <string>

namespace verbena::host {

/// A file that could not be made or written.
struct FileError {
  std::string text;          // one line
  bool is_shortage = false;  // the disk or the process has no room; nothing that another path would mend
};
/// `text` and the reason, by errno.
FileError file_error(const std::string& text, int error_number);

/// Why there is no memory: "no memory is left", and what `ulimit -v` allows where it allows little.
std::string no_memory_text();
/// " (`ulimit -v` allows this process 195 MiB)" where the addresses of this process are limited, or nothing.
std::string memory_limit_text();
/// One line on stderr, once in the life of the process: what could not be had for want of memory.
void tell_no_memory(const char* what);
/// The same for want of descriptors, if that is what errno says; else nothing, and false. Keeps errno.
bool tell_if_no_descriptors(const char* what);

}  // namespace verbena::host
