// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257): alpha is the weighted share of packets that were marked, window by
// window, and a window with marks is cut by alpha / 2. Else it grows as TCP's does (RFC 5681), by a packet in a round
// trip, and a loss halves it. As in the simulator of HPCC's authors (github.com/alibaba-edu/
// High-Precision-Congestion-Control: rdma-hw.cc) alpha begins with 1 and the cut comes with the first mark; as of a
// RoCE NIC, sending begins with all of the window.
//
// Which packets were marked is echoed by the responder (mark_echo.h); a CNP, of a responder that sends those, counts as
// one mark. All in integers, so that every machine has the same run: windows are parts of 2^20 of a packet.
#include "emulator/nic/congestion/dctcp.h"

#include <algorithm>

namespace verbena::nic {
namespace {

using Parts = std::uint64_t;
constexpr Parts kPacket = Parts{1} << 20;

class Dctcp final : public CongestionControl {
 public:
  Dctcp(const DctcpParameters& parameters, std::uint64_t line_rate_bits_per_second)
      : CongestionControl(line_rate_bits_per_second), parameters_(parameters) {}

  void notified(Time) override { has_notice_ = true; }

  void acknowledged(const Answer& answer) override {
    acknowledged_ += answer.packets;
    counted_ += answer.packets;
    if (answer.is_marked)
      marked_ += answer.packets;
    else if (has_notice_)
      ++marked_;
    const bool is_marked = answer.is_marked || has_notice_;
    has_notice_ = false;
    if (acknowledged_ >= window_end_) end_window(answer.outstanding);
    if (acknowledged_ < reduced_until_) return;  // cut once in a window of data
    if (is_marked) {
      window_ -= times(window_, alpha_ / 2);
      threshold_ = window_;
      reduced_until_ = acknowledged_ + answer.outstanding + 1;
    } else if (window_ < threshold_) {
      window_ += answer.packets * kPacket;
    } else {
      window_ += answer.packets * parameters_.additive_increase * kPacket * kPacket / window_;
    }
    apply();
  }

  void lost(Time, Loss loss, std::uint32_t outstanding) override {
    if (loss == Loss::sequence_error && acknowledged_ < reduced_until_) return;
    threshold_ = std::max(window_ / 2, 2 * kPacket);
    window_ = loss == Loss::timeout ? kPacket : threshold_;
    reduced_until_ = acknowledged_ + outstanding + 1;
    apply();
  }

 private:
  void start_window(std::uint32_t) override { window_ = threshold_ = most(); }

  /// All that was outstanding when the window began is acknowledged: F of it was marked.
  void end_window(std::uint32_t outstanding) {
    const auto fraction = static_cast<Share>(std::min(marked_, counted_) * kWhole / counted_);
    alpha_ += static_cast<Share>(times(fraction, parameters_.g)) - static_cast<Share>(times(alpha_, parameters_.g));
    marked_ = counted_ = 0;
    window_end_ = acknowledged_ + outstanding;
  }

  Parts most() const { return window_limit() * kPacket; }
  void apply() {
    window_ = std::clamp(window_, kPacket, most());
    set_window(window_ / kPacket);
  }

  DctcpParameters parameters_;
  Share alpha_ = kWhole;
  Parts window_ = 0;
  Parts threshold_ = 0;  // ssthresh: below it the window doubles in a round trip
  bool has_notice_ = false;
  // Packets.
  std::uint64_t acknowledged_ = 0;
  std::uint64_t counted_ = 0;  // in the window under way
  std::uint64_t marked_ = 0;   // of these
  std::uint64_t window_end_ = 0;
  std::uint64_t reduced_until_ = 0;  // what was outstanding at the last cut is acknowledged then
};

}  // namespace

std::unique_ptr<CongestionControl> make_dctcp(const DctcpParameters& parameters,
                                              std::uint64_t line_rate_bits_per_second) {
  return std::make_unique<Dctcp>(parameters, line_rate_bits_per_second);
}

}  // namespace verbena::nic
