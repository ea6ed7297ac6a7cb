#include "tests/support/places.h"

namespace verbena::test {

std::string source_file(std::string_view path) {
  return std::string(VERBENA_SOURCE "/").append(path);
}

std::string data_file(std::string_view name) {
  return std::string(VERBENA_SOURCE "/tests/data/").append(name);
}

}  // namespace verbena::test
