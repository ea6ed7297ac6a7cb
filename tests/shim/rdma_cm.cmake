# rdma_cm through the distribution's own librdmacm, which finds its character device by the preloaded path shim. The wire
# below it is our libibverbs, as for the other tests of the shim.
find_library(VERBENA_RDMACM NAMES rdmacm REQUIRED)

function(rdma_cm_test thing)
  shim_test(rdma_cm ${thing})
  target_link_libraries(test_shim_${thing} PRIVATE ${VERBENA_RDMACM})
  add_dependencies(test_shim_${thing} verbena-path)
  set_property(TEST shim_${thing} APPEND PROPERTY ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:verbena-path>")
endfunction()
rdma_cm_test(rdma_cm)
rdma_cm_test(rdma_cm_channel)
rdma_cm_test(rdma_cm_comes_back)
rdma_cm_test(rdma_cm_commands)
rdma_cm_test(rdma_cm_devices)
set_property(TEST shim_rdma_cm_devices APPEND PROPERTY ENVIRONMENT "VERBENA_DEVICES=2")
rdma_cm_test(rdma_cm_family)
rdma_cm_test(rdma_cm_one_goes)
set_property(TEST shim_rdma_cm_one_goes APPEND PROPERTY ENVIRONMENT "VERBENA_DEVICES=2")
rdma_cm_test(rdma_cm_port)
rdma_cm_test(rdma_cm_ports_go)
set_property(TEST shim_rdma_cm_ports_go APPEND PROPERTY ENVIRONMENT "VERBENA_PORTS=2")
rdma_cm_test(rdma_cm_removal)
rdma_cm_test(rdma_cm_start)
rdma_cm_test(rdma_cm_two_ports)
set_property(TEST shim_rdma_cm_two_ports APPEND PROPERTY ENVIRONMENT "VERBENA_PORTS=2")
shim_test_on_fabric(rdma_cm_comes_back)
shim_test_on_fabric(rdma_cm_one_goes)
shim_test_on_fabric(rdma_cm_ports_go)
shim_test_on_fabric(rdma_cm_port)
shim_test_on_fabric(rdma_cm_removal)

# Over each kind of link; the test serves a fabric itself where it needs one.
rdma_cm_test(rdma_cm_exit)
target_link_libraries(test_shim_rdma_cm_exit PRIVATE verbena_host)
foreach(link udp fabric)
  add_test(NAME shim_rdma_cm_exit_${link} COMMAND test_shim_rdma_cm_exit)
  set_tests_properties(shim_rdma_cm_exit_${link} PROPERTIES LABELS "core;shim" TIMEOUT 300)
endforeach()
set_property(TEST shim_rdma_cm_exit_udp PROPERTY ENVIRONMENT "VERBENA_FABRIC=shim-rdma_cm_exit-udp" "VERBENA_LINK=udp"
  "VERBENA_NODE=234" "LD_PRELOAD=$<TARGET_FILE:verbena-path>")
set_property(TEST shim_rdma_cm_exit_fabric PROPERTY ENVIRONMENT "VERBENA_FABRIC=shim-rdma_cm_exit-fabric"
  "VERBENA_LINK=fabric" "VERBENA_NODE=1" "LD_PRELOAD=$<TARGET_FILE:verbena-path>")

# A unit of it alone: the library exports nothing of its inside.
set(units id route channel)
list(TRANSFORM units PREPEND ${PROJECT_SOURCE_DIR}/verbs-shim/rdma_cm/)
list(TRANSFORM units APPEND .cc)
verbena_test(shim_rdma_cm_route SOURCES rdma_cm/rdma_cm_route_test.cc ${units} LINK verbena::host LABELS shim)
