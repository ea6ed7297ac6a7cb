// Captures of a fabric within their limits: what is cut and what is left out is counted, and the files say it.
#include "emulator/host/fabric_process/fabric_capture.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "emulator/host/os/clock.h"
#include "tests/support/frames.h"
#include "wire/pcap_file.h"

using namespace verbena;
using namespace verbena::host;

namespace {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "verbena-captures.XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

struct Kept {
  std::size_t bytes = 0;
  std::size_t original_bytes = 0;
  std::string comment;
};

std::vector<Kept> read_back(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> octets{std::istreambuf_iterator<char>(stream), {}};
  auto reader = wire::CaptureReader::open(std::as_bytes(std::span(octets)));
  BOOST_REQUIRE(reader.ok());
  std::vector<Kept> all;
  for (;;) {
    const auto next = reader->next();
    BOOST_REQUIRE(next.ok());
    if (!*next) return all;
    all.push_back({(*next)->bytes.size(), (*next)->original_bytes, std::string((*next)->comment)});
  }
}

std::vector<std::byte> frame_of(std::size_t payload) {
  return test::make_frame(1, 2, {.psn = 1, .payload = std::vector<std::byte>(payload)});
}

fabric::ObservedFrame sent(std::span<const std::byte> frame, std::uint32_t cable) {
  fabric::ObservedFrame observed{};
  observed.time = clock_now();
  observed.event = fabric::FrameEvent::sent;
  observed.link = {cable, false};
  observed.frame = frame;
  return observed;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(all_files_end_at_the_limit_and_say_so, Folder) {
  const auto large = frame_of(1024);
  const auto small = frame_of(8);
  {
    auto capture = FabricCapture::open({.directory = path, .topology = fabric::star(2, {}), .octets_max = 4096});
    BOOST_REQUIRE(capture.ok());
    for (int i = 0; i < 3; ++i) (*capture)->observe(sent(large, 0));
    BOOST_TEST((*capture)->missing().frames == 0u);
    (*capture)->observe(sent(large, 1));  // beyond it
    // What would still fit is left out as well: a hole would tell of losses that never were.
    for (int i = 0; i < 5; ++i) (*capture)->observe(sent(small, 0));
    BOOST_TEST((*capture)->missing().frames == 6u);
    BOOST_TEST((*capture)->missing().from.has_value());
  }
  const auto first = read_back(path + "/n1-s1.pcapng");
  BOOST_REQUIRE_EQUAL(first.size(), 4u);
  BOOST_TEST(first[2].comment == "");
  BOOST_TEST(first[3].comment == wire::kCaptureEndsNote);
  const auto second = read_back(path + "/n2-s1.pcapng");
  BOOST_REQUIRE_EQUAL(second.size(), 1u);
  BOOST_TEST(second[0].comment == wire::kCaptureEndsNote);
}

BOOST_FIXTURE_TEST_CASE(frames_are_cut_counted_and_keep_their_size, Folder) {
  const auto large = frame_of(1024);
  const auto small = frame_of(8);
  {
    auto capture = FabricCapture::open({.directory = path, .topology = fabric::star(2, {}), .snap_bytes = 128});
    BOOST_REQUIRE(capture.ok());
    (*capture)->observe(sent(large, 0));
    (*capture)->observe(sent(small, 0));
    BOOST_TEST((*capture)->missing().cut == 1u);
  }
  const auto kept = read_back(path + "/n1-s1.pcapng");
  BOOST_REQUIRE_EQUAL(kept.size(), 2u);
  BOOST_TEST(kept[0].bytes == 128u);
  BOOST_TEST(kept[0].original_bytes == large.size());
  BOOST_TEST(kept[1].bytes == small.size());
}
