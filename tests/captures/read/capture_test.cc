// Captures as files: compressed, from a pipe, cut off, with headers of all kinds, without times.
#include "captures/read/capture.h"

#include <fcntl.h>
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <thread>

#include "tests/wire/wire_support.h"

namespace verbena::captures {
namespace {

using wire::test::Bytes;
using wire::test::bytes_of;

/// A file in memory, under a name.
class File {
 public:
  explicit File(std::span<const std::byte> bytes) : fd_(memfd_create("capture", MFD_CLOEXEC)) {
    BOOST_REQUIRE(write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

Bytes rxe() {
  return wire::test::read_file("02-write_bw.pcap");
}
constexpr std::size_t kRoce = 325;  // packets of that

Result<Capture, std::string> open(std::span<const std::byte> bytes) {
  const File file(bytes);
  return Capture::open(file.path());
}

Bytes gzip(std::span<const std::byte> bytes) {
  z_stream stream{};
  BOOST_REQUIRE(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes into(deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(into.data());
  stream.avail_out = static_cast<uInt>(into.size());
  BOOST_REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  into.resize(stream.total_out);
  deflateEnd(&stream);
  return into;
}
Bytes xz(std::span<const std::byte> bytes) {
  Bytes into(lzma_stream_buffer_bound(bytes.size()));
  std::size_t size = 0;
  BOOST_REQUIRE(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr,
                                        reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                        reinterpret_cast<std::uint8_t*>(into.data()), &size, into.size()) == LZMA_OK);
  into.resize(size);
  return into;
}
Bytes zstd(std::span<const std::byte> bytes) {
  Bytes into(ZSTD_compressBound(bytes.size()));
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the command zstd does
  into.resize(ZSTD_compress2(context, into.data(), into.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(context);
  return into;
}
constexpr auto kCompressors = {gzip, xz, zstd};

Bytes number(std::uint64_t value, std::size_t bytes) {
  Bytes made;
  for (std::size_t i = 0; i < bytes; ++i) made.push_back(static_cast<std::byte>(value >> 8 * i));
  return made;
}
/// A pcap with a header of one's own, and a record header of more octets.
Bytes pcap(std::uint32_t magic, std::uint32_t version, std::uint32_t type, std::size_t more, bool is_swapped,
           std::span<const std::byte> frame, std::size_t kept) {
  Bytes file;
  const auto add = [&file](const Bytes& bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); };
  add(number(magic, 4));
  add(number(version, 4));
  add(Bytes(8));
  add(number(0, 4));  // no snap length
  add(number(type, 4));
  if (magic >> 16 == 0x1c00) add(number(1000, 4));
  for (unsigned i = 0; i < 5; ++i) {
    add(number(100 + i, 4));
    add(number(i == 4 ? 999'999 : 0, 4));
    add(number(is_swapped ? frame.size() : kept, 4));
    add(number(is_swapped ? kept : frame.size(), 4));
    add(Bytes(more, std::byte{0xff}));
    file.insert(file.end(), frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(compressed_captures_are_read_with_all_their_members) {
  const Bytes whole = rxe();
  const std::span<const std::byte> bytes(whole);
  for (const auto compress : kCompressors) {
    Bytes members = compress(bytes.first(1000));
    const Bytes rest = compress(bytes.subspan(1000));
    members.insert(members.end(), rest.begin(), rest.end());
    for (const Bytes& file : {compress(bytes), members}) {
      const auto capture = open(file);
      if (!capture) BOOST_FAIL(capture.error());
      BOOST_TEST(capture->packets().size() == kRoce);
      BOOST_TEST(capture->damage() == "");
    }
  }
}

BOOST_AUTO_TEST_CASE(compressed_capture_cut_or_corrupt_is_read_up_to_the_damage) {
  const Bytes whole = rxe();
  for (const auto compress : kCompressors) {
    Bytes file = compress(whole);
    const std::size_t half = file.size() / 2;
    const auto cut = open(std::span(file).first(file.size() - 8));
    if (!cut) BOOST_FAIL(cut.error());
    BOOST_TEST(cut->damage().find("the compressed file is cut off") == 0u, cut->damage());
    for (std::size_t i = 0; i < 64; ++i) file[half + i] = std::byte{0xff};
    const auto corrupt = open(file);
    const std::string said = corrupt.ok() ? corrupt->damage() : corrupt.error();
    BOOST_TEST(said.find("compressed file is") != std::string::npos, said);
  }
  const Bytes nothing = gzip({});
  BOOST_TEST(!open(nothing).ok());
  BOOST_TEST(open(bytes_of({'B', 'Z', 'h', '9', 0, 0})).error() ==
             "compressed with bzip2, which is not read: decompress it first");
}

BOOST_AUTO_TEST_CASE(a_pipe_is_read_to_its_end) {
  for (const Bytes& file : {rxe(), gzip(rxe())}) {
    int ends[2];
    BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    std::thread writer([&] {
      std::size_t at = 0;
      while (at < file.size()) {
        const ssize_t count = write(ends[1], file.data() + at, file.size() - at);
        if (count <= 0) break;
        at += static_cast<std::size_t>(count);
      }
      close(ends[1]);
    });
    const auto capture = Capture::open("/proc/self/fd/" + std::to_string(ends[0]));
    writer.join();
    close(ends[0]);
    if (!capture) BOOST_FAIL(capture.error());
    BOOST_TEST(capture->packets().size() == kRoce);
  }
  BOOST_TEST(Capture::open("/").error() == "is a folder");
}

BOOST_AUTO_TEST_CASE(file_headers_are_read_as_libpcap_and_wireshark_read_them) {
  struct Form {
    const char* what;
    std::uint32_t magic;
    std::uint32_t version;  // minor in the upper half
    std::uint32_t type;
    std::size_t more;
    bool is_swapped;
    std::int64_t fraction_ns;  // of 999999, which the last packet has
  };
  constexpr std::uint32_t kUsual = 0x00040002;
  constexpr std::uint32_t kUs = 0xa1b2c3d4;
  const Form forms[] = {
      {"us", kUs, kUsual, 1, 0, false, 999'999'000},
      {"ns", 0xa1b23c4d, kUsual, 1, 0, false, 999'999},
      {"modified", 0xa1b2cd34, kUsual, 1, 8, false, 999'999'000},
      {"Nokia", kUs, kUsual, 1, 4, false, 999'999'000},
      {"Ixia", 0x1c0001ac, kUsual, 1, 0, false, 999'999},
      {"old, lengths swapped", kUs, 0x00030002, 1, 0, true, 999'999'000},
      {"AIX", kUs, 0x00020002, 6, 0, false, 999'999},
      {"check sequence of 4 octets", kUs, kUsual, 0x24000001, 0, false, 999'999'000},
  };
  Bytes frame = wire::test::sample(wire::test::ipv4_path(), wire::test::kRcWriteOnly, 40);
  frame.resize(frame.size() + 4);  // a check sequence, or padding
  for (const Form& form : forms) {
    BOOST_TEST_CONTEXT(form.what) {
      for (const std::size_t kept : {frame.size(), frame.size() - 20}) {
        const auto capture = open(pcap(form.magic, form.version, form.type, form.more, form.is_swapped, frame, kept));
        if (!capture) BOOST_FAIL(capture.error());
        BOOST_TEST(capture->packets().size() == 5u);
        BOOST_TEST(capture->damage() == "");
        if (capture->packets().empty()) continue;
        const Packet& packet = capture->packets().back();
        BOOST_TEST(packet.time.ns == 4'000'000'000 + form.fraction_ns);
        BOOST_TEST(packet.is_whole() == (kept == frame.size()));
        const std::size_t check_bytes = form.type >> 28 != 0 ? 4 : 0;
        BOOST_TEST(packet.captured.original_bytes == frame.size() - check_bytes);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(packets_without_a_time_keep_their_order_and_are_counted) {
  const Bytes frame = wire::test::sample(wire::test::ipv4_path(), wire::test::kRcWriteOnly, 40);
  Bytes file(1 << 12);
  std::size_t size = wire::encode_pcapng_section(file, "test");
  size += wire::encode_pcapng_interface(std::span(file).subspan(size), {.name = "test"});
  size += wire::encode_pcapng_packet(std::span(file).subspan(size), {.time = Time{5000}, .bytes = frame});
  size += wire::encode_pcapng_packet(std::span(file).subspan(size), {.time = Time{5700}, .bytes = frame});
  file.resize(size);
  const std::size_t padded = (frame.size() + 3) / 4 * 4;
  for (const Bytes& part : {number(3, 4), number(padded + 16, 4), number(frame.size(), 4), frame,
                            Bytes(padded - frame.size()), number(padded + 16, 4)})
    file.insert(file.end(), part.begin(), part.end());
  const auto capture = open(file);
  BOOST_REQUIRE(capture.ok());
  BOOST_REQUIRE_EQUAL(capture->packets().size(), 3u);
  BOOST_TEST(capture->packets()[2].time.ns == 700);
  BOOST_TEST(capture->timeless_count() == 1u);
}

BOOST_AUTO_TEST_CASE(opcodes_of_others_are_named_and_undefined_ones_are_malformed) {
  Bytes frame = wire::test::sample(wire::test::ipv4_path(), wire::test::kRcWriteOnly, 40);
  const auto with_opcode = [&](unsigned opcode) {
    frame[14 + 20 + 8] = static_cast<std::byte>(opcode);
    const auto capture = open(pcap(0xa1b2c3d4, 0x00040002, 1, 0, false, frame, frame.size()));
    BOOST_REQUIRE(capture.ok());
    return std::move(*capture);
  };
  BOOST_TEST(with_opcode(0xc4).malformed_count() == 0u);
  BOOST_TEST(with_opcode(0xc4).others()[0].name == "RoCE v2 with a manufacturer's opcode 0xc4");
  BOOST_TEST(with_opcode(0x44).others()[0].name == "RoCE v2 reliable datagrams");
  BOOST_TEST(with_opcode(0x1f).malformed_count() == 5u);
}

}  // namespace verbena::captures
