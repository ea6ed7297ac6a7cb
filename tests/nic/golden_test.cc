// Against captures of the Linux kernel's rxe: given the same work our requester sends the same packets, given the same
// requests our responder gives the same answers. Keys, addresses and queue pair numbers are this side's own.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>

#include "tests/support/places.h"
#include "tests/support/script.h"
#include "wire/pcap_file.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::uint32_t kMtu = 1024;
constexpr std::size_t kBufferBytes = 1 << 20;

struct Captured {
  wire::PacketView packet;
  std::vector<std::byte> payload;
};

std::vector<std::byte> file_bytes(const std::string& name) {
  std::ifstream file(test::data_file(name), std::ios::binary);
  BOOST_REQUIRE_MESSAGE(file.good(), name);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

/// The RC or UC packets of the capture, in order; only those of the flow that opens with the first request, both ways.
struct Conversation {
  std::vector<Captured> requests;
  std::vector<Captured> responses;
};

Conversation conversation_of(const std::string& name) {
  const auto bytes = file_bytes(name);
  auto reader = wire::CaptureReader::open(bytes);
  BOOST_REQUIRE(reader.ok());
  Conversation conversation;
  for (auto record = reader->next(); record && record->has_value(); record = reader->next()) {
    const auto packet = wire::parse_frame((*record)->bytes);
    if (!packet || wire::transport_of(packet->bth().opcode) == wire::Transport::ud) continue;
    if (conversation.requests.empty() && !packet->opcode().is_request) continue;
    const wire::Gid requester =
        conversation.requests.empty() ? packet->source() : conversation.requests.front().packet.source();
    const bool request = packet->opcode().is_request && packet->source() == requester;
    const bool response = !packet->opcode().is_request && packet->destination() == requester;
    if (!request && !response) continue;
    (request ? conversation.requests : conversation.responses)
        .push_back({*packet, {packet->payload().begin(), packet->payload().end()}});
  }
  BOOST_REQUIRE(!conversation.requests.empty());
  return conversation;
}

SendOpcode send_opcode_of(const wire::OpcodeInfo& first, bool immediate) {
  switch (first.operation) {
    case wire::Operation::send:
      return immediate ? SendOpcode::send_with_immediate : SendOpcode::send;
    case wire::Operation::write:
      return immediate ? SendOpcode::rdma_write_with_immediate : SendOpcode::rdma_write;
    case wire::Operation::read_request:
      return SendOpcode::rdma_read;
    case wire::Operation::compare_swap:
      return SendOpcode::compare_and_swap;
    case wire::Operation::fetch_add:
      return SendOpcode::fetch_and_add;
    case wire::Operation::atomic_write:
      return SendOpcode::atomic_write;
    case wire::Operation::read_response:
    case wire::Operation::acknowledge:
    case wire::Operation::atomic_acknowledge:
    case wire::Operation::congestion_notification:
      break;
  }
  BOOST_REQUIRE(false);
  return SendOpcode::send;
}

/// Posts on `pair.a` the work requests that the captured packets tell of.
std::size_t post_what_was_captured(Pair& pair, const std::vector<Captured>& requests) {
  std::size_t posted = 0;
  std::size_t used = 0;
  for (std::size_t i = 0; i < requests.size();) {
    const wire::OpcodeInfo& first = requests[i].packet.opcode();
    BOOST_REQUIRE(first.starts_message());
    SendRequest request{.wr_id = posted};
    const std::size_t start = used;
    bool immediate = false;
    for (bool ended = false; !ended; ++i) {
      const wire::PacketView& packet = requests.at(i).packet;
      ended = packet.opcode().ends_message() || packet.opcode().has_atomic_eth;
      immediate = packet.opcode().has_immediate;
      request.solicited = packet.bth().solicited;
      std::copy(requests[i].payload.begin(), requests[i].payload.end(),
                pair.a_buffer.bytes().begin() + static_cast<std::ptrdiff_t>(used));
      used += requests[i].payload.size();
    }
    std::size_t bytes = used - start;
    if (first.operation == wire::Operation::read_request) bytes = requests[i - 1].packet.reth().length;
    if (first.has_atomic_eth) bytes = 8;
    request.opcode = send_opcode_of(first, immediate);
    const Sge sge = pair.a_buffer.sge(start, bytes);
    request.sges = {&sge, 1};
    request.operand.remote.address = pair.b_buffer.address();
    request.operand.remote.rkey = pair.b_buffer.rkey();
    request.operand.remote.compare_or_add = 1;
    pair.b.receive(posted, {pair.b_buffer.sge()});
    pair.a.post(request);
    ++posted;
  }
  return posted;
}

void check_requester(const std::string& name, QpType type) {
  BOOST_TEST_CONTEXT(name) {
    const Conversation captured = conversation_of(name);
    QpOptions options{
        .type = type, .mtu = kMtu, .first_psn = captured.requests.front().packet.bth().psn.value(), .cq_entries = 1024};
    options.capabilities.max_send_wr = options.capabilities.max_recv_wr = 1024;
    Pair pair(options, kBufferBytes);
    std::vector<std::vector<std::byte>> sent;
    pair.world.filter = [&](const Traced& traced, std::vector<std::byte>& frame) {
      if (traced.from == 1 && wire::opcode_info(traced.opcode).is_request) sent.push_back(frame);
      return true;
    };
    const std::size_t posted = post_what_was_captured(pair, captured.requests);
    pair.world.run_to_rest();
    BOOST_TEST(pair.a.poll_sent().size() == posted);
    BOOST_TEST_REQUIRE(sent.size() == captured.requests.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const auto ours = wire::parse_frame(sent[i]);
      const wire::PacketView& theirs = captured.requests[i].packet;
      wire::Bth expected = theirs.bth();
      expected.dest_qp = ours->bth().dest_qp;
      expected.migrated = ours->bth().migrated;  // both values are seen in the field; no migration happens
      BOOST_TEST_REQUIRE((ours->bth() == expected), "packet " << i << " psn " << expected.psn.value());
      BOOST_TEST_REQUIRE(same_bytes(ours->payload(), captured.requests[i].payload));
      if (theirs.opcode().has_reth) BOOST_TEST(ours->reth().length == theirs.reth().length);
    }
  }
}

/// What a requester sees of an answer.
struct Answer {
  wire::Opcode opcode{};
  std::uint32_t psn = 0;
  std::uint32_t msn = 0;
  std::size_t payload_bytes = 0;
  bool operator==(const Answer&) const = default;
};

Answer answer_of(const wire::PacketView& packet, std::size_t payload_bytes) {
  Answer answer{packet.bth().opcode, packet.bth().psn.value(), 0, payload_bytes};
  if (packet.opcode().has_aeth) answer.msn = packet.aeth().msn;
  return answer;
}

void check_responder(const std::string& name) {
  BOOST_TEST_CONTEXT(name) {
    const Conversation captured = conversation_of(name);
    BOOST_REQUIRE(!captured.responses.empty());
    QpOptions options{.mtu = kMtu, .first_psn = captured.requests.front().packet.bth().psn.value(), .cq_entries = 1024};
    options.capabilities.max_recv_wr = 512;
    Script script(options, kBufferBytes);
    for (std::uint64_t i = 0; i < 512; ++i) script.end.receive(i, {script.buffer.sge()});
    std::vector<Answer> answers;
    script.world.filter = [&](const Traced&, std::vector<std::byte>& frame) {
      const auto packet = wire::parse_frame(frame);
      answers.push_back(answer_of(*packet, packet->payload().size()));
      return false;
    };
    for (const Captured& request : captured.requests) {
      const wire::PacketView& packet = request.packet;
      PacketSpec spec{.opcode = packet.bth().opcode,
                      .psn = packet.bth().psn.value(),
                      .ack_request = packet.bth().ack_request,
                      .solicited = packet.bth().solicited,
                      .payload = request.payload};
      if (packet.opcode().has_reth)
        spec.reth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, packet.reth().length};
      if (packet.opcode().has_atomic_eth)
        spec.atomic_eth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 1, 0};
      script.peer(spec);
    }
    std::vector<Answer> expected;
    for (const Captured& response : captured.responses)
      expected.push_back(answer_of(response.packet, response.payload.size()));
    BOOST_TEST_REQUIRE(answers.size() == expected.size());
    for (std::size_t i = 0; i < answers.size(); ++i)
      BOOST_TEST_REQUIRE((answers[i] == expected[i]), "answer " << i << " psn " << answers[i].psn << " msn "
                                                                << answers[i].msn << ", captured psn "
                                                                << expected[i].psn << " msn " << expected[i].msn);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(our_requester_sends_what_rxe_sent_for_the_same_work) {
  check_requester("01-rc_pingpong.pcap", QpType::rc);
  check_requester("02-write_bw.pcap", QpType::rc);
  check_requester("03-read_bw.pcap", QpType::rc);
  check_requester("04-atomic_fadd.pcap", QpType::rc);
  check_requester("08-uc_pingpong.pcap", QpType::uc);
  check_requester("09-send_bw.pcap", QpType::rc);
}

BOOST_AUTO_TEST_CASE(our_responder_answers_what_rxe_answered_to_the_same_requests) {
  check_responder("01-rc_pingpong.pcap");
  check_responder("02-write_bw.pcap");
  check_responder("03-read_bw.pcap");
  check_responder("04-atomic_fadd.pcap");
  check_responder("09-send_bw.pcap");
}
