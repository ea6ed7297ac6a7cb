// Engine::ThreadSide: what the progress thread asks of an engine.
// Tested by: tests/host/engine/engine_test.cc
#pragma once

#include "emulator/host/engine/engine.h"

namespace verbena::host {

class Engine::ThreadSide final : public Progress {
 public:
  explicit ThreadSide(Engine& engine) : engine_(engine) {}

  Look pass() override;
  bool shares_core() override;
  Activity activity() const override { return engine_.activity_.seen(); }
  Time prepare_sleep(bool listen, Time longest, bool& ready) override;
  void woke() override { engine_.thread_sleep_.ends(); }
  void acknowledge_doorbell() override { engine_.live_.link().acknowledge_doorbell(); }
  void service() override { engine_.service(); }
  Link::WaitDescriptors wait_descriptors() const override { return engine_.live_.link().wait_descriptors(); }
  bool frames_need_kernel() const override { return engine_.live_.frames_need_kernel(); }

 private:
  Engine& engine_;
};

}  // namespace verbena::host
