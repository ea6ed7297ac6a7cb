# The path shim is tested through real programs of the distribution, preloaded as `verbena exec` does it.
verbena_test(shim_path SOURCES path_test.cc LINK verbena::host LABELS shim)
target_compile_definitions(test_shim_path PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>")
add_dependencies(test_shim_path verbena-path)
verbena_test(shim_path_children SOURCES path_children_test.cc LINK verbena_options LABELS shim)
target_compile_definitions(test_shim_path_children PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>"
  VERBENA_OTHER_LIBRARY="/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libm.so.6")
add_dependencies(test_shim_path_children verbena-path)
# The filter is tested by the kernel that runs it.
verbena_test(shim_path_filter SOURCES path_filter_test.cc ${PROJECT_SOURCE_DIR}/verbs-shim/sockets/socket_filter.cc
  LINK verbena::host LABELS shim)
verbena_test(shim_path_netlink SOURCES path_netlink_test.cc LINK verbena_options LABELS shim)
target_compile_definitions(test_shim_path_netlink PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>")
add_dependencies(test_shim_path_netlink verbena-path)
