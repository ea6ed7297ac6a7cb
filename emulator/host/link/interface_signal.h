// InterfaceSignal: whether the machine's interface below a link is up and has a carrier, and each change of that.
//
// Solely responsible for asking the kernel (rtnetlink(7), the group of links). As the kernel's RoCE drivers have it, a
// port is active as long as its interface is up and running. Without an interface, or without the right to ask, there
// is a signal always.
// Tested by: tests/host/link/raw/raw_link_test.cc
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "emulator/host/link/link.h"
#include "emulator/host/os/descriptor.h"

namespace verbena::host {

class InterfaceSignal {
 public:
  /// In the network namespace of the calling thread.
  void watch(std::string interface, unsigned index);
  void close();

  /// Readable when service() has something to hear; -1: nothing is watched.
  int descriptor() const { return news_.get(); }
  void service();
  std::optional<Notice> take_notice();
  /// As of the last service().
  bool has_signal() const { return is_up_; }

 private:
  void note(bool is_up);

  std::string interface_;
  unsigned index_ = 0;
  Descriptor news_;
  bool is_up_ = true;
  std::deque<Notice> notices_;
};

/// A link on an interface of the machine, whose port is as that is.
class InterfaceLink : public Link {
 public:
  using Link::Link;
  void service() override { signal_.service(); }
  std::optional<Notice> take_notice() override { return signal_.take_notice(); }
  bool has_signal() override { return signal_.has_signal(); }

 protected:
  InterfaceSignal signal_;
};

}  // namespace verbena::host
