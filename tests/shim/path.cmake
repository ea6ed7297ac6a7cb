# The path shim is tested through real programs of the distribution, preloaded as `verbena exec` does it.
verbena_test(shim_path SOURCES sysfs/path_test.cc LINK verbena::host LABELS shim)
target_compile_definitions(test_shim_path PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>")
add_dependencies(test_shim_path verbena-path)
verbena_test(shim_path_children SOURCES sysfs/path_children_test.cc LINK verbena_options LABELS shim)
target_compile_definitions(test_shim_path_children PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>"
  VERBENA_OTHER_LIBRARY="/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libm.so.6")
add_dependencies(test_shim_path_children verbena-path)
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
