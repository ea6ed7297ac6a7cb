// Network: switches and cables between hosts, sans-IO: frames go in at one host and come out at another, later, or
// never.
//
// Solely responsible for what happens to a frame between two NICs' ports: egress queues, rates, propagation, faults,
// ECN marks, routing, dead links and switches. It reads no clock (time is an argument) and knows no NICs. sim::World
// runs it under virtual time, the fabric process (emulator/host) on the real clock.
#pragma once
// Owner: H1. Shape wanted (the letter is yours):
//   Network(const Topology&, const NetworkOptions&)
//   bool/FrameRef submit(Time now, std::uint32_t host, frame bytes or a slot of the frame pool, built in place)
//   std::optional<Time> next_deadline() const;
//   void run(Time now, Sink&)          // Sink::arrived(host, time, frame)
//   set_faults / set_link_up / set_link_rate / set_link_delay / set_switch_up / set_partition / statistics / observe
