# The one way to declare a test program, and how the tests' own code is compiled.
#
# Most of what there is to compile is tests, and most of a test is templates of Boost.Test. clang compiles them in half of the time
# that g++ takes, and in a third with these headers compiled before (tests/support/headers.cc). So clang compiles the tests' own code
# in the release build too, with the product that g++ has made. Without clang the project's compiler compiles them.
find_program(VERBENA_TESTS_CLANG clang++-19)
if(VERBENA_TESTS_CLANG AND NOT CMAKE_CROSSCOMPILING AND NOT VERBENA_FUZZ)
  set(VERBENA_TEST_HEADERS_COMPILED ON)
endif()
# Whoever links many programs takes the faster linker that its compiler knows.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(VERBENA_LLD ld.lld-19)
  set(VERBENA_TESTS_LINKER $<$<BOOL:${VERBENA_LLD}>:-fuse-ld=lld-19>)
elseif(NOT CMAKE_CROSSCOMPILING)
  find_program(VERBENA_GOLD ld.gold)
  set(VERBENA_TESTS_LINKER $<$<BOOL:${VERBENA_GOLD}>:-fuse-ld=gold>)
endif()

# These begin first, so that none is left to run alone at the end. Once CTest has measured all tests it knows better.
set(VERBENA_LONG_TESTS scenarios_virtual_random_runs cli_run nic_random_world nic_credit nic_loss nic_transfer host_link_udp_udp_link
  host_link_raw_raw_link shim_limits scenarios_language_schema scenarios_real_run_real)

# What every test program has, compiled once: its main(), and Boost.Test's headers.
function(verbena_test_support)
  add_library(verbena_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/test_main.cc ${PROJECT_SOURCE_DIR}/tests/support/places.cc)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/places.cc PROPERTIES
    COMPILE_DEFINITIONS VERBENA_SOURCE="${PROJECT_SOURCE_DIR}")
  target_compile_definitions(verbena_test_main PRIVATE BOOST_TEST_DYN_LINK)
  target_link_libraries(verbena_test_main PRIVATE verbena_options Boost::unit_test_framework)
  target_compile_options(verbena_test_main PRIVATE -O0)
  if(NOT VERBENA_TEST_HEADERS_COMPILED)
    return()
  endif()
  # Its "object" is the compiled header, which stands beside it as headers.cc.pch: tests name it relative to the build folder, as the
  # compiler's cache wants it.
  add_library(verbena_test_headers OBJECT ${PROJECT_SOURCE_DIR}/tests/support/headers.cc)
  target_compile_options(verbena_test_headers PRIVATE -O0 -fPIE -x c++-header)
  set_target_properties(verbena_test_headers PROPERTIES CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/scripts/compile_test.sh)
  target_compile_definitions(verbena_test_headers PRIVATE BOOST_TEST_DYN_LINK)
  target_link_libraries(verbena_test_headers PRIVATE verbena_options fmt::fmt Boost::unit_test_framework)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/headers.cc PROPERTIES
    OBJECT_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/compile_test.sh)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_BINARY_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE folder)
  set_property(GLOBAL PROPERTY verbena_test_headers ${folder}/CMakeFiles/verbena_test_headers.dir/support/headers.cc)
endfunction()

# verbena_test(NAME SOURCES ... LINK ... [LABELS ...] [TIMEOUT SECONDS]): one Boost.Test program, one CTest entry.
function(verbena_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT TARGET verbena_test_main)
    verbena_test_support()
  endif()
  add_executable(test_${name} ${ARG_SOURCES} $<TARGET_OBJECTS:verbena_test_main>)
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE BOOST_TEST_DYN_LINK)
  target_link_libraries(test_${name} PRIVATE ${ARG_LINK} Boost::unit_test_framework)
  target_link_options(test_${name} PRIVATE ${VERBENA_AS_IT_IS_LINK} ${VERBENA_TESTS_LINKER})
  # The test's own code unoptimised: with -O2 and a sanitizer one such file takes 45 s instead of 6 s to compile.
  target_compile_options(test_${name} PRIVATE -O0)
  if(VERBENA_TEST_HEADERS_COMPILED)
    get_property(headers GLOBAL PROPERTY verbena_test_headers)
    set_target_properties(test_${name} PROPERTIES CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/scripts/compile_test.sh)
    list(GET ARG_SOURCES 0 own)
    set_property(SOURCE ${own} APPEND PROPERTY COMPILE_OPTIONS -include-pch ${headers}.pch)
    set_property(SOURCE ${own} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${headers}.o ${PROJECT_SOURCE_DIR}/scripts/compile_test.sh)
  endif()
  add_test(NAME ${name} COMMAND test_${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)  # the end of one that hangs; a busy machine is slower than ours by 10
    if(VERBENA_SANITIZE)
      set(ARG_TIMEOUT 900)  # the same code takes five times as long
    elseif(CMAKE_CROSSCOMPILING)
      set(ARG_TIMEOUT 2400)  # and twenty times as long on an emulated processor
    endif()
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "core;${ARG_LABELS}")
  if(name IN_LIST VERBENA_LONG_TESTS)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()
