// The words of VERBENA_NIC, and what they change.
#include "emulator/host/config/nic_tuning.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

#include "emulator/host/node/port_speed.h"

using namespace verbena;
using namespace verbena::host;

BOOST_AUTO_TEST_CASE(all_words_are_taken_and_written_as_they_are_read) {
  const auto tuning = parse_nic_tuning(
      "mtu=1024 read-depth=8  speed=2.5Gbps numa=3 window=1MiB timeout=10 retry-count=0 rnr-retry=7 min-rnr-timer=31 "
      "timeout-min=4ms acknowledge-every=16 cnp-interval=4us page-fault-delay=50us nak-latency=10us "
      "acknowledge-latency=500ns nak-reaction-latency=6us implied-nak-latency=7us removed-after=2s "
      "max-qp=8 max-inline=0 max-sge=2 memlock=64KiB "
      "congestion-control=dcqcn cnp-scope=port dcqcn-g=1/100 "
      "dcqcn-alpha-timer=1us "
      "dcqcn-timer=300us dcqcn-byte-counter=32KiB dcqcn-fast-recovery=1 dcqcn-additive-increase=5Mbps "
      "dcqcn-hyper-increase=50Mbps dcqcn-min-rate=1Mbps dcqcn-decrease-interval=4us dcqcn-clamp-target-rate=false "
      "timely-alpha=1/2 timely-beta=50% timely-t-low=10us timely-t-high=1ms timely-min-rtt=2us "
      "timely-additive-increase=1Mbps "
      "timely-hyper-increase=3 timely-min-rate=1Mbps swift-base-target=5us swift-hop-scale=1us swift-hops=3 "
      "swift-fs-range=10us swift-fs-min-window=1/2 swift-fs-max-window=50 swift-additive-increase=2 swift-beta=1/2 "
      "swift-max-mdf=1/4 swift-min-window=1/10 swift-retransmit-reset=3 dctcp-g=1/8 dctcp-additive-increase=2 "
      "hpcc-base-rtt=5us hpcc-eta=90% hpcc-max-stage=0 hpcc-additive-increase=1KiB "
      "loss-recovery=selective-repeat rto-low=1ms rto-high=20ms rto-low-packets=5 bdp-window=110 bdp-rtt=24us "
      "recovery-negotiation=false");
  BOOST_REQUIRE(tuning.ok());
  BOOST_TEST(*tuning->mtu_bytes == 1024u);
  BOOST_TEST(*tuning->speed_bits_per_second == 2'500'000'000u);
  BOOST_TEST(*tuning->window_bytes == 1u << 20);
  BOOST_TEST(*tuning->retry_count == 0);
  BOOST_TEST((tuning->timeout_min == milliseconds(4)));
  BOOST_TEST(tuning->loss_recovery.bdp_packets == 110u);
  BOOST_TEST(tuning->limits.max_qp == 8U);
  BOOST_TEST(tuning->limits.max_inline_bytes == 0U);
  BOOST_TEST(tuning->limits.max_pinned_bytes == 65536U);
  BOOST_TEST((*parse_nic_tuning(text_of(*tuning)) == *tuning));
  const auto octets = parse_nic_tuning("bdp-window=120KB");
  BOOST_TEST(octets->loss_recovery.bdp_bytes == 120'000u);
  BOOST_TEST((*parse_nic_tuning(text_of(*octets)) == *octets));
  BOOST_TEST(text_of(*parse_nic_tuning("  ")) == "");
}

BOOST_AUTO_TEST_CASE(a_wrong_word_is_named_with_what_would_be_right) {
  const std::pair<const char*, const char*> wrong[] = {
      {"mtu=1000", "'mtu=1000': want 256, 512, 1024, 2048 or 4096"},
      {"mtu", "'mtu': want 256"},
      {"mtu=", "'mtu=': want 256"},
      {"mtu=1024 mtu=512", "'mtu=512': mtu is given twice"},
      {"spead=1Gbps", "'spead=1Gbps': unknown setting, known are mtu, read-depth, speed"},
      {"retry_count=3", "; did you mean 'retry-count'?"},
      {"mtuu=3", "; did you mean 'mtu'?"},
      {"congestion-control=dcqnc", "swift, dctcp or hpcc; did you mean 'dcqcn'?"},
      {"loss-recovery=selective_repeat", "want go-back-n or selective-repeat; did you mean 'selective-repeat'?"},
      {"speed=0bps", "want a rate"},
      {"speed=25", "want a rate"},
      {"timeout=32", "want a code from 0 to 31"},
      {"retry-count=8", "want 0 to 7"},
      {"retry-count=-1", "want 0 to 7"},
      {"read-depth=0", "want 1 to 128"},
      {"max-qp=0", "want 1 to 16384 QPs"},
      {"max-qp=16385", "want 1 to 16384 QPs"},
      {"memlock=unlimited", "want octets"},
      {"window=1", "want 4096 to 1GiB"},
      {"timeout-min=2h", "want a time"},
      {"nak-latency=61s", "want a time"},
      {"congestion-control=reno", "want none, dcqcn, timely, swift, dctcp or hpcc"},
      {"congestion-control=dcqcn congestion-control=none", "congestion-control is given twice"},
      {"dcqcn-g=0", "want a share above 0"},
      {"dcqcn-g=3/2", "want a share above 0"},
      {"dcqcn-timer=999ns", "want a time from 1us"},
      {"dcqcn-min-rate=0bps", "want a rate"},
      {"swift-hops=1001", "want switches on the way up to 1000"},
      {"swift-max-mdf=0", "want a share above 0"},
      {"dctcp-additive-increase=0", "want packets from 1 to 1000"},
      {"timely-t-low=600us", "timely-t-low is above timely-t-high"},
      {"loss-recovery=sack", "want go-back-n or selective-repeat"},
      {"rto-low=999ns", "want a time from 1us"},
      {"rto-high=99us", "rto-low is above rto-high"},
      {"bdp-window=0", "want packets, as in 110, or octets"},
      {"bdp-window=0KB", "want packets, as in 110, or octets"},
      {"bdp-window=2GiB", "want packets, as in 110, or octets"},
      {"rto-low-packets=-1", "want a number of packets"},
  };
  for (const auto& [text, error] : wrong) {
    const auto tuning = parse_nic_tuning(text);
    BOOST_TEST_CONTEXT(text) {
      BOOST_REQUIRE(!tuning.ok());
      BOOST_TEST((tuning.error().find(error) != std::string::npos), tuning.error());
    }
  }
}

BOOST_AUTO_TEST_CASE(devices_and_ports_may_differ_in_speed_and_numa_node) {
  const auto tuning = parse_nic_tuning("speed=100Gbps,25Gbps numa=0,1 mtu=1024");
  BOOST_REQUIRE(tuning.ok());
  BOOST_TEST(*tuning->speed_bits_per_second == 100'000'000'000u);
  BOOST_TEST(*tuning->numa_node == 0u);
  BOOST_TEST(text_of(*tuning) == "mtu=1024 speed=100000000000bps,25000000000bps numa=0,1");
  BOOST_TEST((*parse_nic_tuning(text_of(*tuning)) == *tuning));
  BOOST_TEST((*parse_nic_tuning("speed=100Gbps mtu=1024 numa=0") != *tuning));
  NicTuning said;
  said.say_speeds({0, 0});
  BOOST_TEST(text_of(said) == "");
  said.say_speeds({0, 25'000'000'000});
  BOOST_TEST(text_of(said) == "speed=100000000000bps,25000000000bps");
  said.say_speeds({10'000'000'000, 10'000'000'000});
  BOOST_TEST(text_of(said) == "speed=10000000000bps");
  const std::pair<const char*, const char*> wrong[] = {
      {"mtu=1024,512", "'mtu=1024,512': want 256, 512, 1024, 2048 or 4096"},
      {"speed=1Gbps,",
       "'speed=1Gbps,': want a rate up to 100Tbps, as in 25Gbps, or by commas one of each device or port"},
      {"numa=0,-1", "'numa=0,-1': want a NUMA node, 0 to 1023, or by commas one of each device"},
      {"numa=1024", "want a NUMA node, 0 to 1023, or by commas one of each device"},
      {"numa=1,2 numa=1", "numa is given twice"},
  };
  for (const auto& [text, error] : wrong)
    BOOST_TEST(parse_nic_tuning(text).error().ends_with(error), parse_nic_tuning(text).error());
}

BOOST_AUTO_TEST_CASE(a_word_has_one_value_or_one_of_each_device_or_port) {
  const auto misfit = [](const char* text, std::string_view devices, std::string_view ports) {
    return devices_misfit(*parse_nic_tuning(text), devices_of({.devices = devices, .ports = ports}));
  };
  BOOST_TEST(misfit("speed=1Gbps numa=1", "3", "2") == "");
  BOOST_TEST(misfit("speed=1Gbps,2Gbps numa=1,0", "2", "2") == "");
  BOOST_TEST(misfit("speed=1Gbps,2Gbps,3Gbps,4Gbps", "2", "2") == "");
  BOOST_TEST(misfit("speed=1Gbps,2Gbps", "1", "2") == "");
  BOOST_TEST(misfit("speed=1Gbps,2Gbps,3Gbps", "2", "") ==
             "speed has 3 values, and there are 2 devices: give one for all, or one of each device");
  BOOST_TEST(
      misfit("speed=1Gbps,2Gbps,3Gbps", "2", "2") ==
      "speed has 3 values, and there are 2 devices with 2 ports each: give one for all, or one of each device or "
      "port");
  BOOST_TEST(misfit("numa=0,1", "1", "2") ==
             "numa has 2 values, and there is 1 device: give one for all, or one of each device");
}

BOOST_AUTO_TEST_CASE(limits_are_lowered_and_never_raised) {
  nic::NicConfig config;
  config.port_mtu_bytes = 2048;  // what the link can carry
  config.window_bytes = 1 << 17;
  parse_nic_tuning("mtu=4096 window=1MiB read-depth=4 acknowledge-every=8")->apply(config);
  BOOST_TEST(config.port_mtu_bytes == 2048u);
  BOOST_TEST(config.window_bytes == 1u << 17);
  BOOST_TEST(config.limits.max_read_atomic == 4);
  BOOST_TEST(config.acknowledge_every == 8u);
  BOOST_TEST((config.cnp_interval == microseconds(0)));
  parse_nic_tuning("mtu=512 window=64KiB cnp-interval=4us")->apply(config);
  BOOST_TEST((config.cnp_interval == microseconds(4)));
  BOOST_TEST(config.port_mtu_bytes == 512u);
  BOOST_TEST(config.window_bytes == 1u << 16);
}

BOOST_AUTO_TEST_CASE(congestion_control_begins_at_port_speed_and_enables_cnps) {
  nic::NicConfig config;
  parse_nic_tuning("congestion-control=dcqcn speed=25Gbps")->apply(config);
  BOOST_TEST(config.congestion.line_rate_bits_per_second == 25'000'000'000u);
  BOOST_TEST((config.cnp_interval == microseconds(50)));
  parse_nic_tuning("congestion-control=dcqcn cnp-interval=4us")->apply(config);
  BOOST_TEST(config.congestion.line_rate_bits_per_second == kPortRateDefault);
  BOOST_TEST((config.cnp_interval == microseconds(4)));
}

BOOST_AUTO_TEST_CASE(what_a_program_asks_for_is_replaced_where_the_user_says_so) {
  const nic::QpAttributes asked{.min_rnr_timer = 1, .timeout = 14, .retry_count = 7, .rnr_retry = 6};
  nic::QpAttributes attributes = asked;
  parse_nic_tuning("timeout=10 retry-count=2")->apply(attributes);
  BOOST_TEST(attributes.timeout == 10);
  BOOST_TEST(attributes.retry_count == 2);
  BOOST_TEST(attributes.rnr_retry == 6);
  BOOST_TEST(attributes.min_rnr_timer == 1);
  // 4.096 us x 2^10 is 4.19 ms, x 2^16 268 ms: the least code that lasts as long.
  parse_nic_tuning("timeout-min=200ms")->apply(attributes);
  BOOST_TEST(attributes.timeout == 16);
  attributes.timeout = 0;  // none
  parse_nic_tuning("timeout-min=200ms")->apply(attributes);
  BOOST_TEST(attributes.timeout == 0);
}

BOOST_AUTO_TEST_CASE(latencies_delay_answers) {
  BOOST_TEST(parse_nic_tuning("mtu=256")->latencies().empty());
  const auto rules = parse_nic_tuning("nak-latency=10us acknowledge-latency=500ns")->latencies();
  BOOST_REQUIRE(rules.size() == 2u);
  BOOST_TEST((rules[0].kind == fabric::PacketKind::acknowledge && rules[0].delay == nanoseconds(500)));
  BOOST_TEST((rules[1].kind == fabric::PacketKind::nak && rules[1].delay == microseconds(10)));
}

BOOST_AUTO_TEST_CASE(a_port_shows_the_next_faster_speed_that_has_a_name) {
  const auto text_of = [](std::uint64_t bits_per_second) {
    const PortSpeed speed = port_speed(bits_per_second);
    return std::string(rate_text(speed.width, speed.speed).view());
  };
  BOOST_TEST(text_of(100'000'000'000) == "100 Gb/sec (4X EDR)");
  BOOST_TEST(text_of(25'000'000'000) == "25 Gb/sec (1X EDR)");
  BOOST_TEST(text_of(1) == "2.5 Gb/sec (1X SDR)");
  BOOST_TEST(text_of(41'000'000'000) == "50 Gb/sec (2X EDR)");
  BOOST_TEST(text_of(100'000'000'000'000) == "800 Gb/sec (8X NDR)");
  BOOST_TEST(rate_text(2, 4).view() == "40 Gb/sec (4X QDR)");
  BOOST_TEST(rate_text(2, 16).view() == "56 Gb/sec (4X FDR)");
  BOOST_TEST(rate_text(8, 1).view() == "30 Gb/sec (12X SDR)");
}

BOOST_AUTO_TEST_CASE(a_row_more_in_the_table_is_a_word_more) {
  std::vector<fabric::NicWord> words(fabric::nic_words().begin(), fabric::nic_words().end());
  words.push_back({.name = "answer-every",
                   .right = "want 1 to 9",
                   .least = 1,
                   .most = 9,
                   .set = [](fabric::NicSettings& into,
                             std::uint64_t value) { into.acknowledge_every = static_cast<std::uint32_t>(value); },
                   .get = [](const fabric::NicSettings&) { return std::optional<std::uint64_t>(); }});
  BOOST_TEST(parse_nic_tuning("mtu=512 answer-every=3", words)->acknowledge_every == 3u);
  BOOST_TEST(parse_nic_tuning("answer-every=10", words).error() == "'answer-every=10': want 1 to 9");
  BOOST_TEST(parse_nic_tuning("answer-evry=1", words).error().ends_with("; did you mean 'answer-every'?"));
  const auto names = nic_tuning_words(words);
  BOOST_TEST((std::find(names.begin(), names.end(), "answer-every") != names.end()));
}

BOOST_AUTO_TEST_CASE(limits_can_only_be_lowered) {
  nic::NicConfig config;
  config.limits.max_sge = 4;
  parse_nic_tuning("max-sge=16 max-cqe=100 memlock=0")->apply(config);
  BOOST_TEST(config.limits.max_sge == 4U);
  BOOST_TEST(config.limits.max_cqe == 100U);
  BOOST_TEST(config.limits.max_pinned_bytes == 0U);
  BOOST_TEST(config.limits.max_qp == nic::NicLimits{}.max_qp);
}
