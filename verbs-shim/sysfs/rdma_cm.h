// How libibverbs and the path shim find each other for /dev/infiniband/rdma_cm.
//
// The path shim sees the program's open() and write(), our libibverbs knows what they mean: it hands these functions
// over when a program asks it for devices, which librdmacm does before it opens the device. Until then, and without our
// libibverbs, there is no such device. One more of them is for a program that ends by _exit() (leaving.cc). In the same
// way it says as which user the process has opened its device (same_user.h): both libraries mean the same node, also
// after the program has given up its privileges.
// Tested by: tests/shim/rdma_cm/rdma_cm_test.cc
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace verbena::path {

struct DeviceFunctions {
  int (*open)(int flags);
  bool (*is_channel)(ino_t inode);
  ssize_t (*command)(int fd, ino_t inode, const void* data, std::size_t bytes);
  /// The process is about to end without the handlers of exit(). Safe in a handler of a signal and a child of vfork().
  void (*leave)();
};

/// Null: nobody has offered them.
const DeviceFunctions* device_functions();
/// Whether the descriptor is a channel's; `inode` becomes its number. Cheap as long as no channel was ever opened.
bool is_rdma_cm_channel(int fd, ino_t& inode);
int open_rdma_cm(int flags);
/// What a program write()s: false, it is no command to a channel. Keeps errno then.
bool write_rdma_cm(int fd, const void* data, std::size_t bytes, ssize_t& result);

}  // namespace verbena::path

/// What libibverbs looks up by its name.
extern "C" void verbena_path_offer_device(const verbena::path::DeviceFunctions* functions);
inline constexpr const char* kOfferDeviceName = "verbena_path_offer_device";
extern "C" void verbena_path_settle_user(unsigned user);
inline constexpr const char* kSettleUserName = "verbena_path_settle_user";
