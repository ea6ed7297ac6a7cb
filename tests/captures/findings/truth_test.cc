// explain against the truth: random worlds of two nodes under faults, recorded by a tap whose capture has no notes on
// faults. Of every frame the world knows what explain has to find out:
//
//   what was injected                                  what explain is to say of which frame
//   a frame was copied before the tap                  duplicate; of an answer: the same answer once more
//   a frame was overtaken before the tap               late, where its PSN shows it (a later one has passed)
//   a request or response with data did not pass the   gap, by the first frame with a later PSN that passes
//     tap, or not yet
//   a frame was damaged before the tap                 bad ICRC
//   a requester went back, whatever was lost, and      retransmission, and the cause that the NIC's own counters name:
//     wherever it was lost                             NAK, RNR NAK, implied NAK, ACK timer
//
// What shows in no capture is not asked for: a copy behind the tap, an acknowledgement lost before it, a retransmission
// of what the tap has never seen. A finding that the table does not call for is a false claim, unless it is a fact, by
// its own words: a gap is right if each of its PSNs was sent and has not passed; "late" if a packet of that way that
// was made later has passed, whatever the PSNs; an answer may be called the same once more if the same octets have
// passed. A retransmission may be told of the packet that began it, or where all before it were told weakly, once for
// each. "Seen before", "it was missing: held back, or sent again" and "nothing in the capture asked for it" are right
// if the packet has passed, or was made, before; they name no cause, so they never count as naming one.
#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <iostream>
#include <set>

#include "captures/conversations/conversations.h"
#include "captures/read/capture.h"
#include "captures/render/words/finding_words.h"
#include "captures/story/flow_tracker.h"
#include "tests/captures/recorded_world.h"

using namespace verbena;
using namespace verbena::test;
using captures::Cause;
using captures::Finding;
using captures::FindingKind;

namespace {

/// Of a thousand disturbances; the aim is none. 5.4 in the first thousand worlds and the second; what kinds are left,
/// and why, is in docs/deviations.md. Lower it with whatever makes explain better.
constexpr std::uint64_t kFalsePerMilleMax = 6;

struct Score {
  std::uint64_t disturbances = 0;
  std::uint64_t named = 0;
  std::uint64_t false_claims = 0;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> by_kind;  // asked for, named
  std::vector<std::string> wrong;

  void expect(const std::string& kind, bool is_named, const std::string& where) {
    ++disturbances;
    ++by_kind[kind].first;
    if (is_named) {
      ++named;
      ++by_kind[kind].second;
    } else if (wrong.size() < 4000) {
      wrong.push_back("not named: " + kind + " " + where);
    }
  }
  void claim_is_false(const std::string& where) {
    ++false_claims;
    if (wrong.size() < 4000) wrong.push_back("false: " + where);
  }
};

const char* name_of(unsigned causes) {
  if ((causes & kByTimeout) != 0) return "timeout";
  if ((causes & kByImplied) != 0) return "implied NAK";
  if ((causes & kByRnr) != 0) return "RNR NAK";
  return "NAK";
}

/// The truth about a frame, for a person who reads a capture that was kept.
std::string truth_of(const RecordedWorld& world, const Recorded& frame) {
  const MadeFrame& made = world.made[frame.number];
  std::string text = "verbena: truth: made as " + std::to_string(frame.number) + " " +
                     captures::to_text(frame.time - made.at) + " before, run " + std::to_string(made.run);
  if (made.begins_run) text += std::string(" begins: ") + name_of(made.causes);
  if (made.is_again) text += ", again";
  if (made.is_redrawn) text += ", redrawn";
  if (frame.is_corrupted) text += ", corrupted";
  return text;
}

std::vector<std::byte> capture_of(const RecordedWorld& world, bool tells_truth = false) {
  std::vector<std::byte> file;
  const auto add = [&](std::size_t room, auto encode) {
    const std::size_t begin = file.size();
    file.resize(begin + room);
    file.resize(begin + encode(std::span(file).subspan(begin)));
  };
  add(1024, [](std::span<std::byte> into) { return wire::encode_pcapng_section(into, "test"); });
  add(1024, [](std::span<std::byte> into) { return wire::encode_pcapng_interface(into, {.name = "tap"}); });
  for (const Recorded& frame : world.recorded) {
    const std::string comment = tells_truth ? truth_of(world, frame) : "";
    add(wire::encoded_packet_bytes_max(frame.octets.size(), comment.size()), [&](std::span<std::byte> into) {
      return wire::encode_pcapng_packet(into, {.time = frame.time, .bytes = frame.octets, .comment = comment});
    });
  }
  return file;
}

captures::Capture open(const std::vector<std::byte>& file) {
  const int fd = memfd_create("capture", MFD_CLOEXEC);
  BOOST_REQUIRE(::write(fd, file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  auto capture = captures::Capture::open("/proc/self/fd/" + std::to_string(fd));
  close(fd);
  BOOST_REQUIRE(capture.ok());
  return std::move(*capture);
}

/// What explain says of each recorded frame.
std::vector<std::vector<Finding>> findings_of(const captures::Capture& capture, std::size_t frames) {
  std::vector<std::vector<Finding>> all(frames);
  for (const auto& conversation : captures::find_conversations(capture)) {
    captures::FlowTracker tracker(capture, conversation);
    for (const auto index : conversation.packets) {
      const captures::Packet& packet = capture.packets()[index];
      all[packet.number - 1] = tracker.step(packet, packet.view()).findings;
    }
  }
  return all;
}

unsigned bit_of(Cause cause) {
  switch (cause) {
    case Cause::sequence_nak:
      return kByNak;
    case Cause::rnr_nak:
      return kByRnr;
    case Cause::implied_nak:
      return kByImplied;
    case Cause::timeout:
      return kByTimeout;
    case Cause::cut_answer:
    case Cause::unknown:
      return 0;
  }
  return 0;
}

/// Goes through a recording beside what explain says of it.
class Judge {
 public:
  Judge(const WorldPlan& plan, const RecordedWorld& world, const std::vector<std::vector<Finding>>& findings,
        Score& score)
      : plan_(plan), world_(world), findings_(findings), score_(score), passed_(world.made.size(), 0) {}

  void run() {
    for (std::size_t i = 0; i < world_.recorded.size(); ++i) judge(i);
  }

 private:
  struct Way {  // what has passed the tap of one node's requests, or of its responses with data
    bool any = false;
    wire::Psn highest;  // one behind
    wire::Psn cursor;
    std::uint32_t last_number = 0;  // the latest made of what has passed
    std::set<std::uint32_t> psns;
    std::set<std::uint32_t> told;
    std::set<std::uint32_t> runs;
    std::set<std::uint32_t> runs_told;        // that it is a retransmission
    std::set<std::uint32_t> runs_silent;      // of which a packet has passed that was not called seen before
    std::map<std::uint32_t, wire::Psn> ends;  // by number
  };

  std::string where(std::size_t i) const {
    return "seed " + std::to_string(plan_.seed) + " #" + std::to_string(i + 1) + " psn " +
           std::to_string(world_.made[world_.recorded[i].number].psn.value());
  }

  const Finding* take(std::vector<Finding>& left, FindingKind kind) {
    for (auto at = left.begin(); at != left.end(); ++at) {
      if (at->kind != kind) continue;
      taken_ = *at;
      left.erase(at);
      return &taken_;
    }
    return nullptr;
  }

  void judge(std::size_t i) {
    const Recorded& frame = world_.recorded[i];
    const MadeFrame& made = world_.made[frame.number];
    std::vector<Finding> left = findings_[i];
    std::erase_if(left, [](const Finding& finding) {
      return finding.kind == FindingKind::nak || finding.kind == FindingKind::rnr_nak ||
             finding.kind == FindingKind::fatal_nak;
    });
    if (frame.is_corrupted) {
      if (wire::parse_frame(frame.octets).ok())
        score_.expect("bad ICRC", take(left, FindingKind::bad_icrc) != nullptr, where(i));
    } else {
      check_gaps(i, made, left);
      check_seen_before(frame.number, made, left);
      if (made.is_request)
        judge_request(i, frame.number, made, left);
      else
        judge_answer(i, frame.number, made, left);
      ++passed_[frame.number];
    }
    for (const Finding& finding : left) {
      const bool is_unknown = finding.kind == FindingKind::retransmission && finding.cause == Cause::unknown;
      if (is_unknown && made.is_again) continue;
      score_.claim_is_false(captures::words(finding, wire::Psn(plan_.options.first_psn)) + ", " + where(i));
    }
  }

  /// Each PSN of a gap was sent, and has not passed.
  void check_gaps(std::size_t i, const MadeFrame& made, std::vector<Finding>& left) {
    for (const FindingKind kind : {FindingKind::gap, FindingKind::gap_in_run, FindingKind::response_gap}) {
      while (const Finding* gap = take(left, kind)) {
        const bool is_request = kind != FindingKind::response_gap;
        for (std::uint32_t offset = 0; offset < gap->count; ++offset) {
          const wire::Psn psn = gap->psn + offset;
          Way& way = ways_[made.from - 1][is_request ? 0 : 1];
          way.told.insert(psn.value());
          if (is_under_way(made.from, is_request, psn, i)) continue;
          score_.claim_is_false((kind == FindingKind::gap_in_run ? "gap in run at psn "
                                 : kind == FindingKind::gap      ? "gap at psn "
                                                                 : "response gap at psn ") +
                                std::to_string(psn.value()) + ", " + where(i));
          break;
        }
      }
    }
  }

  /// A packet of that PSN has passed. It names no cause.
  void check_seen_before(std::uint32_t number, const MadeFrame& made, std::vector<Finding>& left) {
    const Way& way = ways_[made.from - 1][made.is_request ? 0 : made.is_data ? 1 : 2];
    std::erase_if(left, [&](const Finding& finding) {
      if (finding.kind == FindingKind::late_or_again)
        return !way.psns.contains(made.psn.value()) && (made.is_again || number < way.last_number);
      return finding.kind == FindingKind::seen_before && way.psns.contains(made.psn.value());
    });
  }

  bool is_under_way(unsigned from, bool is_request, wire::Psn psn, std::size_t i) const {
    const Time now = world_.recorded[i].time + nanoseconds(plan_.clock_ns);
    for (std::uint32_t number = 0; number < world_.made.size() && world_.made[number].at <= now; ++number) {
      const MadeFrame& other = world_.made[number];
      if (other.from != from || passed_[number] != 0) continue;
      if (is_request ? !other.is_request : !other.is_data) continue;
      const std::int32_t offset = wire::distance(other.psn, psn);
      if (offset >= 0 && offset < static_cast<std::int32_t>(other.span)) return true;
    }
    return false;
  }
  /// First transmissions that did not pass before a later PSN did.
  void expect_gaps(std::size_t i, std::uint32_t number, const MadeFrame& made, Way& way) {
    if (!way.any || wire::distance(way.highest, made.psn) <= 0) return;
    for (std::uint32_t before = 0; before < number; ++before) {
      const MadeFrame& other = world_.made[before];
      if (other.from != made.from || other.is_request != made.is_request || other.is_data != made.is_data) continue;
      if (passed_[before] != 0 || other.is_again || way.psns.contains(other.psn.value())) continue;
      if (wire::distance(other.psn, made.psn) <= 0 || wire::distance(way.highest, other.psn) < 0) continue;
      score_.expect(made.is_request ? "gap" : "response gap", way.told.contains(other.psn.value()),
                    where(i) + " for psn " + std::to_string(other.psn.value()));
    }
  }

  void judge_request(std::size_t i, std::uint32_t number, const MadeFrame& made, std::vector<Finding>& left) {
    Way& way = ways_[made.from - 1][0];
    expect_gaps(i, number, made, way);
    const bool is_copy = passed_[number] != 0;
    const bool is_behind = way.any && wire::distance(made.psn, way.cursor) > 0;
    bool is_overtaken = false;
    for (const auto& [other, end] : way.ends)
      is_overtaken = is_overtaken || (other > number && wire::distance(made.psn, end) > 0);
    const bool is_first_of_run = made.run != 0 && made.is_again && !way.runs.contains(made.run);
    if (is_copy) {
      score_.expect("copy", take(left, FindingKind::duplicate) != nullptr, where(i));
    } else if (is_overtaken && is_behind) {
      const Finding* found = take(left, FindingKind::late);
      if (found == nullptr && is_first_of_run && (found = take_run(left, made)) != nullptr)
        way.runs_told.insert(made.run);
      score_.expect("late", found != nullptr, where(i));
    } else if (is_first_of_run && is_behind) {
      const bool is_named = take_run(left, made) != nullptr;
      if (is_named) way.runs_told.insert(made.run);
      score_.expect(name_of(made.causes), is_named, where(i));
    }
    if (made.is_again && made.run != 0 && !way.runs_told.contains(made.run) &&
        (made.begins_run || !way.runs_silent.contains(made.run)) && take_run(left, made) != nullptr)
      way.runs_told.insert(made.run);
    if (is_copy) return;
    if (std::none_of(findings_[i].begin(), findings_[i].end(), is_weak)) way.runs_silent.insert(made.run);
    // A retransmission has overtaken it: late, though its PSN may not show it.
    const bool was_passed = way.any && number < way.last_number;
    if (was_passed) take(left, FindingKind::late);
    way.runs.insert(made.run);
    if (!was_passed) way.cursor = made.psn + made.span;
    pass(number, made, way);
  }

  static bool is_weak(const Finding& finding) {
    return finding.kind == FindingKind::seen_before || finding.kind == FindingKind::late_or_again;
  }

  const Finding* take_run(std::vector<Finding>& left, const MadeFrame& made) {
    for (auto at = left.begin(); at != left.end(); ++at) {
      if (at->kind != FindingKind::retransmission || (bit_of(at->cause) & made.causes) == 0) continue;
      taken_ = *at;
      left.erase(at);
      return &taken_;
    }
    return nullptr;
  }

  void judge_answer(std::size_t i, std::uint32_t number, const MadeFrame& made, std::vector<Finding>& left) {
    Way& way = ways_[made.from - 1][made.is_data ? 1 : 2];
    if (made.is_data) expect_gaps(i, number, made, way);
    const bool is_copy = passed_[number] != 0;
    bool is_overtaken = false;
    for (const auto& [other, end] : way.ends)
      is_overtaken = is_overtaken || (other > number && wire::distance(made.psn, end) > 1);
    if (is_copy) {
      const bool is_named =
          take(left, FindingKind::repeated_answer) != nullptr || take(left, FindingKind::late_answer) != nullptr;
      score_.expect("copy of an answer", is_named, where(i));
    } else if (is_overtaken && !made.is_again) {
      const bool is_named = take(left, FindingKind::late_answer) != nullptr ||
                            (made.is_redrawn && take(left, FindingKind::repeated_answer) != nullptr);
      score_.expect("late answer", is_named, where(i));
    }
    if (!is_copy && (made.is_redrawn || made.is_again || has_passed_once(i))) take(left, FindingKind::repeated_answer);
    if (is_copy) return;
    if (number < last_answer_[made.from - 1]) take(left, FindingKind::late_answer);
    last_answer_[made.from - 1] = std::max(last_answer_[made.from - 1], number);
    pass(number, made, way);
  }

  /// Whether the very same octets have passed: an answer that was given twice, whichever of both was drawn by what.
  bool has_passed_once(std::size_t i) const {
    const auto end = world_.recorded.begin() + static_cast<std::ptrdiff_t>(i);
    return std::any_of(world_.recorded.begin(), end,
                       [&](const Recorded& before) { return before.octets == world_.recorded[i].octets; });
  }

  void pass(std::uint32_t number, const MadeFrame& made, Way& way) {
    const wire::Psn end = made.psn + made.span;
    if (!way.any || wire::distance(way.highest, end) > 0) way.highest = end;
    way.last_number = std::max(way.last_number, number);
    way.any = true;
    way.psns.insert(made.psn.value());
    way.ends[number] = end;
    if (way.ends.size() > 512) way.ends.erase(way.ends.begin());
  }

  const WorldPlan& plan_;
  const RecordedWorld& world_;
  const std::vector<std::vector<Finding>>& findings_;
  Score& score_;
  std::vector<unsigned> passed_;       // how often, by number
  Way ways_[2][3];                     // by node: requests, responses with data, acknowledgements
  std::uint32_t last_answer_[2] = {};  // by node: the latest made of the answers that have passed
  Finding taken_;
};

void explain_world(std::uint64_t seed, Score& score) {
  const WorldPlan plan = random_plan(seed);
  const RecordedWorld world(plan);
  if (world.recorded.empty()) return;
  const auto file = capture_of(world);
  if (const char* path = std::getenv("VERBENA_KEEP_CAPTURE")) {
    const auto kept = capture_of(world, true);
    FILE* out = std::fopen(path, "w");
    std::fwrite(kept.data(), 1, kept.size(), out);
    std::fclose(out);
  }
  const captures::Capture capture = open(file);
  Judge(plan, world, findings_of(capture, world.recorded.size()), score).run();
}

/// What is left are worlds in which delays of many rounds mix several retransmissions of the same packets.
void check_worlds(std::uint64_t first, std::uint64_t count) {
#if defined(VERBENA_ADDRESS_SANITIZER) || defined(VERBENA_THREAD_SANITIZER)
  count = 40;  // they are slow; the code is the same
#endif
  if (const char* text = std::getenv("VERBENA_EXPLAIN_WORLDS")) count = std::strtoull(text, nullptr, 10);
  if (const char* text = std::getenv("VERBENA_EXPLAIN_FIRST")) first = std::strtoull(text, nullptr, 10);
  Score score;
  for (std::uint64_t seed = first; seed < first + count; ++seed) explain_world(seed, score);
  std::string table;
  for (const auto& [kind, counts] : score.by_kind)
    table += "\n  " + kind + ": " + std::to_string(counts.second) + " of " + std::to_string(counts.first);
  BOOST_TEST_MESSAGE(score.named << " of " << score.disturbances << " named, " << score.false_claims << " false"
                                 << table);
  if (std::getenv("VERBENA_EXPLAIN_WRONG") != nullptr)
    for (const std::string& wrong : score.wrong) std::cout << wrong << "\n";
  BOOST_TEST(score.disturbances > 5 * count);
  BOOST_TEST(score.named * 100 >= score.disturbances * 95, table);
  BOOST_TEST(score.false_claims * 1000 <= score.disturbances * kFalsePerMilleMax, score.false_claims);
}

}  // namespace

BOOST_AUTO_TEST_CASE(explain_names_the_cause_in_random_faulty_worlds_and_no_other) {
  check_worlds(1, 1000);
}

/// Explain's thresholds were first chosen while looking at the worlds above only; later its false claims here were
/// counted by kind as well. Seeds from 2001 on were judged once, by hand: docs/decisions.md.
BOOST_AUTO_TEST_CASE(the_same_in_another_thousand_worlds) {
  check_worlds(1001, 1000);
}
