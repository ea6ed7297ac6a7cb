# The path shim is tested through real programs of the distribution, preloaded as `verbena exec` does it.
verbena_test(shim_path SOURCES sysfs/path_test.cc LINK verbena::host LABELS shim)
target_compile_definitions(test_shim_path PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>")
add_dependencies(test_shim_path verbena-path)
verbena_test(shim_path_children SOURCES sysfs/path_children_test.cc LINK verbena_options LABELS shim)
target_compile_definitions(test_shim_path_children PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>"
  VERBENA_OTHER_LIBRARY="/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libm.so.6")
add_dependencies(test_shim_path_children verbena-path)
# The same library, but that it stands on a node with two devices.
add_library(verbena-path-two MODULE EXCLUDE_FROM_ALL sysfs/two_devices.cc $<TARGET_OBJECTS:verbena_shim_sockets>
  $<FILTER:$<TARGET_OBJECTS:verbena_shim_sysfs>,EXCLUDE,own_devices>)
foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
  set_property(TARGET verbena-path-two PROPERTY ${property} $<TARGET_PROPERTY:verbena_shim_sysfs,${property}>)
endforeach()
set_target_properties(verbena-path-two PROPERTIES LINKER_LANGUAGE C)
target_link_options(verbena-path-two PRIVATE $<TARGET_PROPERTY:verbena-path,LINK_OPTIONS>)
target_link_libraries(verbena-path-two PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
verbena_test(shim_two_devices SOURCES sysfs/two_devices_test.cc LINK verbena::host LABELS shim)
target_compile_definitions(test_shim_two_devices PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path-two>")
add_dependencies(test_shim_two_devices verbena-path-two)
# The filter is tested by the kernel that runs it.
verbena_test(shim_socket_filter SOURCES sockets/socket_filter_test.cc ${PROJECT_SOURCE_DIR}/verbs-shim/sockets/socket_filter.cc
  LINK verbena::host LABELS shim)
verbena_test(shim_rdma_netlink SOURCES sockets/rdma_netlink_test.cc LINK verbena_options LABELS shim)
target_compile_definitions(test_shim_rdma_netlink PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>")
add_dependencies(test_shim_rdma_netlink verbena-path)

# These are programs under the path shim themselves. Sanitizers have none (verbs-shim/CMakeLists.txt).
foreach(thing rdma_netlink_calls own_interface wildcard)
  verbena_test(shim_${thing} SOURCES sockets/${thing}_test.cc LINK verbena_options LABELS shim)
  add_dependencies(test_shim_${thing} verbena-path)
  set_tests_properties(shim_${thing} PROPERTIES TIMEOUT 300 ENVIRONMENT
    "LD_PRELOAD=$<TARGET_FILE:verbena-path>;VERBENA_NODE=7;VERBENA_FABRIC=path-${thing};VERBENA_DEVICE_NAME=mlx5_7")
endforeach()
verbena_test(shim_two_networks SOURCES sockets/two_networks_test.cc LINK verbena_options LABELS shim)
add_dependencies(test_shim_two_networks verbena-path-two)
set_tests_properties(shim_two_networks PROPERTIES TIMEOUT 300 ENVIRONMENT
  "LD_PRELOAD=$<TARGET_FILE:verbena-path-two>;VERBENA_NODE=7;VERBENA_FABRIC=path-two-networks")
