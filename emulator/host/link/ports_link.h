// PortsLink: the link of a NIC with several ports: a link of its own behind each, with its own faults and captures.
//
// Solely responsible for which port a frame goes by, as its headers say (FrameTemplate::port), and for looking at all
// ports in turn; it carries nothing itself. A NIC with one port has that port's link and none of this.
// Tested by: tests/host/link/ports_link_test.cc
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator/host/link/decorators.h"
#include "emulator/host/link/link.h"
#include "emulator/host/link/port_parts.h"
#include "emulator/host/os/descriptor.h"

namespace verbena::host {

class PortsLink final : public Link, private ForkGuard {
 public:
  struct Port {
    OpenedLink opened;
    Decorators decorators;  // around the link's port
    FramePort& frames() const { return decorators.outermost(*opened.link); }
  };
  /// Links that were opened for one slot, of port 1 first. The error is one line for the user.
  static Result<OpenedLink, std::string> open(std::vector<Port> ports);

  Link& of_port(std::uint32_t port) override { return *ports_[port - 1].opened.link; }
  FramePort& frames_of(std::uint32_t port) override { return ports_[port - 1].frames(); }

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void commit(std::size_t bytes, wire::IcrcState icrc) override { reserved_->commit(bytes, icrc); }
  void cancel() override { reserved_->cancel(); }
  void publish() override;
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override;
  bool take_in(Time now, std::span<const std::byte> frame) override;
  std::optional<Time> next_deadline() const override;
  bool holds_back() const override;

  bool fetch(std::size_t most) override;
  bool fetch_all() override;
  bool flush() override;
  std::uint64_t published() override;
  bool has_sent(std::uint64_t published) override;
  bool has_unsent() const override;
  void service() override;
  std::optional<Notice> take_notice() override { return of_port(1).take_notice(); }
  bool has_signal() override { return of_port(1).has_signal(); }
  std::optional<wire::PathAddress> resolve(const wire::Gid& address) override { return of_port(1).resolve(address); }
  WaitDescriptors wait_descriptors() const override { return {.frames = frames_.get(), .control = control_.get()}; }
  void acknowledge_doorbell() override;
  bool arm() override;
  void disarm() override;

 private:
  explicit PortsLink(std::vector<Port> ports);
  bool watch_descriptors();
  void hold_for_fork() override;
  void release_after_fork() override;
  void abandon_after_fork() override;

  std::vector<Port> ports_;
  PortParts parts_;
  FramePort* reserved_ = nullptr;            // whose room was given last
  std::size_t first_ = 0;                    // the port that receive() begins with
  std::vector<std::uint64_t> published_at_;  // by each port, as of the last published()
  std::uint64_t published_ = 0;
  Descriptor frames_;   // epoll over the ports' own
  Descriptor control_;  // the same; invalid: no port has any
};

}  // namespace verbena::host
