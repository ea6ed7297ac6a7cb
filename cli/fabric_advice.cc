#include "cli/fabric_advice.h"

#include <fmt/format.h>

#include "emulator/host/config/variables.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::cli {
namespace {

constexpr std::size_t kNamedMax = 4;  // of the fabrics that are there

}  // namespace

std::string with_advice(const host::FabricError& error, const std::string& fabric) {
  if (error.served || !host::is_fabric_name(fabric)) return error.text;
  std::string others;
  std::size_t named = 0;
  for (const std::string& name : host::fabrics_present())
    if (name != fabric && ++named <= kNamedMax) others += (others.empty() ? "" : ", ") + name;
  if (named > kNamedMax) others += ", ...";
  const std::string option = fabric == host::kFabricDefault ? "" : " --fabric " + fabric;
  return fmt::format("{}: start one (verbena fabric{} --topology star){}", error.text, option,
                     others.empty() ? "" : ", or name one that is there (--fabric): " + others);
}

}  // namespace verbena::cli
