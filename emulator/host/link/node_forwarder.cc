#include "emulator/host/link/node_forwarder.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/name_holder.h"
#include "emulator/host/os/name_owner.h"
#include "emulator/host/os/same_user.h"
#include "emulator/host/os/socket_option.h"
#include "emulator/host/os/unwanted_descriptors.h"

namespace verbena::host {
namespace {

// A message: magic (4 octets, host order), the sender's slot, the kind (1 octet each). Then, for frames: frames, each
// behind its size in two octets of host order, none of them is a greeting. For a note: its two octets.
constexpr std::uint32_t kMagic = 0x76667231;
constexpr std::size_t kHeadBytes = 6;
constexpr std::byte kFrames{0};
constexpr std::byte kNote{1};
constexpr std::size_t kSizeBytes = 2;
constexpr int kSendBufferBytes = 1 << 20;

AbstractName forwarder_name(const wire::Gid& address, std::uint8_t slot) {
  const AbstractName name("verbena-frames/%u/%s/%u", own_user(), address_text(address).c_str(), unsigned{slot});
  VERBENA_ASSERT(name.fits());
  return name;
}

void write_head(std::byte* into, std::uint8_t sender_slot, std::byte kind) {
  std::memcpy(into, &kMagic, sizeof kMagic);
  into[4] = std::byte{sender_slot};
  into[5] = kind;
}

/// Abstract names have no permissions; SO_PASSCRED makes the kernel say who sent a datagram.
bool is_from_our_user(msghdr& header) {
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials{};
    std::memcpy(&credentials, CMSG_DATA(item), sizeof credentials);
    return is_own_user(credentials.uid);
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<NodeForwarder>, std::string> NodeForwarder::open(const wire::Gid& address, std::uint8_t slot) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Failure{std::string("cannot open a unix socket: ") + std::strerror(errno)};
  std::unique_ptr<NodeForwarder> port(new NodeForwarder(fd, address, slot));
  set_option(fd, SOL_SOCKET, SO_PASSCRED, 1);
  set_option(fd, SOL_SOCKET, SO_SNDBUF, kSendBufferBytes);
  const AbstractName at = forwarder_name(address, slot);
  if (!at.bind(fd)) {
    if (errno == EADDRINUSE)
      return Failure{"node " + address_text(address) +
                     " is in use by another fabric: give this fabric's node another address" +
                     describe_name_holder(at)};
    return Failure{std::string("cannot bind a unix socket: ") + std::strerror(errno)};
  }
  for (std::uint32_t other = 0; other < kSlots; ++other)
    if (other != slot) port->greet(static_cast<std::uint8_t>(other));
  return port;
}

NodeForwarder::NodeForwarder(int socket, const wire::Gid& address, std::uint8_t slot)
    : socket_(socket),
      is_barred_(bar_descriptors(socket)),
      address_(address),
      slot_(slot),
      incoming_(std::make_unique_for_overwrite<std::byte[]>(kMessageBytesMax)) {}

NodeForwarder::~NodeForwarder() {
  if (is_barred_)
    ::close(socket_);
  else
    close_aside(socket_);
}

bool NodeForwarder::knows(std::uint8_t slot) const {
  return (known_[slot / 64].load(std::memory_order_relaxed) >> (slot % 64) & 1) != 0;
}

void NodeForwarder::set_known(std::uint8_t slot, bool known) {
  const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
  if (known)
    known_[slot / 64].fetch_or(bit, std::memory_order_relaxed);
  else
    known_[slot / 64].fetch_and(~bit, std::memory_order_relaxed);
}

bool NodeForwarder::has_siblings() const {
  for (const auto& word : known_)
    if (word.load(std::memory_order_relaxed) != 0) return true;
  return false;
}

void NodeForwarder::greet(std::uint8_t slot) {
  std::byte message[kHeadBytes];
  write_head(message, slot_, kFrames);
  send_to(forwarder_name(address_, slot), slot, message, 0);
}

void NodeForwarder::tell(std::uint8_t slot, std::uint16_t note) {
  std::byte message[kHeadBytes + sizeof note];
  write_head(message, slot_, kNote);
  std::memcpy(message + kHeadBytes, &note, sizeof note);
  send_to(forwarder_name(address_, slot), slot, message, 0);
}

void NodeForwarder::send_to(const AbstractName& to, std::uint8_t slot, std::span<const std::byte> message,
                            std::size_t frames) {
  if (frames != 0 && slot != slot_ && !knows(slot)) {
    greet(slot);
    if (!knows(slot)) {
      frames_dropped_.fetch_add(frames, std::memory_order_relaxed);
      return;
    }
  }
  const CancellationShield shield;
  ssize_t sent = -1;
  do {
    sent = ::sendto(socket_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL, to.address(), to.bytes());
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) {
    if (slot != slot_ && !knows(slot) && !is_squatted(to)) set_known(slot, true);
    return;
  }
  if (errno == ECONNREFUSED) set_known(slot, false);
  frames_dropped_.fetch_add(frames, std::memory_order_relaxed);
}

void NodeForwarder::stage(std::uint8_t slot, std::span<const std::byte> head, std::span<const std::byte> tail) {
  const std::size_t bytes = head.size() + tail.size();
  VERBENA_ASSERT(bytes <= wire::kFrameBytesMax);
  if (!staging_[slot]) staging_[slot] = std::make_unique<Staging>(forwarder_name(address_, slot));
  Staging& staging = *staging_[slot];
  if (staging.frames == kBatchFramesMax || staging.bytes + kSizeBytes + bytes > kMessageBytesMax) send_staging(slot);
  if (staging.frames == 0) {
    write_head(staging.message.data(), slot_, kFrames);
    staging.bytes = kHeadBytes;
    const auto end = staged_slots_.begin() + static_cast<std::ptrdiff_t>(staged_slot_count_);
    if (std::find(staged_slots_.begin(), end, slot) == end) staged_slots_[staged_slot_count_++] = slot;
  }
  std::byte* into = staging.message.data() + staging.bytes;
  const auto size = static_cast<std::uint16_t>(bytes);
  std::memcpy(into, &size, kSizeBytes);
  std::memcpy(into + kSizeBytes, head.data(), head.size());
  if (!tail.empty()) std::memcpy(into + kSizeBytes + head.size(), tail.data(), tail.size());
  staging.bytes += kSizeBytes + bytes;
  ++staging.frames;
}

void NodeForwarder::stage_for_all(std::span<const std::byte> head, std::span<const std::byte> tail) {
  for (std::uint32_t slot = 0; slot < kSlots; ++slot)
    if (knows(static_cast<std::uint8_t>(slot))) stage(static_cast<std::uint8_t>(slot), head, tail);
}

void NodeForwarder::send_staged() {
  for (std::size_t i = 0; i < staged_slot_count_; ++i) send_staging(staged_slots_[i]);
  staged_slot_count_ = 0;
}

void NodeForwarder::send_staging(std::uint8_t slot) {
  Staging& staging = *staging_[slot];
  if (staging.frames == 0) return;
  send_to(staging.to, slot, std::span(staging.message).first(staging.bytes), staging.frames);
  staging.frames = staging.bytes = 0;
}

bool NodeForwarder::receive(FrameRing& into, NoteSink* notes) {
  const CancellationShield shield;
  bool moved = false;
  bool is_all = false;
  for (unsigned i = 0; i < kReceiveMessagesMax && into.free_slots() >= kBatchFramesMax; ++i) {
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(ucred))];
    iovec piece{incoming_.get(), kMessageBytesMax};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    if (!is_barred_ && brings_descriptors(socket_, Credentials::with_each_message)) {
      drop_message_aside(socket_);
      continue;
    }
    const ssize_t bytes = ::recvmsg(socket_, &header, MSG_DONTWAIT);
    is_all = bytes < 0;
    if (is_all) break;
    if ((header.msg_flags & MSG_TRUNC) != 0 || !is_from_our_user(header)) continue;
    const std::size_t free_before = into.free_slots();
    accept({incoming_.get(), static_cast<std::size_t>(bytes)}, into, notes);
    moved = moved || into.free_slots() < free_before;
  }
  if (moved) into.publish();
  return is_all;
}

void NodeForwarder::accept(std::span<const std::byte> message, FrameRing& into, NoteSink* notes) {
  std::uint32_t magic = 0;
  if (message.size() < kHeadBytes) return;
  std::memcpy(&magic, message.data(), sizeof magic);
  const auto sender = static_cast<std::uint8_t>(message[4]);
  if (magic != kMagic || sender >= kSlots) return;
  if (sender != slot_ && !knows(sender)) {
    set_known(sender, true);
    greet(sender);
  }
  const std::byte kind = message[5];
  message = message.subspan(kHeadBytes);
  if (kind == kNote && message.size() == sizeof(std::uint16_t)) {
    std::uint16_t value = 0;
    std::memcpy(&value, message.data(), sizeof value);
    if (notes != nullptr) notes->note(sender, value);
    return;
  }
  if (kind != kFrames) return;
  for (std::size_t frames = 0; message.size() >= kSizeBytes && frames < kBatchFramesMax; ++frames) {
    std::uint16_t size = 0;
    std::memcpy(&size, message.data(), kSizeBytes);
    message = message.subspan(kSizeBytes);
    if (size > message.size() || size > wire::kFrameBytesMax) return;
    const std::span<std::byte> room = into.reserve(size);
    if (room.empty()) return;
    std::memcpy(room.data(), message.data(), size);
    into.commit(size);
    message = message.subspan(size);
  }
}

}  // namespace verbena::host
