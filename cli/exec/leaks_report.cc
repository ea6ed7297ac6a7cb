#include "cli/exec/leaks_report.h"

#include <fmt/format.h>

#include <sstream>

#include "emulator/host/config/variables.h"
#include "wire/counted.h"

namespace verbena::cli {
LeaksReport::Judged LeaksReport::judge() const {
  std::istringstream lines(file_.text());
  Judged judged{.text = {}, .is_clean = true};
  std::string line;
  bool is_judged = false;
  while (std::getline(lines, line)) {
    std::istringstream record(line);
    std::string word;
    std::uint64_t process = 0, left = 0, made = 0;
    if (record >> word && word == host::kLeaksRecord && record >> process >> left >> made) {
      is_judged = true;
      judged.is_clean = judged.is_clean && left == 0;
      judged.left += left;
      line = left == 0 ? fmt::format("verbena: process {} has destroyed all that it made ({})", process,
                                     wire::counted(made, "object", "objects"))
                       : fmt::format("verbena: process {} has left {} of {}", process, left,
                                     wire::counted(made, "object", "objects"));
    }
    judged.text += line + "\n";
  }
  if (is_judged) return judged;
  return {.text = "verbena: no process that made objects of verbs has ended by itself: leaks were not judged\n",
          .is_clean = false};
}

}  // namespace verbena::cli
