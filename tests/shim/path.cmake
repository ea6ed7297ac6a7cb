# The path shim is tested through real programs of the distribution, preloaded as `verbena exec` does it.
verbena_test(shim_path SOURCES path_test.cc LINK verbena::host LABELS shim)
target_compile_definitions(test_shim_path PRIVATE VERBENA_PATH_LIBRARY="$<TARGET_FILE:verbena-path>")
add_dependencies(test_shim_path verbena-path)
