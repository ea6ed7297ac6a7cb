// What DCQCN's rules say of the share of packets that is marked, once N senders share a port: two ways to know it that
// have nothing to do with emulator/nic.
//
// Solely arithmetic. The fluid model is the one of the paper's section 5; the other way is the rules themselves, step
// by step, of one sender whose packets are marked by chance.
#pragma once

#include <cstdint>

namespace verbena::scenarios {

struct DcqcnModel {
  double senders = 20;
  double additive_increase = 40e6;  // bits per second
  double line_rate = 40e9;
  double packet_octets = 1082;  // on the wire
  double byte_counter = 10e6;
  double timer = 55e-6;         // seconds
  double alpha_timer = 55e-6;   // seconds
  double cnp_interval = 50e-6;  // seconds
  double gain = 1.0 / 256;
  unsigned fast_recovery = 5;
};

/// The share at which the means of rate, target rate and alpha stand still, each sender at its share of the line.
double marked_share_of_fluid(const DcqcnModel& model);

/// The share at which a sender that is marked by chance has its share of the line in the mean; of a sender followed
/// for seconds of its time, with a seed that does not change.
double marked_share_of_rules(const DcqcnModel& model);

/// The queue at which RED (Kmin 5 KB, Kmax 200 KB) marks such a share. Above `pmax` it has none below Kmax: 200 KB.
double queue_for(double marked_share, double pmax);

}  // namespace verbena::scenarios
