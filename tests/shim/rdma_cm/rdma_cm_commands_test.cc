// The commands of rdma_user_cm.h as they are written to the device, without librdmacm: both families (BIND_IP,
// RESOLVE_IP and QUERY_ROUTE; BIND, RESOLVE_ADDR and QUERY) do the same, and may be mixed on one ID.
#include <arpa/inet.h>
#include <netinet/in.h>
// in.h comes first: the kernel's header defines the same addresses.
#include <fcntl.h>
#include <infiniband/ib.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// enum rdma_cm_event_type of librdmacm, whose header cannot stand beside the kernel's.
constexpr std::uint32_t kAddressResolved = 0;
constexpr std::uint32_t kRouteResolved = 2;

sockaddr_in own_name(std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  const std::string text = std::string("127.47.91.") + std::getenv("VERBENA_NODE");
  BOOST_REQUIRE_EQUAL(inet_pton(AF_INET, text.c_str(), &name.sin_addr), 1);
  return name;
}

std::uint64_t pointer_to(void* into) {
  return reinterpret_cast<std::uint64_t>(into);
}

/// The device is there as soon as libibverbs is in use.
int open_device() {
  ibv_free_device_list(ibv_get_device_list(nullptr));
  return open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
}

/// The device, and one ID on it.
struct Commands {
  explicit Commands(std::uint16_t space = RDMA_PS_TCP) : fd(open_device()) {
    BOOST_REQUIRE(fd >= 0);
    rdma_ucm_create_id_resp response{};
    rdma_ucm_create_id create{};
    create.response = pointer_to(&response);
    create.ps = space;
    BOOST_REQUIRE_EQUAL(say(RDMA_USER_CM_CMD_CREATE_ID, create, sizeof response), 0);
    id = response.id;
  }
  ~Commands() { close(fd); }
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  /// 0 or errno.
  template <class Command>
  int say(std::uint32_t number, const Command& command, std::size_t out = 0) {
    struct {
      rdma_ucm_cmd_hdr header;
      Command command;
    } octets{{number, sizeof command, static_cast<std::uint16_t>(out)}, command};
    static_assert(sizeof octets == sizeof(rdma_ucm_cmd_hdr) + sizeof(Command));
    return write(fd, &octets, sizeof octets) == static_cast<ssize_t>(sizeof octets) ? 0 : errno;
  }
  template <class Response>
  int query(std::uint32_t option, Response& response, std::size_t out = sizeof(Response)) {
    rdma_ucm_query command{pointer_to(&response), id, option};
    return say(RDMA_USER_CM_CMD_QUERY, command, out);
  }
  template <class Name>
  int bind(const Name& name, std::size_t bytes = sizeof(Name)) {
    rdma_ucm_bind command{};
    command.id = id;
    command.addr_size = static_cast<std::uint16_t>(bytes);
    std::memcpy(&command.addr, &name, sizeof name);
    return say(RDMA_USER_CM_CMD_BIND, command);
  }
  template <class Name>
  int resolve(const Name& to, std::size_t bytes = sizeof(Name)) {
    rdma_ucm_resolve_addr command{};
    command.id = id;
    command.timeout_ms = 2000;
    command.dst_size = static_cast<std::uint16_t>(bytes);
    std::memcpy(&command.dst_addr, &to, sizeof to);
    return say(RDMA_USER_CM_CMD_RESOLVE_ADDR, command);
  }
  rdma_ucm_event_resp event() {
    rdma_ucm_event_resp response{};
    rdma_ucm_get_event command{pointer_to(&response)};
    BOOST_REQUIRE_EQUAL(say(RDMA_USER_CM_CMD_GET_EVENT, command, sizeof response), 0);
    return response;
  }
  int resolve_route() {
    rdma_ucm_resolve_route command{};
    command.id = id;
    command.timeout_ms = 2000;
    return say(RDMA_USER_CM_CMD_RESOLVE_ROUTE, command);
  }

  int fd;
  std::uint32_t id = 0;
};

sockaddr_ib infiniband_name(std::uint64_t space) {
  sockaddr_ib name{};
  name.sib_family = AF_IB;
  name.sib_sid = htobe64(space << 16);
  name.sib_sid_mask = htobe64(~std::uint64_t{0xffff});
  return name;
}

bool is_own(const std::uint8_t* gid) {
  const sockaddr_in own = own_name(0);
  constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid, kMapped, sizeof kMapped) == 0 && std::memcmp(gid + 12, &own.sin_addr, 4) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(single_queries_tell_what_QUERY_ROUTE_tells_together) {
  Commands commands;
  BOOST_REQUIRE_EQUAL(commands.resolve(own_name(7300)), 0);
  const rdma_ucm_event_resp resolved = commands.event();
  BOOST_REQUIRE_EQUAL(resolved.event, kAddressResolved);
  BOOST_CHECK_EQUAL(resolved.status, 0u);

  rdma_ucm_query_addr_resp addresses{};
  BOOST_REQUIRE_EQUAL(commands.query(RDMA_USER_CM_QUERY_ADDR, addresses), 0);
  BOOST_CHECK_EQUAL(addresses.src_size, sizeof(sockaddr_in));
  BOOST_CHECK_EQUAL(addresses.dst_size, sizeof(sockaddr_in));
  rdma_ucm_query_addr_resp gids{};
  BOOST_REQUIRE_EQUAL(commands.query(RDMA_USER_CM_QUERY_GID, gids), 0);
  BOOST_CHECK_EQUAL(gids.src_size, sizeof(sockaddr_ib));
  BOOST_CHECK_EQUAL(gids.node_guid, addresses.node_guid);
  BOOST_CHECK_EQUAL(gids.port_num, 1);
  sockaddr_ib name;
  std::memcpy(&name, &gids.dst_addr, sizeof name);
  BOOST_CHECK_EQUAL(name.sib_family, AF_IB);
  BOOST_CHECK(is_own(name.sib_addr.sib_raw));
  BOOST_CHECK_EQUAL(be64toh(name.sib_sid), std::uint64_t{RDMA_PS_TCP} << 16 | 7300);
  std::memcpy(&name, &gids.src_addr, sizeof name);
  BOOST_CHECK(is_own(name.sib_addr.sib_raw));

  struct {
    std::uint32_t paths, reserved;
    ibv_path_data path[2];
  } path{};
  BOOST_REQUIRE_EQUAL(commands.query(RDMA_USER_CM_QUERY_PATH, path), 0);
  BOOST_CHECK_EQUAL(path.paths, 0u);  // no route yet
  BOOST_REQUIRE_EQUAL(commands.resolve_route(), 0);
  BOOST_REQUIRE_EQUAL(commands.event().event, kRouteResolved);
  rdma_ucm_query_route_resp together{};
  rdma_ucm_query command{pointer_to(&together), commands.id, 0};
  BOOST_REQUIRE_EQUAL(commands.say(RDMA_USER_CM_CMD_QUERY_ROUTE, command, sizeof together), 0);
  BOOST_REQUIRE_EQUAL(commands.query(RDMA_USER_CM_QUERY_PATH, path), 0);
  BOOST_CHECK_EQUAL(path.paths, together.num_paths);
  const ibv_path_record& record = path.path[0].path;
  const ib_user_path_rec& route = together.ib_route[0];
  BOOST_CHECK(std::memcmp(record.dgid.raw, route.dgid, sizeof route.dgid) == 0);
  BOOST_CHECK(std::memcmp(record.sgid.raw, route.sgid, sizeof route.sgid) == 0);
  BOOST_CHECK_EQUAL(ntohl(record.flowlabel_hoplimit), ntohl(route.flow_label) << 8 | route.hop_limit);
  BOOST_CHECK_EQUAL(record.mtu, 2 << 6 | route.mtu);
  BOOST_CHECK_EQUAL(record.packetlifetime, 2 << 6 | route.packet_life_time);
  BOOST_CHECK_EQUAL(path.path[0].flags,
                    std::uint32_t{IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL});

  BOOST_CHECK_EQUAL(commands.query(RDMA_USER_CM_QUERY_PATH, path, 4), ENOSPC);
  BOOST_CHECK_EQUAL(commands.query(RDMA_USER_CM_QUERY_GID, gids, 4), ENOSPC);
  BOOST_CHECK_EQUAL(commands.query(77, gids), ENOSYS);
}

BOOST_AUTO_TEST_CASE(InfiniBand_name_binds_only_as_its_port_spaces_wildcard) {
  Commands commands(RDMA_PS_TCP);
  BOOST_CHECK_EQUAL(commands.bind(infiniband_name(RDMA_PS_UDP)), EPROTONOSUPPORT);
  sockaddr_ib one = infiniband_name(RDMA_PS_TCP);
  one.sib_addr.sib_raw[15] = 9;
  BOOST_CHECK_EQUAL(commands.bind(one), ENODEV);
  BOOST_CHECK_EQUAL(commands.bind(infiniband_name(RDMA_PS_TCP)), 0);
  Commands asker(RDMA_PS_TCP);
  BOOST_CHECK_EQUAL(asker.resolve(one), ENODEV);
  BOOST_CHECK_EQUAL(asker.bind(infiniband_name(RDMA_PS_TCP)), EINVAL);  // it is bound by then
  Commands any(RDMA_PS_IB);                                             // what librdmacm tries first in every process
  BOOST_CHECK_EQUAL(any.bind(infiniband_name(RDMA_PS_TCP)), 0);
}

BOOST_AUTO_TEST_CASE(a_name_whose_size_is_not_that_of_its_family_is_refused) {
  Commands commands;
  const sockaddr_in name = own_name(7301);
  BOOST_CHECK_EQUAL(commands.bind(name, 15), EINVAL);
  BOOST_CHECK_EQUAL(commands.bind(name, sizeof(sockaddr_in6)), EINVAL);
  BOOST_CHECK_EQUAL(commands.resolve(name, 0), EINVAL);
  sockaddr_in unknown = name;
  unknown.sin_family = AF_UNIX;
  BOOST_CHECK_EQUAL(commands.bind(unknown), EINVAL);
  BOOST_CHECK_EQUAL(commands.bind(name), 0);
}
