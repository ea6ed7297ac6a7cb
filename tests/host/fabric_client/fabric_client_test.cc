// What is said when a command and a fabric process do not understand each other.
#include "emulator/host/fabric_client/fabric_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <thread>

#include "emulator/host/fabric_client/fabric_codec.h"
#include "emulator/host/os/descriptor_passing.h"
#include "tests/host/fabric_process/served.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

constexpr int kHangMs = 60'000;
const std::string kAdvice = ": ask it with the command that started it, or end it and start it anew";

/// Serves a fabric with one answer of its own making.
class Stranger {
 public:
  Stranger(char kind, std::string text) : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    BOOST_REQUIRE(fabric_control_address(name).bind(listener_.get()));
    BOOST_REQUIRE(listen(listener_.get(), 1) == 0);
    thread_ = std::thread([this, kind, text = std::move(text)] {
      const Descriptor client(accept(listener_.get(), nullptr, nullptr));
      std::array<std::byte, 1024> question;
      pollfd wait{client.get(), POLLIN, 0};
      if (poll(&wait, 1, kHangMs) != 1) return;
      receive_with_descriptors(client.get(), question);
      const Descriptor file(memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return;
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
      const int descriptor = file.get();
      send_with_descriptors(client.get(), std::as_bytes(std::span(&kind, 1)), {&descriptor, 1});
    });
  }
  ~Stranger() { thread_.join(); }
  const std::string name = unique_name();

 private:
  Descriptor listener_;
  std::thread thread_;
};

std::string error_of(const std::string& fabric) {
  const auto answer = greet_fabric(fabric);
  BOOST_REQUIRE(!answer.ok());
  BOOST_TEST(answer.error().served);
  return answer.error().text;
}

/// What a command of the first version is answered: the octet of the kind, and the text.
std::string answer_to(const std::string& fabric, const std::string& question) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  BOOST_REQUIRE(fabric_control_address(fabric).connect(socket.get()));
  BOOST_REQUIRE(send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(question.size()));
  pollfd wait{socket.get(), POLLIN, 0};
  BOOST_REQUIRE(poll(&wait, 1, kHangMs) == 1);
  char kind = 0;
  const auto got = receive_with_descriptors(socket.get(), std::as_writable_bytes(std::span(&kind, 1)));
  BOOST_REQUIRE(got.bytes == 1);
  BOOST_REQUIRE(got.descriptor_count == 1u);
  std::string text(4096, ' ');
  const ssize_t size = pread(got.descriptors[0].get(), text.data(), text.size(), 0);
  BOOST_REQUIRE(size >= 0);
  text.resize(static_cast<std::size_t>(size));
  return kind + text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fabric_process_before_versions_is_told_apart) {
  const Stranger old('-', "unknown word 'verbena-fabric-7': add, remove and list are right");
  BOOST_TEST(error_of(old.name) == "fabric '" + old.name +
                                       "' is served by another version of Verbena, which does not speak "
                                       "verbena-fabric-7" +
                                       kAdvice);
}

BOOST_AUTO_TEST_CASE(fabric_process_of_a_later_version_says_so_itself) {
  const Stranger later('-', "this fabric is served by another version of Verbena");
  BOOST_TEST(error_of(later.name) == "this fabric is served by another version of Verbena");
}

BOOST_AUTO_TEST_CASE(reply_that_cannot_be_read_is_an_error) {
  {
    const Stranger other('+', "2 100000000000,100000000000 /proc/12/fd/9");
    BOOST_TEST(error_of(other.name).ends_with("does not speak verbena-fabric-7" + kAdvice));
  }
  const std::string message = encode(FabricReply(FabricHello{2, 1, {1, 2}, "x"}));
  for (std::size_t size = kFabricProtocol.size() + 1; size < message.size(); ++size) {
    const Stranger broken('+', message.substr(0, size));
    BOOST_TEST(error_of(broken.name).starts_with("fabric '" + broken.name + "' gives an answer that cannot be read: "));
  }
  const Stranger beside('+', encode(FabricReply(FabricDone{})));
  BOOST_TEST(error_of(beside.name) ==
             "fabric '" + beside.name + "' gives an answer that cannot be read: it answers something else");
}

BOOST_AUTO_TEST_CASE(command_of_another_version_is_told_so) {
  const Served fabric(fabric::star(2, kFast));
  const std::string refused =
      "-this fabric is served by another version of Verbena, which speaks verbena-fabric-7" + kAdvice;
  BOOST_TEST(answer_to(fabric.name, std::string("stat\0", 5)) == refused);
  BOOST_TEST(answer_to(fabric.name, std::string("link-down\0n1-s1\0", 16)) == refused);
  BOOST_TEST(answer_to(fabric.name, "verbena-fabric-7") == refused);
  BOOST_TEST(answer_to(fabric.name, encode(FabricRequest(AskHello{})) + "x") ==
             "-that request cannot be read: it has 2 octets and says 1");
  BOOST_TEST(fabric.ask({"list"}) == "");
}

BOOST_AUTO_TEST_CASE(request_beyond_the_topology_is_refused) {
  const Served fabric(fabric::star(2, kFast));
  using Kind = fabric::ElementChange::Kind;
  const auto change = [](fabric::ElementChange what) { return FabricRequest(ChangeElements{std::move(what)}); };
  const std::string link = "refused: this fabric has no such link";
  const std::string node = "refused: this fabric has no such node";
  BOOST_TEST(fabric.ask(change({.kind = Kind::link_down, .links = {{2, false}}})) == link);
  BOOST_TEST(fabric.ask(change({.kind = Kind::port_error, .hosts = {2}})) == node);
  BOOST_TEST(fabric.ask(change({.kind = Kind::partition, .hosts = {0}, .peers = {UINT32_MAX}})) == node);
  BOOST_TEST(fabric.ask(change({.kind = Kind::switch_crash, .switches = {1}})) ==
             "refused: this fabric has no such switch");
  BOOST_TEST(fabric.ask(change({.kind = Kind::switch_crash, .switches = {3}})) ==
             "refused: this fabric has no such switch");
  BOOST_TEST(fabric.ask(change({.kind = Kind::link_rate, .links = {{0, false}}, .rate_bits_per_second = UINT64_MAX}))
                 .starts_with("refused: '18446744073709551615bps' is no rate"));
  BOOST_TEST(fabric.ask(change({.kind = Kind::link_delay, .links = {{0, false}}, .jitter = nanoseconds(-1)}))
                 .starts_with("refused: '-1ns' is no time"));
  BOOST_TEST(fabric.ask(change({.kind = Kind::pause_storm, .hosts = {0}}))
                 .starts_with("refused: this fabric has no traffic classes"));
  BOOST_TEST(fabric.ask(AddPrepared{0, {}, ""}) == "refused: there is no prepared fault 0");
  BOOST_TEST(fabric.ask(RemoveFault{1}) == "refused: there is no fault 1 (verbena fault list shows them)");
  BOOST_TEST(fabric.ask(RemoveDevices{{2}}) == node);
  BOOST_TEST(fabric.ask(SetNodePower{{2}, NodePower::on}) == node);
  BOOST_TEST(fabric.ask({"list"}) == "");
}

BOOST_AUTO_TEST_CASE(request_that_is_too_long_is_not_sent) {
  const Served fabric(fabric::star(2, kFast));
  const std::string refused = "refused: that is too long: say it in several commands";
  BOOST_TEST(fabric.ask({"add", "n1-s1", std::string(16 * 1024, 'x')}) == refused);
  BOOST_TEST(fabric.ask(AddPrepared{0, std::vector<fabric::LinkId>(64 * 1024), ""}) == refused);
}
