// How programs come to the library: by link, by name, by version, and through the providers' libraries.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <boost/test/unit_test.hpp>

namespace {

void* const linked = reinterpret_cast<void*>(&ibv_get_device_list);

}  // namespace

BOOST_AUTO_TEST_CASE(both_names_lead_to_the_one_library) {
  for (const char* name : {"libibverbs.so.1", "libibverbs.so"}) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    BOOST_REQUIRE_MESSAGE(library != nullptr, name);
    BOOST_CHECK(dlsym(library, "ibv_get_device_list") == linked);
    BOOST_CHECK(dlvsym(library, "ibv_get_device_list", "IBVERBS_1.1") == linked);
    BOOST_CHECK(dlvsym(library, "ibv_get_device_list", "IBVERBS_1.0") != linked);
    dlclose(library);
  }
}

BOOST_AUTO_TEST_CASE(closing_a_handle_unmaps_nothing) {
  void* const library = dlopen("libibverbs.so.1", RTLD_NOW);
  BOOST_REQUIRE(library != nullptr);
  dlclose(library);
  int number = 0;
  ibv_device** const list = ibv_get_device_list(&number);
  BOOST_CHECK_EQUAL(number, 1);
  ibv_free_device_list(list);
}

BOOST_AUTO_TEST_CASE(the_layout_of_before_2007_finds_no_device) {
  void* const library = dlopen("libibverbs.so.1", RTLD_NOW);
  BOOST_REQUIRE(library != nullptr);
  auto* const list = reinterpret_cast<void* (*)(int*)>(dlvsym(library, "ibv_get_device_list", "IBVERBS_1.0"));
  BOOST_REQUIRE(list != nullptr);
  int number = -1;
  BOOST_CHECK(list(&number) == nullptr);
  dlclose(library);
}

BOOST_AUTO_TEST_CASE(the_providers_libraries_load_and_disown_the_device) {
  int number = 0;
  ibv_device** const list = ibv_get_device_list(&number);
  BOOST_REQUIRE_EQUAL(number, 1);
  for (const char* name : {"libmlx5.so.1", "libmlx4.so.1", "libefa.so.1"}) {
    void* const library = dlopen(name, RTLD_NOW);
    if (library == nullptr) continue;  // not installed here
    if (auto* const is_supported = reinterpret_cast<bool (*)(ibv_device*)>(dlsym(library, "mlx5dv_is_supported")))
      BOOST_CHECK(!is_supported(list[0]));
    dlclose(library);
  }
  // With every symbol bound at once, the real connection manager's library finds all it needs.
  void* const manager = dlopen("librdmacm.so.1", RTLD_NOW);
  BOOST_CHECK_MESSAGE(manager != nullptr || dlopen("librdmacm.so.1", RTLD_LAZY) == nullptr, dlerror());
  ibv_free_device_list(list);
}
