// A fault of elements that Verbena has not, as its one row: `verbena fault link-dim LINK RATE`, and in scenarios
// `{link-dim: LINK, rate: RATE, times: N}`.
#pragma once

#include <vector>

#include "emulator/fabric/element_rows.h"

namespace verbena::test {

inline fabric::ElementRow link_dim() {
  static constexpr std::string_view kKeys[] = {"rate", "times"};
  return {.word = "link-dim",
          .kind = fabric::ElementChange::Kind::link_rate,
          .subject = fabric::ElementRow::Subject::links,
          .keys = kKeys,
          .undo = "link-up",
          .in_scenario = {"The cables are dim.", "link-dim: n1-s1, rate: 1Gbps"},
          .on_fabric = {"The cable is dim.", "link-dim n1-s1 1Gbps"}};
}

/// Behind those that there are.
inline std::vector<fabric::ElementRow> rows_and_link_dim() {
  std::vector<fabric::ElementRow> rows(fabric::element_rows().begin(), fabric::element_rows().end());
  rows.push_back(link_dim());
  return rows;
}

}  // namespace verbena::test
