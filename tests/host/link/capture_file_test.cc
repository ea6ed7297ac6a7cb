// CaptureFile and CapturingLink: what was recorded can be read back with wire's reader.
#include "emulator/host/link/capture_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "emulator/host/link/capturing_link.h"
#include "emulator/host/link/in_process_link.h"
#include "tests/host/link/link_frames.h"
#include "wire/pcap_file.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/verbena-capture-XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
    file = path + "/capture.pcapng";
  }
  ~Folder() {
    ::unlink(file.c_str());
    ::rmdir(path.c_str());
  }
  std::string path;
  std::string file;
};

struct Record {
  std::vector<std::byte> bytes;
  std::size_t original_bytes = 0;
  std::string comment;
  wire::Direction direction = wire::Direction::unknown;
  Time time;
};

std::vector<Record> read_back(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> octets((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  auto reader = wire::CaptureReader::open(std::as_bytes(std::span(octets)));
  BOOST_REQUIRE_MESSAGE(reader.ok(), "not a capture");
  std::vector<Record> records;
  for (;;) {
    const auto packet = reader->next();
    BOOST_REQUIRE_MESSAGE(packet.ok(), (packet.ok() ? "" : packet.error().what));
    if (!packet->has_value()) return records;
    const wire::CapturedPacket& p = **packet;
    records.push_back(
        {{p.bytes.begin(), p.bytes.end()}, p.original_bytes, std::string(p.comment), p.direction, p.time});
  }
}

std::unique_ptr<CaptureFile> open_capture(const CaptureFile::Options& options) {
  auto capture = CaptureFile::open(options);
  BOOST_REQUIRE_MESSAGE(capture.ok(), (capture.ok() ? "" : capture.error()));
  return std::move(*capture);
}

std::vector<std::byte> numbered(std::uint32_t psn, std::size_t payload_bytes = 100) {
  return build({.source = node(1), .destination = node(2), .psn = psn, .payload_bytes = payload_bytes});
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(frames_come_back_with_direction_comment_and_wall_clock_time, Folder) {
  const auto frame = numbered(7);
  const std::int64_t before = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  {
    const auto capture = open_capture({.path = file});
    capture->record(clock_now(), frame, wire::Direction::outbound, "");
    capture->record(kNever, frame, wire::Direction::inbound, "verbena: dropped by fault 'drop 1%'");
  }
  const std::int64_t after = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  const auto records = read_back(file);
  BOOST_REQUIRE(records.size() == 2);
  BOOST_TEST(records[0].bytes == frame);
  BOOST_TEST(records[0].comment == "");
  BOOST_TEST((records[0].direction == wire::Direction::outbound));
  BOOST_TEST(records[1].comment == "verbena: dropped by fault 'drop 1%'");
  BOOST_TEST((records[1].direction == wire::Direction::inbound));
  for (const Record& record : records) BOOST_TEST((record.time.ns >= before && record.time.ns <= after));
}

BOOST_FIXTURE_TEST_CASE(a_snap_length_cuts_frames_and_keeps_their_size, Folder) {
  const auto frame = numbered(1, 4096);
  {
    const auto capture = open_capture({.path = file, .snap_bytes = 90});
    capture->record(kNever, frame, wire::Direction::outbound, "");
  }
  const auto records = read_back(file);
  BOOST_REQUIRE(records.size() == 1);
  BOOST_TEST(records[0].bytes.size() == 90);
  BOOST_TEST(records[0].original_bytes == frame.size());
}

BOOST_FIXTURE_TEST_CASE(a_new_capture_forgets_what_was_in_the_file, Folder) {
  std::ofstream(file) << "something else";
  BOOST_REQUIRE(create_capture_file(file).ok());
  BOOST_TEST(read_back(file).empty());
  {
    open_capture({.path = file})->record(kNever, numbered(1), wire::Direction::outbound, "");
  }
  {
    open_capture({.path = file})->record(kNever, numbered(2), wire::Direction::outbound, "");
  }
  const auto records = read_back(file);
  BOOST_REQUIRE(records.size() == 2);
  BOOST_TEST(psn_of(records[1].bytes) == 2);
}

BOOST_AUTO_TEST_CASE(a_path_that_cannot_be_opened_is_one_line) {
  const auto capture = CaptureFile::open({.path = "/nonexistent/file.pcapng"});
  BOOST_REQUIRE(!capture.ok());
  BOOST_TEST(capture.error() == "cannot open capture file /nonexistent/file.pcapng: No such file or directory");
  BOOST_TEST(!create_capture_file("/nonexistent/file.pcapng").ok());
}

BOOST_FIXTURE_TEST_CASE(several_processes_write_whole_records_into_one_file, Folder) {
  constexpr std::uint32_t kProcesses = 4;
  constexpr std::uint32_t kFrames = 2000;
  pid_t children[kProcesses];
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    children[i] = ::fork();
    if (children[i] != 0) continue;
    auto capture = CaptureFile::open({.path = file, .buffer_bytes = 1 << 16});
    if (!capture) ::_exit(1);
    for (std::uint32_t n = 0; n < kFrames; ++n) {
      (*capture)->record(kNever, numbered(i << 16 | n, n % 1000), wire::Direction::outbound, "");
      if ((*capture)->wants_writing(clock_now())) (*capture)->write_out();
    }
    const bool complete = (*capture)->frames_lost() == 0;
    capture->reset();
    ::_exit(complete ? 0 : 2);
  }
  for (const pid_t child : children) {
    int status = 0;
    BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
  }
  std::map<std::uint32_t, std::uint32_t> next;
  for (const Record& record : read_back(file)) {
    const std::uint32_t psn = psn_of(record.bytes);
    BOOST_REQUIRE(is_intact(record.bytes));
    if (psn != (psn & 0xff0000) + next[psn >> 16]++) BOOST_FAIL("out of order within a process");
  }
  BOOST_TEST(next.size() == kProcesses);
  for (const auto& [process, frames] : next) BOOST_TEST(frames == kFrames);
}

BOOST_FIXTURE_TEST_CASE(an_overrun_is_counted_and_leaves_a_sound_file, Folder) {
  std::uint64_t lost = 0;
  {
    const auto capture = open_capture({.path = file, .buffer_bytes = 1 << 14});
    for (std::uint32_t psn = 0; psn < 100; ++psn)
      capture->record(kNever, numbered(psn, 1000), wire::Direction::outbound, "");
    lost = capture->frames_lost();
  }
  BOOST_TEST(lost > 0);
  const auto records = read_back(file);
  BOOST_TEST(records.size() == 100 - lost);
  for (std::uint32_t i = 0; i < records.size(); ++i) BOOST_TEST(psn_of(records[i].bytes) == i);
}

BOOST_FIXTURE_TEST_CASE(a_full_disk_does_not_stop_the_program, Folder) {
  // A file size limit stands in for the disk.
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50'000, 50'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(1);
    const int quiet = ::open("/dev/null", O_WRONLY);
    ::dup2(quiet, STDERR_FILENO);
    auto capture = CaptureFile::open({.path = file, .buffer_bytes = 1 << 16});
    if (!capture) ::_exit(2);
    for (std::uint32_t psn = 0; psn < 200; ++psn) {
      (*capture)->record(kNever, numbered(psn, 1000), wire::Direction::outbound, "");
      if (psn % 20 == 0) (*capture)->write_out();
    }
    const bool counted = (*capture)->frames_lost() > 100 && (*capture)->frames_lost() < 200;
    ::_exit(counted ? 0 : 3);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}

BOOST_FIXTURE_TEST_CASE(process_that_exits_without_closing_leaves_a_whole_capture, Folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto capture = CaptureFile::open({.path = file});
    if (!capture) ::_exit(1);
    capture->release()->record(kNever, numbered(3), wire::Direction::outbound, "");
    // A child of its own must not write the same frame again.
    if (const pid_t grandchild = ::fork(); grandchild == 0) {
      std::exit(0);
    } else {
      ::waitpid(grandchild, nullptr, 0);
    }
    std::exit(0);
  }
  BOOST_REQUIRE(::waitpid(child, nullptr, 0) == child);
  BOOST_TEST(read_back(file).size() == 1);
}

BOOST_FIXTURE_TEST_CASE(a_capture_is_due_a_while_after_the_oldest_frame, Folder) {
  const auto capture = open_capture({.path = file});
  BOOST_TEST(!capture->next_deadline().has_value());
  const Time now = clock_now();
  capture->record(now, numbered(1), wire::Direction::outbound, "");
  capture->record(now + seconds(1), numbered(2), wire::Direction::outbound, "");
  BOOST_REQUIRE(capture->next_deadline().has_value());
  BOOST_TEST((*capture->next_deadline() == now + milliseconds(100)));
  BOOST_TEST(!capture->wants_writing(now));
  BOOST_TEST(capture->wants_writing(now + milliseconds(100)));
  capture->write_out();
  BOOST_TEST(!capture->next_deadline().has_value());
  BOOST_TEST(read_back(file).size() == 2);
}

BOOST_FIXTURE_TEST_CASE(a_capturing_link_records_both_directions_with_annotations, Folder) {
  const wire::Gid here = node(1);
  const wire::Gid there = node(2);
  {
    auto ends = connect_in_process(
        {.first = here, .second = there, .first_mac = node_mac(here), .second_mac = node_mac(there)});
    CapturingLink link(*ends.first, open_capture({.path = file}));
    Link& far = *ends.second;
    BOOST_REQUIRE(commit(link, {.source = here, .destination = there, .psn = 1, .payload_bytes = 64}));
    link.tap().annotate("verbena: corrupted");
    link.tap().annotate("verbena: delayed");
    BOOST_REQUIRE(commit(link, {.source = here, .destination = there, .psn = 2}));
    link.publish();
    ends.first->flush();
    link.write_if_due();
    Collector collector;
    BOOST_TEST(pump(far, collector) == 2);
    BOOST_REQUIRE(commit(far, {.source = there, .destination = here, .psn = 3}));
    BOOST_REQUIRE(commit(far, {.source = there, .destination = here, .psn = 4}));
    far.publish();
    far.flush();
    struct Annotating : Collector {
      void frame(std::span<const std::byte> bytes, wire::IcrcState icrc) override {
        if (frames.empty()) tap->annotate("verbena: dropped");
        Collector::frame(bytes, icrc);
      }
      CaptureTap* tap = nullptr;
    } sink;
    sink.tap = &link.tap();
    ends.first->fetch(Link::kAll);
    BOOST_TEST(link.receive(clock_now(), sink, 64) == 2);
  }
  const auto records = read_back(file);
  BOOST_REQUIRE(records.size() == 4);
  const char* const comments[] = {"", "verbena: corrupted; verbena: delayed", "verbena: dropped", ""};
  for (std::uint32_t i = 0; i < 4; ++i) {
    BOOST_TEST(psn_of(records[i].bytes) == i + 1);
    BOOST_TEST(is_intact(records[i].bytes));
    BOOST_TEST(records[i].comment == comments[i]);
    BOOST_TEST((records[i].direction == (i < 2 ? wire::Direction::outbound : wire::Direction::inbound)));
  }
}

BOOST_FIXTURE_TEST_CASE(a_full_buffer_holds_the_traffic_up_instead_of_losing_frames, Folder) {
  const wire::Gid here = node(1);
  const wire::Gid there = node(2);
  auto ends =
      connect_in_process({.first = here, .second = there, .first_mac = node_mac(here), .second_mac = node_mac(there)});
  CapturingLink link(*ends.first, open_capture({.path = file, .buffer_bytes = std::size_t{1} << 18}));
  Collector collector;
  std::uint32_t sent = 0;
  const auto send = [&] {
    const bool committed = commit(link, {.source = here, .destination = there, .psn = sent, .payload_bytes = 4096});
    sent += committed;
    link.publish();
    pump(*ends.second, collector);
    return committed;
  };
  while (sent < 1000 && send()) {
  }
  BOOST_TEST(sent > 10);
  BOOST_TEST(sent < 1000);
  link.write_if_due();
  BOOST_TEST(send());
  link.write_if_due();
  BOOST_TEST(read_back(file).size() >= sent - 1);
}
