// Settings: NICs (with their congestion control and loss recovery), rails and traffic classes of a world, in the words
// of scenario files and of `verbena exec --nic`: what a name means, and what its value may be, is the same there.
#pragma once

#include <verbena/export.h>
#include <verbena/result.h>

#include <memory>
#include <string_view>

namespace libverbena {

struct SettingsState;

/// invalid_argument: there is no such name, or its value is none such; the text says what there is. What is said again
/// counts as it was said last. What has been moved from is good for nothing but assignment.
class LIBVERBENA_PUBLIC Settings {
 public:
  Settings();
  ~Settings();
  Settings(Settings&&) noexcept;
  Settings& operator=(Settings&&) noexcept;

  /// Of all NICs: "congestion-control", "dcqcn-timer", "loss-recovery", "rto-low", "mtu", "timeout" and others. What a
  /// NIC is told of timeouts and retries goes before ConnectOptions, as it goes before what a program asks for.
  Result<void> set_nics(std::string_view name, std::string_view value);
  /// Of one, over what all have. Whether there is such a NIC is World::make's to say.
  Result<void> set_nic(std::string_view nic, std::string_view name, std::string_view value);
  /// Of all switches and ports, which then have traffic classes: "lossless", "dscp", "buffer" and others. A list is
  /// written with + ("3+4"), a map with : ("26:3"). A packet's class is that of ConnectOptions::traffic_class.
  Result<void> set_qos(std::string_view name, std::string_view value);
  /// Of WorldOptions, whose NICs and peers are nodes then: "rails", "2", so that "a" has the NICs a.1 and a.2;
  /// "planes", "separate" (no way from one rail to another) or "shared". A cable of "a", and set_nic("a"), are for each
  /// of them.
  Result<void> set_nodes(std::string_view name, std::string_view value);
  /// Of all cables, beside CableOptions: "telemetry", "true", which congestion-control hpcc goes by.
  Result<void> set_cables(std::string_view name, std::string_view value);

 private:
  friend class World;
  std::unique_ptr<SettingsState> state_;
};

}  // namespace libverbena
