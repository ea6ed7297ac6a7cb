#include "captures/findings/rhythm.h"

#include <algorithm>
#include <cstdint>

namespace verbena::captures {

namespace {

constexpr std::int64_t kFar = 10;        // rounds: longer than anything but a timer, if nothing has answered
constexpr std::int64_t kVeryFar = 1000;  // rounds: a timer, whatever its length
constexpr std::int64_t kPrompt = 8;

Duration quantile(std::vector<Duration> samples, std::size_t part, std::size_t of) {
  if (samples.empty()) return {};
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>((samples.size() - 1) * part / of);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

/// The length that most samples are near to: one wrong guess among them does not count. A length that no ACK timer has
/// by its definition has to be met several times.
std::optional<Duration> most_common(std::vector<Duration> samples) {
  if (samples.empty()) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  constexpr std::size_t kOwnLengthLeast = 3;
  std::size_t best = 0, best_count = 0;
  for (std::size_t i = 0, end = 0; i < samples.size(); ++i) {
    while (end < samples.size() && samples[end].ns <= samples[i].ns + samples[i].ns / 10) ++end;
    if (end - i > best_count && (end - i >= kOwnLengthLeast || fits_ack_timer(samples[i]))) {
      best = i;
      best_count = end - i;
    }
  }
  if (best_count == 0) return std::nullopt;
  return samples[best];
}

}  // namespace

bool fits_ack_timer(Duration silence) {
  for (std::int64_t timer = 4096; timer <= silence.ns + silence.ns / 20; timer *= 2)
    if (silence.ns >= timer - timer / 20 && silence.ns <= timer + timer / 20) return true;
  return false;
}

bool Rhythm::may_be_timeout(Duration silence, Duration quiet, bool was_answered) const {
  if (timeout && !fits_ack_timer(*timeout)) return silence.ns * 10 >= timeout->ns * 9;  // hardware's own lengths
  if (timeout && silence.ns * 10 < timeout->ns * 9) return false;
  if (timeout) return fits_ack_timer(silence) || (!was_answered && fits_ack_timer(quiet));
  const std::int64_t usual = std::max(round.ns, reaction.ns);
  if (usual == 0) return fits_ack_timer(silence);
  if (silence.ns < kFar * usual) return false;
  if (fits_ack_timer(silence)) return true;
  return !was_answered && (silence.ns >= kVeryFar * usual || (quiet.ns >= kFar * usual && fits_ack_timer(quiet)));
}

bool Rhythm::is_too_slow(Duration since_nak, Duration silence, Duration quiet) const {
  if (is_prompt(since_nak)) return false;
  if (timeout) return silence.ns * 10 >= timeout->ns * 9 && since_nak.ns * 2 >= timeout->ns;
  return round.ns != 0 && !is_prompt(quiet) && (fits_ack_timer(quiet) || fits_ack_timer(silence));
}

bool Rhythm::is_soon(Duration since) const {
  return since.ns <= 2 * std::max(reaction.ns, round.ns);
}

bool Rhythm::is_long(Duration silence) const {
  return silence.ns >= kVeryFar * std::max(spacing.ns, std::int64_t{1}) ||
         silence.ns >= kFar * std::max(round.ns, reaction.ns);
}

bool Rhythm::is_prompt(Duration since) const {
  return since.ns <= kPrompt * std::max(reaction.ns, round.ns);
}

Rhythm RhythmSurvey::learn() const {
  Rhythm learned;
  learned.round = quantile(round_trips_, 3, 4) + quantile(next_requests_, 1, 2);
  learned.spacing = quantile(spacings_, 1, 2);
  if (learned.round.ns == 0) learned.round = learned.spacing;
  learned.reaction = quantile(reactions_, 1, 2);
  learned.soonest = quantile(reactions_, 1, 10);
  std::vector<Duration> timeouts = timeouts_;
  std::erase_if(timeouts,
                [&](Duration time) { return time.ns < kFar * std::max(learned.round.ns, learned.reaction.ns); });
  learned.timeout = most_common(std::move(timeouts));
  return learned;
}

}  // namespace verbena::captures
