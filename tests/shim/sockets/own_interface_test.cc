// The node's own interface, by every way in which a program asks for interfaces: all say the same, the machine's
// interfaces stay, and a process without a node sees none. The test itself runs under the path shim (path.cmake).
#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

const std::string kName = "verbena0";

struct OnNode {
  explicit OnNode(const char* node) { setenv("VERBENA_NODE", node, 1); }
  ~OnNode() { setenv("VERBENA_NODE", "7", 1); }
};

struct WithDevices {
  explicit WithDevices(const char* count) { setenv("VERBENA_DEVICES", count, 1); }
  ~WithDevices() { unsetenv("VERBENA_DEVICES"); }
};

struct Socket {
  Socket(int family, int type, int protocol = 0) : fd(socket(family, type | SOCK_CLOEXEC, protocol)) {
    BOOST_REQUIRE(fd >= 0);
  }
  ~Socket() { close(fd); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd;
};

std::string text_of(const sockaddr* name) {
  sockaddr_in ipv4;
  char text[INET_ADDRSTRLEN];
  std::memcpy(&ipv4, name, sizeof ipv4);
  return inet_ntop(AF_INET, &ipv4.sin_addr, text, sizeof text);
}

/// By name and family: how often.
std::map<std::pair<std::string, int>, int> listed(std::string* address = nullptr, const std::string& name = kName) {
  std::map<std::pair<std::string, int>, int> found;
  ifaddrs* list = nullptr;
  BOOST_REQUIRE_EQUAL(getifaddrs(&list), 0);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    ++found[{one->ifa_name, one->ifa_addr->sa_family}];
    if (name == one->ifa_name && one->ifa_addr->sa_family == AF_INET && address != nullptr) {
      *address = text_of(one->ifa_addr);
      BOOST_TEST(text_of(one->ifa_netmask) == "255.255.255.0");
      BOOST_TEST((one->ifa_flags & (IFF_UP | IFF_RUNNING | IFF_LOOPBACK)) == (IFF_UP | IFF_RUNNING));
    }
  }
  freeifaddrs(list);
  return found;
}

std::string file(const std::string& name) {
  std::ifstream stream("/sys/class/net/" + kName + "/" + name);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::set<std::string> names_in_sysfs() {
  std::set<std::string> names;
  DIR* const directory = opendir("/sys/class/net");
  BOOST_REQUIRE(directory != nullptr);
  while (const dirent* const entry = readdir(directory)) BOOST_TEST(names.insert(entry->d_name).second);
  closedir(directory);
  return names;
}

ifreq asked(unsigned long request, int want = 0, const std::string& name = kName) {
  const Socket socket(AF_INET, SOCK_DGRAM);
  ifreq row{};
  std::strcpy(row.ifr_name, name.c_str());
  BOOST_CHECK_EQUAL(ioctl(socket.fd, request, &row) == 0 ? 0 : errno, want);
  return row;
}

std::set<std::string> names_in_ioctl() {
  const Socket socket(AF_INET, SOCK_DGRAM);
  ifreq rows[128];
  ifconf all{};
  all.ifc_len = sizeof rows;
  all.ifc_req = rows;
  BOOST_REQUIRE_EQUAL(ioctl(socket.fd, SIOCGIFCONF, &all), 0);
  std::set<std::string> names;
  for (std::size_t i = 0; i < static_cast<std::size_t>(all.ifc_len) / sizeof(ifreq); ++i)
    BOOST_TEST(names.insert(rows[i].ifr_name).second);
  return names;
}

// -- rtnetlink -------------------------------------------------------------------------------------------------------

template <class Header>
struct RouteQuestion {
  nlmsghdr header{sizeof(RouteQuestion), 0, NLM_F_REQUEST, 9, 0};
  Header body{};
};

/// The messages of a datagram, by type.
std::vector<std::uint16_t> types_in(const std::vector<char>& octets) {
  std::vector<std::uint16_t> types;
  for (std::size_t at = 0; at + sizeof(nlmsghdr) <= octets.size();) {
    nlmsghdr header;
    std::memcpy(&header, octets.data() + at, sizeof header);
    BOOST_TEST(header.nlmsg_seq == 9u);
    types.push_back(header.nlmsg_type);
    at += NLMSG_ALIGN(header.nlmsg_len);
  }
  return types;
}

/// Those of four octets.
std::map<std::uint16_t, std::uint32_t> attributes_in(const std::vector<char>& octets, std::size_t at) {
  std::map<std::uint16_t, std::uint32_t> found;
  nlattr one{};
  for (; at + sizeof one + 4 <= octets.size(); at += NLA_ALIGN(one.nla_len)) {
    std::memcpy(&one, octets.data() + at, sizeof one);
    BOOST_REQUIRE(one.nla_len >= sizeof one);
    if (one.nla_len == sizeof one + 4) std::memcpy(&found[one.nla_type], octets.data() + at + sizeof one, 4);
  }
  return found;
}

std::vector<char> next_datagram(int fd, std::size_t room = 65536, int flags = 0) {
  std::vector<char> octets(room);
  pollfd entry{fd, POLLIN, 0};
  BOOST_REQUIRE_EQUAL(poll(&entry, 1, 10'000), 1);
  const ssize_t got = recv(fd, octets.data(), octets.size(), flags);
  BOOST_REQUIRE(got > 0);
  octets.resize(static_cast<std::size_t>(got));
  return octets;
}

/// All that comes up to the end of the list.
std::vector<char> whole_list(int fd, std::size_t room = 65536) {
  std::vector<char> all;
  for (;;) {
    const std::vector<char> octets = next_datagram(fd, room);
    all.insert(all.end(), octets.begin(), octets.end());
    if (types_in(octets).back() == NLMSG_DONE) return all;
  }
}

bool contains(const std::vector<char>& octets, const std::string& what) {
  return std::string(octets.begin(), octets.end()).find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(getifaddrs_has_it_behind_the_machines) {
  std::string address;
  auto found = listed(&address);
  BOOST_TEST(address == "127.47.91.7");
  BOOST_TEST((found[{kName, AF_INET}] == 1));
  BOOST_TEST((found[{kName, AF_PACKET}] == 1));
  BOOST_TEST((found[{"lo", AF_INET}] >= 1));
  const OnNode other("9");
  listed(&address);
  BOOST_TEST(address == "127.47.91.9");
}

BOOST_AUTO_TEST_CASE(every_list_has_an_interface_for_each_device) {
  const WithDevices sixteen("16");
  const auto found = listed();
  const auto names = names_in_sysfs();
  std::map<std::string, unsigned> indices;
  struct if_nameindex* const list = if_nameindex();
  for (const struct if_nameindex* one = list; one->if_index != 0; ++one) indices[one->if_name] = one->if_index;
  if_freenameindex(list);
  const std::set<std::string> in_ioctl = names_in_ioctl();
  for (int device = 0; device < 16; ++device) {
    const std::string name = "verbena" + std::to_string(device);
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(found.at({name, AF_INET}) == 1);
      BOOST_TEST(found.at({name, AF_PACKET}) == 1);
      BOOST_TEST(names.contains(name));
      BOOST_TEST(in_ioctl.contains(name));
      BOOST_TEST(indices.at(name) == if_nametoindex(name.c_str()));
      char again[IF_NAMESIZE] = {};
      BOOST_TEST(if_indextoname(indices.at(name), again) == again);
      BOOST_TEST(again == name);
    }
  }
  BOOST_TEST(if_nametoindex("verbena16") == 0u);
  BOOST_TEST(if_nametoindex("lo") == 1u);
}

BOOST_AUTO_TEST_CASE(each_device_has_the_address_and_mac_of_its_own) {
  const WithDevices three("3");
  const std::pair<const char*, std::string> kAddresses[] = {
      {"verbena0", "127.47.91.7"}, {"verbena1", "127.47.92.7"}, {"verbena2", "127.47.93.7"}};
  for (const auto& [name, address] : kAddresses) {
    const ifreq row = asked(SIOCGIFADDR, 0, name);
    BOOST_TEST(text_of(&row.ifr_addr) == address);
    std::string broadcast = address;
    broadcast.replace(broadcast.size() - 1, 1, "255");
    const ifreq all = asked(SIOCGIFBRDADDR, 0, name);
    BOOST_TEST(text_of(&all.ifr_broadaddr) == broadcast);
    const ifreq hardware = asked(SIOCGIFHWADDR, 0, name);
    BOOST_TEST(hardware.ifr_hwaddr.sa_data[4] == static_cast<char>(0x5b + name[7] - '0'));
    std::string listed_address;
    listed(&listed_address, name);
    BOOST_TEST(listed_address == address);
  }
  asked(SIOCGIFADDR, ENODEV, "verbena3");
}

BOOST_AUTO_TEST_CASE(process_without_a_node_of_its_own_sees_the_machine_alone) {
  for (const char* node : {"auto:3", "127.0.0.1", "10.99.99.99"}) {
    const OnNode none(node);
    BOOST_TEST((listed()[{kName, AF_INET}] == 0));
    BOOST_TEST(if_nametoindex(kName.c_str()) == 0u);
    BOOST_TEST(names_in_sysfs().contains(kName) == false);
    asked(SIOCGIFADDR, ENODEV);
  }
}

BOOST_AUTO_TEST_CASE(names_and_indices_go_both_ways) {
  const unsigned index = if_nametoindex(kName.c_str());
  BOOST_TEST(index != 0u);
  char name[IF_NAMESIZE] = {};
  BOOST_TEST(if_indextoname(index, name) == name);
  BOOST_TEST(name == kName);
  struct if_nameindex* const list = if_nameindex();
  BOOST_REQUIRE(list != nullptr);
  std::map<std::string, unsigned> found;
  for (const struct if_nameindex* one = list; one->if_index != 0; ++one) found[one->if_name] = one->if_index;
  if_freenameindex(list);
  BOOST_TEST(found[kName] == index);
  BOOST_TEST(found["lo"] == 1u);
  BOOST_TEST(file("ifindex") == std::to_string(index));
  BOOST_TEST(asked(SIOCGIFINDEX).ifr_ifindex == static_cast<int>(index));
}

BOOST_AUTO_TEST_CASE(ioctl_tells_what_sysfs_tells) {
  const ifreq address = asked(SIOCGIFADDR);
  BOOST_TEST(text_of(&address.ifr_addr) == "127.47.91.7");
  BOOST_TEST(file("mtu") == std::to_string(asked(SIOCGIFMTU).ifr_mtu));
  BOOST_TEST(file("address") == "02:56:7f:2f:5b:07");
  const ifreq hardware = asked(SIOCGIFHWADDR);
  constexpr unsigned char kMac[] = {0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x07};
  BOOST_TEST(std::memcmp(hardware.ifr_hwaddr.sa_data, kMac, sizeof kMac) == 0);
  BOOST_TEST((asked(SIOCGIFFLAGS).ifr_flags & IFF_UP) != 0);
  BOOST_TEST(file("operstate") == "up");
  BOOST_TEST(file("speed") == "100000");
  asked(SIOCSIFMTU, EPERM);

  const Socket socket(AF_INET, SOCK_DGRAM);
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  ifreq row{};
  std::strcpy(row.ifr_name, kName.c_str());
  row.ifr_data = reinterpret_cast<char*>(&driver);
  BOOST_TEST(ioctl(socket.fd, SIOCETHTOOL, &row) == 0);
  BOOST_TEST(std::string(driver.driver) == "verbena");
  char link[256] = {};
  const std::string device = "/sys/class/net/" + kName + "/device";
  BOOST_REQUIRE(readlink(device.c_str(), link, sizeof link - 1) > 0);
  BOOST_TEST(std::string(link).ends_with(driver.bus_info));
}

BOOST_AUTO_TEST_CASE(the_list_of_ioctl_has_it_and_says_how_much_room_it_wants) {
  const Socket socket(AF_INET, SOCK_DGRAM);
  ifconf all{};
  BOOST_REQUIRE_EQUAL(ioctl(socket.fd, SIOCGIFCONF, &all), 0);
  std::vector<ifreq> rows(static_cast<std::size_t>(all.ifc_len) / sizeof(ifreq));
  const int wanted = all.ifc_len;
  all.ifc_req = rows.data();
  BOOST_REQUIRE_EQUAL(ioctl(socket.fd, SIOCGIFCONF, &all), 0);
  BOOST_TEST(all.ifc_len == wanted);
  BOOST_TEST(rows.back().ifr_name == kName);
  all.ifc_len = wanted - 1;  // no room for the last
  BOOST_REQUIRE_EQUAL(ioctl(socket.fd, SIOCGIFCONF, &all), 0);
  BOOST_TEST(all.ifc_len == wanted - static_cast<int>(sizeof(ifreq)));
}

BOOST_AUTO_TEST_CASE(the_directory_of_interfaces_lists_it_beside_the_machines) {
  const auto names = names_in_sysfs();
  BOOST_TEST(names.contains(kName));
  BOOST_TEST(names.contains("lo"));
  dirent** list = nullptr;
  const int count = scandir("/sys/class/net", &list, nullptr, alphasort);
  BOOST_TEST(count == static_cast<int>(names.size()));
  for (int i = 0; i < count; ++i) {
    BOOST_TEST(names.contains(list[i]->d_name));
    free(list[i]);
  }
  free(list);
}

BOOST_AUTO_TEST_CASE(rtnetlink_lists_its_link_its_address_and_its_route) {
  const std::string address("\x7f\x2f\x5b\x07", 4);
  for (const auto& [question, answer] :
       {std::pair{RTM_GETLINK, RTM_NEWLINK}, {RTM_GETADDR, RTM_NEWADDR}, {RTM_GETROUTE, RTM_NEWROUTE}}) {
    for (const std::size_t room : {std::size_t{65536}, std::size_t{4096}}) {
      const Socket socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
      RouteQuestion<rtgenmsg> asked{};
      asked.header.nlmsg_type = static_cast<std::uint16_t>(question);
      asked.header.nlmsg_flags |= NLM_F_DUMP;
      BOOST_REQUIRE_EQUAL(send(socket.fd, &asked, sizeof asked, 0), ssize_t{sizeof asked});
      const std::vector<char> list = whole_list(socket.fd, room);
      BOOST_TEST(contains(list, question == RTM_GETLINK ? kName : address));
      const auto types = types_in(list);
      BOOST_TEST(types.back() == NLMSG_DONE);
      for (std::size_t i = 0; i + 1 < types.size(); ++i) BOOST_TEST(types[i] == answer);
      char octet = 0;
      BOOST_TEST(recv(socket.fd, &octet, 1, MSG_DONTWAIT) == -1);
    }
  }
}

BOOST_AUTO_TEST_CASE(rtnetlink_lists_16_devices_to_a_reader_with_little_room) {
  const WithDevices sixteen("16");
  for (const std::size_t room : {std::size_t{65536}, std::size_t{4096}}) {
    const Socket socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    RouteQuestion<rtgenmsg> asked{};
    asked.header.nlmsg_type = RTM_GETLINK;
    asked.header.nlmsg_flags |= NLM_F_DUMP;
    BOOST_REQUIRE_EQUAL(send(socket.fd, &asked, sizeof asked, 0), ssize_t{sizeof asked});
    const std::vector<char> list = whole_list(socket.fd, room);
    for (int device = 0; device < 16; ++device)
      BOOST_TEST(contains(list, "verbena" + std::to_string(device) + std::string(1, '\0')));
    const auto types = types_in(list);
    BOOST_TEST(std::count(types.begin(), types.end(), RTM_NEWLINK) == static_cast<long>(types.size()) - 1);
    char octet = 0;
    BOOST_TEST(recv(socket.fd, &octet, 1, MSG_DONTWAIT) == -1);
  }
}

BOOST_AUTO_TEST_CASE(a_list_that_its_reader_has_too_little_room_for_comes_in_two) {
  const Socket socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  RouteQuestion<rtgenmsg> asked{};
  asked.header.nlmsg_type = RTM_GETADDR;
  asked.header.nlmsg_flags |= NLM_F_DUMP;
  asked.body.rtgen_family = AF_INET;
  BOOST_REQUIRE_GT(send(socket.fd, &asked, sizeof asked, 0), 0);
  for (bool is_last = false; !is_last;) {
    const std::vector<char> whole = next_datagram(socket.fd, 65536, MSG_PEEK);
    is_last = types_in(whole).back() == NLMSG_DONE;
    const std::vector<char> first = next_datagram(socket.fd, is_last ? whole.size() - 1 : whole.size());
    if (!is_last) continue;
    BOOST_TEST((types_in(first) == std::vector<std::uint16_t>{RTM_NEWADDR}));
    BOOST_TEST(contains(first, kName));
    const std::vector<char> rest = whole_list(socket.fd);
    BOOST_TEST(!contains(rest, kName));
    BOOST_TEST(first.size() + rest.size() == whole.size());
  }
}

BOOST_AUTO_TEST_CASE(question_about_one_interface_is_answered_once_readable) {
  const Socket socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  RouteQuestion<ifinfomsg> link{};
  link.header.nlmsg_type = RTM_GETLINK;
  link.body.ifi_index = static_cast<int>(if_nametoindex(kName.c_str()));
  BOOST_REQUIRE_EQUAL(write(socket.fd, &link, sizeof link), ssize_t{sizeof link});
  std::vector<char> octets = next_datagram(socket.fd);
  BOOST_TEST((types_in(octets) == std::vector<std::uint16_t>{RTM_NEWLINK}));
  BOOST_TEST(contains(octets, kName));

  RouteQuestion<ifaddrmsg> addresses{};
  addresses.header.nlmsg_type = RTM_GETADDR;
  addresses.header.nlmsg_flags |= NLM_F_DUMP;
  addresses.body.ifa_family = AF_INET;
  addresses.body.ifa_index = if_nametoindex(kName.c_str());
  BOOST_REQUIRE_GT(write(socket.fd, &addresses, sizeof addresses), 0);
  octets = next_datagram(socket.fd);
  BOOST_TEST((types_in(octets) == std::vector<std::uint16_t>{RTM_NEWADDR, NLMSG_DONE}));

  // Of another interface the kernel's answer is the whole one.
  link.body.ifi_index = 1;
  BOOST_REQUIRE_GT(write(socket.fd, &link, sizeof link), 0);
  BOOST_TEST(contains(next_datagram(socket.fd), "lo"));
}

BOOST_AUTO_TEST_CASE(the_way_to_an_address_of_its_network_goes_through_it) {
  struct Way {
    const char* to;
    unsigned asked_interface;
    std::uint8_t type;
    unsigned interface;
    const char* source;
  };
  const WithDevices two("2");
  const unsigned own = if_nametoindex(kName.c_str());
  const unsigned second = if_nametoindex("verbena1");
  const Way kWays[] = {{"127.47.91.2", 0, RTN_UNICAST, own, "127.47.91.7"},
                       {"127.47.92.2", 0, RTN_UNICAST, second, "127.47.92.7"},
                       {"127.47.92.7", 0, RTN_LOCAL, 1, "127.47.92.7"},
                       {"127.47.92.255", 0, RTN_BROADCAST, second, "127.47.92.7"},
                       {"10.1.2.3", second, RTN_UNICAST, second, "127.47.92.7"},
                       {"127.47.93.2", 0, RTN_LOCAL, 1, "127.0.0.1"},  // there is no third
                       {"127.47.91.7", 0, RTN_LOCAL, 1, "127.47.91.7"},
                       {"127.47.91.255", 0, RTN_BROADCAST, own, "127.47.91.7"},
                       {"10.1.2.3", own, RTN_UNICAST, own, "127.47.91.7"},
                       {"127.47.91.2", 1, RTN_LOCAL, 1, "127.0.0.1"},  // the kernel's answers
                       {"127.0.0.1", 0, RTN_LOCAL, 1, "127.0.0.1"}};
  for (const Way& way : kWays) BOOST_TEST_CONTEXT(way.to << " by interface " << way.asked_interface) {
      const Socket socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
      struct {
        RouteQuestion<rtmsg> question{};
        nlattr to_attribute{8, RTA_DST};
        in_addr to{};
        nlattr interface_attribute{8, RTA_OIF};
        std::uint32_t interface = 0;
      } asked;
      asked.question.header.nlmsg_len = way.asked_interface == 0 ? sizeof asked - 8 : sizeof asked;
      asked.question.header.nlmsg_type = RTM_GETROUTE;
      asked.question.body.rtm_family = AF_INET;
      asked.question.body.rtm_dst_len = 32;
      asked.question.body.rtm_flags = RTM_F_LOOKUP_TABLE;
      inet_pton(AF_INET, way.to, &asked.to);
      asked.interface = way.asked_interface;
      BOOST_REQUIRE_GT(send(socket.fd, &asked, asked.question.header.nlmsg_len, 0), 0);
      const std::vector<char> octets = next_datagram(socket.fd);
      BOOST_TEST((types_in(octets) == std::vector<std::uint16_t>{RTM_NEWROUTE}));
      rtmsg route;
      BOOST_REQUIRE_GE(octets.size(), NLMSG_HDRLEN + sizeof route);
      std::memcpy(&route, octets.data() + NLMSG_HDRLEN, sizeof route);
      BOOST_TEST(route.rtm_type == way.type);
      BOOST_TEST((route.rtm_flags & RTM_F_CLONED) != 0u);
      const auto attributes = attributes_in(octets, NLMSG_HDRLEN + sizeof route);
      in_addr source{};
      inet_pton(AF_INET, way.source, &source);
      BOOST_TEST(attributes.at(RTA_OIF) == way.interface);
      BOOST_TEST(attributes.at(RTA_PREFSRC) == source.s_addr);
      BOOST_TEST(attributes.at(RTA_DST) == asked.to.s_addr);
      BOOST_TEST(attributes.at(RTA_UID) == getuid());
    }
}

BOOST_AUTO_TEST_CASE(sockets_can_be_bound_to_it_and_hear_groups_on_it) {
  const Socket socket(AF_INET, SOCK_DGRAM);
  BOOST_TEST(setsockopt(socket.fd, SOL_SOCKET, SO_BINDTODEVICE, kName.c_str(), 9) == 0);
  ip_mreqn group{};
  inet_pton(AF_INET, "239.1.2.3", &group.imr_multiaddr);
  group.imr_ifindex = static_cast<int>(if_nametoindex(kName.c_str()));
  BOOST_TEST(setsockopt(socket.fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) == 0);
  BOOST_TEST(setsockopt(socket.fd, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof group) == 0);
  BOOST_TEST(setsockopt(socket.fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &group, sizeof group) == 0);
}
