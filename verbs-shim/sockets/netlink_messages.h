// NetlinkMessages: messages of netlink for one process, one after the other, as a kernel would have written them.
//
// Solely their making: headers, attributes, nested attributes, padding. What is in them is said by rdma_netlink.h and
// route_netlink.h. What does not fit is left out.
// Tested by: tests/shim/sockets/rdma_netlink_calls_test.cc
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace verbena::path {

template <std::size_t kBytesMax>
class NetlinkMessages {
 public:
  /// `port`: of the socket that has asked, and is answered.
  NetlinkMessages(const nlmsghdr& question, std::uint32_t port) : question_(question), port_(port) {}

  const nlmsghdr& question() const { return question_; }
  /// One of the two bits is enough (rtnetlink.c, infiniband/core/netlink.c).
  bool asks_for_list() const { return (question_.nlmsg_flags & NLM_F_DUMP) != 0; }

  void begin(std::uint16_t type, std::uint16_t flags = 0) {
    fits_ = bytes_ + NLMSG_HDRLEN <= kBytesMax;
    if (!fits_) return;
    header_ = reinterpret_cast<nlmsghdr*>(octets_ + bytes_);
    *header_ = {.nlmsg_len = NLMSG_HDRLEN,
                .nlmsg_type = type,
                .nlmsg_flags = flags,
                .nlmsg_seq = question_.nlmsg_seq,
                .nlmsg_pid = port_};
  }
  /// One of those asked for: of a list, or alone.
  void begin_one(std::uint16_t type) { begin(type, asks_for_list() ? NLM_F_MULTI : 0); }
  void end() {
    if (fits_) bytes_ += header_->nlmsg_len;
  }
  /// `code`: as of error().
  void end_list(int code = 0) {
    begin(NLMSG_DONE, NLM_F_MULTI);
    append(&code, sizeof code);
    end();
  }
  /// `code`: an errno value, negative, or 0 for an acknowledgement.
  void error(int code) {
    const nlmsgerr error{.error = code, .msg = question_};
    begin(NLMSG_ERROR);
    append(&error, sizeof error);
    end();
  }

  void attribute(std::uint16_t type, const void* value, std::size_t bytes) {
    const nlattr attribute{static_cast<std::uint16_t>(NLA_HDRLEN + bytes), type};
    append(&attribute, sizeof attribute);
    append(value, bytes);
  }
  template <class Number>
  void number(std::uint16_t type, Number value) {
    attribute(type, &value, sizeof value);
  }
  void text(std::uint16_t type, const char* value) { attribute(type, value, std::strlen(value) + 1); }
  /// Part of the message; padded.
  void append(const void* value, std::size_t bytes) {
    const std::size_t padded = NLMSG_ALIGN(bytes);
    if (!fits_ || bytes_ + header_->nlmsg_len + padded > kBytesMax) return;
    char* const end = octets_ + bytes_ + header_->nlmsg_len;
    std::memset(end, 0, padded);
    std::memcpy(end, value, bytes);
    header_->nlmsg_len += static_cast<std::uint32_t>(padded);
  }
  /// Attributes until close() are part of this one.
  std::size_t open(std::uint16_t type) {
    const std::size_t at = bytes_ + header_->nlmsg_len;
    const nlattr attribute{NLA_HDRLEN, static_cast<std::uint16_t>(type | NLA_F_NESTED)};
    append(&attribute, sizeof attribute);
    return at;
  }
  void close(std::size_t at) {
    const auto length = static_cast<std::uint16_t>(bytes_ + header_->nlmsg_len - at);
    std::memcpy(octets_ + at, &length, sizeof length);
  }

  const char* octets() const { return octets_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const nlmsghdr question_;
  const std::uint32_t port_;
  alignas(nlmsghdr) char octets_[kBytesMax] = {};
  std::size_t bytes_ = 0;
  bool fits_ = true;  // the header of the message that is being written
  nlmsghdr* header_ = reinterpret_cast<nlmsghdr*>(octets_);
};

}  // namespace verbena::path
