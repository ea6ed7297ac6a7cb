# rdma_cm through the distribution's own librdmacm, which finds its character device by the preloaded path shim. The wire
# below it is our libibverbs, as for the other tests of the shim.
find_library(VERBENA_RDMACM NAMES rdmacm REQUIRED)

function(rdma_cm_test thing)
  shim_test(${thing})
  target_link_libraries(test_shim_${thing} PRIVATE ${VERBENA_RDMACM})
  add_dependencies(test_shim_${thing} verbena-path)
  set_property(TEST shim_${thing} APPEND PROPERTY ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:verbena-path>")
endfunction()
rdma_cm_test(rdma_cm)
rdma_cm_test(rdma_cm_channel)
rdma_cm_test(rdma_cm_family)
rdma_cm_test(rdma_cm_port)
rdma_cm_test(rdma_cm_removal)
shim_test_on_fabric(rdma_cm_port)
shim_test_on_fabric(rdma_cm_removal)
