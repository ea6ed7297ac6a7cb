// Numbers as words, and rates: ibv_wc_status_str, ibv_event_type_str, ibv_port_state_str, ibv_node_type_str,
// ibv_rate_to_...
//
// The words are those that users know from libibverbs: they look for them in logs.
// Tested by: tests/shim/verbs/device_test.cc
#include <array>
#include <cstddef>

#include "verbs-shim/verbs/objects.h"
#include "wire/static_rate.h"

namespace {

template <std::size_t kCount>
const char* word(const std::array<const char*, kCount>& words, int number) {
  if (number < 0 || static_cast<std::size_t>(number) >= kCount || words[static_cast<std::size_t>(number)] == nullptr)
    return "unknown";
  return words[static_cast<std::size_t>(number)];
}

constexpr std::array<const char*, 24> kStatusWords = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};

constexpr std::array<const char*, 20> kEventWords = {
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};

constexpr std::array<const char*, 6> kPortStateWords = {"no state change (NOP)", "down", "init", "armed", "active",
                                                        "active defer"};

constexpr std::array<const char*, 8> kNodeTypeWords = {nullptr,
                                                       "InfiniBand channel adapter",
                                                       "InfiniBand switch",
                                                       "InfiniBand router",
                                                       "iWARP NIC",
                                                       "usNIC",
                                                       "usNIC UDP",
                                                       "unspecified"};

// The static rates of an address vector, and the multiple of 2.5 Gb/s where libibverbs defines one.
struct Rate {
  ibv_rate rate;
  int multiple;  // of 2.5 Gb/s, or kNone
};
constexpr int kNone = -1;
constexpr std::array<Rate, 23> kRates = {{
    {IBV_RATE_2_5_GBPS, 1},     {IBV_RATE_5_GBPS, 2},      {IBV_RATE_10_GBPS, 4},      {IBV_RATE_20_GBPS, 8},
    {IBV_RATE_30_GBPS, 12},     {IBV_RATE_40_GBPS, 16},    {IBV_RATE_60_GBPS, 24},     {IBV_RATE_80_GBPS, 32},
    {IBV_RATE_120_GBPS, 48},    {IBV_RATE_14_GBPS, kNone}, {IBV_RATE_56_GBPS, kNone},  {IBV_RATE_112_GBPS, kNone},
    {IBV_RATE_168_GBPS, kNone}, {IBV_RATE_25_GBPS, kNone}, {IBV_RATE_100_GBPS, kNone}, {IBV_RATE_200_GBPS, kNone},
    {IBV_RATE_300_GBPS, kNone}, {IBV_RATE_28_GBPS, 11},    {IBV_RATE_50_GBPS, 20},     {IBV_RATE_400_GBPS, 160},
    {IBV_RATE_600_GBPS, 240},   {IBV_RATE_800_GBPS, 320},  {IBV_RATE_1200_GBPS, 480},
}};

int mbps_of(const Rate& known) {
  return static_cast<int>(verbena::wire::static_rate_bits_per_second(static_cast<std::uint8_t>(known.rate)) /
                          1'000'000);
}

}  // namespace

VERBENA_ABI const char* ibv_wc_status_str(ibv_wc_status status) {
  return word(kStatusWords, status);
}

VERBENA_ABI const char* ibv_event_type_str(ibv_event_type event) {
  return word(kEventWords, event);
}

VERBENA_ABI const char* ibv_port_state_str(ibv_port_state port_state) {
  return word(kPortStateWords, port_state);
}

VERBENA_ABI const char* ibv_node_type_str(ibv_node_type node_type) {
  return word(kNodeTypeWords, node_type);
}

VERBENA_ABI int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& known : kRates)
    if (known.rate == rate) return known.multiple;
  return -1;
}

VERBENA_ABI ibv_rate mult_to_ibv_rate(int mult) {
  for (const Rate& known : kRates)
    if (known.multiple == mult && mult != kNone) return known.rate;
  return IBV_RATE_MAX;
}

VERBENA_ABI int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& known : kRates)
    if (known.rate == rate) return mbps_of(known);
  return -1;
}

VERBENA_ABI ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& known : kRates)
    if (mbps_of(known) == mbps) return known.rate;
  return IBV_RATE_MAX;
}
