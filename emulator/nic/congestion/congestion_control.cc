#include "emulator/nic/congestion/congestion_control.h"

namespace verbena::nic {

std::unique_ptr<CongestionControl> make_congestion_control(const CongestionConfig& config) {
  switch (config.policy) {
    case CongestionPolicy::none:
      return nullptr;
    case CongestionPolicy::dcqcn:
      return make_dcqcn(config);
    case CongestionPolicy::timely:
      return make_timely(config);
    case CongestionPolicy::swift:
      return make_swift(config);
    case CongestionPolicy::dctcp:
      return make_dctcp(config);
    case CongestionPolicy::hpcc:
      return make_hpcc(config);
  }
  return nullptr;
}

}  // namespace verbena::nic
