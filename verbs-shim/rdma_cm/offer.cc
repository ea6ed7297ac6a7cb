// Offers the device to the path shim, where there is one.
#include "verbs-shim/rdma_cm/offer.h"

#include <dlfcn.h>

#include "verbs-shim/path/rdma_cm.h"
#include "verbs-shim/rdma_cm/device.h"

namespace verbena::shim::rdma_cm {

void offer_device() {
  static constexpr path::RdmaCmFunctions kFunctions{
      .open = [](int flags) { return Device::instance().open_channel(flags); },
      .is_channel = [](ino_t inode) { return Device::instance().is_channel(inode); },
      .command = [](int fd, ino_t inode, const void* data,
                    std::size_t bytes) { return Device::instance().command(fd, inode, data, bytes); }};
  void* const found = dlsym(RTLD_DEFAULT, kOfferRdmaCmName);
  if (found != nullptr) reinterpret_cast<decltype(verbena_path_offer_rdma_cm)*>(found)(&kFunctions);
}

}  // namespace verbena::shim::rdma_cm
