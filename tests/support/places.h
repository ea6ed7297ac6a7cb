// Where the files are that tests read. The only place that knows the source folder: an object that holds it cannot come
// out of the compiler's cache for another clone, so that the tests themselves can.
#pragma once

#include <string>
#include <string_view>

namespace verbena::test {

/// The path of a file of the source tree, such as "docs/scenario.schema.json".
std::string source_file(std::string_view path);
/// The path of a file in tests/data.
std::string data_file(std::string_view name);

}  // namespace verbena::test
