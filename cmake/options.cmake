# Warnings, sanitizers, and the one way to declare a library or a test of this project.
add_library(verbena_options INTERFACE)
target_include_directories(verbena_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(verbena_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wswitch -Werror
  $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-field-initializers -Wno-missing-designated-field-initializers>)
if(VERBENA_SANITIZE STREQUAL "address")
  set(VERBENA_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_compile_definitions(verbena_options INTERFACE VERBENA_ADDRESS_SANITIZER)  # each compiler has its own way to say so
elseif(VERBENA_SANITIZE STREQUAL "thread")
  set(VERBENA_SANITIZE_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
  target_compile_definitions(verbena_options INTERFACE VERBENA_THREAD_SANITIZER)
endif()
if(VERBENA_SANITIZE_FLAGS)
  target_compile_options(verbena_options INTERFACE ${VERBENA_SANITIZE_FLAGS})
  target_link_options(verbena_options INTERFACE ${VERBENA_SANITIZE_FLAGS})
endif()

# The data path crosses libraries with every packet: what a user runs is optimised as a whole. The objects are ordinary ones as
# well, so that everything else (the tests) links them as they are: in half a second instead of up to half a minute. That has to
# be said, for g++ optimises whatever it links when it finds objects that can be.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT VERBENA_SANITIZE)
  set(VERBENA_WHOLE_PROGRAM_COMPILE -flto=auto -ffat-lto-objects)
  set(VERBENA_WHOLE_PROGRAM_LINK -flto=auto)
  set(VERBENA_AS_IT_IS_LINK -fno-lto)
endif()
# verbena_optimise_whole(TARGET): links the target so. For what a user runs, which is also what the tarball is made of.
function(verbena_optimise_whole target)
  target_compile_options(${target} PRIVATE ${VERBENA_WHOLE_PROGRAM_COMPILE})
  target_link_options(${target} PRIVATE ${VERBENA_WHOLE_PROGRAM_LINK})
  if(VERBENA_PORTABLE)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/packaging/tarball/older_libc.c)
    target_link_options(${target} PRIVATE -static-libstdc++ -shared-libgcc)
  endif()
endfunction()

# verbena_together(OUT NAME SOURCES ... [APART ...]): in OUT, units NAME_1.cc, NAME_2.cc, ... that include so many of the sources
# each: most of what compiling a short file costs is its headers. A file that stands APART, by its name, is compiled by itself,
# for it has properties of its own. That every file includes what it uses is seen by the stage tidy, which reads these by themselves
# (scripts/clang_tidy.py). The units name files as includes do, so that the compiler's cache knows them in every folder.
set(VERBENA_FILES_TOGETHER 10)
function(verbena_together out name)
  cmake_parse_arguments(ARG "" "" "SOURCES;APART" ${ARGN})
  set(units "")
  set(text "")
  set(files 0)
  set(number 1)
  foreach(source ${ARG_SOURCES})
    get_filename_component(file ${source} NAME)
    if(file IN_LIST ARG_APART)
      list(APPEND units ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(APPEND text "#include \"${source}\"\n")
    math(EXPR files "${files} + 1")
    if(files EQUAL VERBENA_FILES_TOGETHER)
      file(CONFIGURE OUTPUT ${name}_${number}.cc CONTENT "${text}" @ONLY)
      list(APPEND units ${CMAKE_CURRENT_BINARY_DIR}/${name}_${number}.cc)
      set(text "")
      set(files 0)
      math(EXPR number "${number} + 1")
    endif()
  endforeach()
  if(files GREATER 0)
    file(CONFIGURE OUTPUT ${name}_${number}.cc CONTENT "${text}" @ONLY)
    list(APPEND units ${CMAKE_CURRENT_BINARY_DIR}/${name}_${number}.cc)
  endif()
  # g++ takes what is included for a header, whose types must not be of a file's own.
  set_property(SOURCE ${units} APPEND PROPERTY COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# What runs a few times in a process: optimising it takes as long as all the rest of compiling it. A little in what is released and
# not with the rest of the program, under sanitizers not at all; the checks are the same.
if(VERBENA_SANITIZE AND NOT VERBENA_FUZZ)
  set(VERBENA_SELDOM_COMPILE -O0)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(VERBENA_SELDOM_COMPILE -O1 $<$<CXX_COMPILER_ID:GNU>:-fno-lto>)
endif()

# verbena_library(NAME SOURCES ... LINK ... [DATA_PATH] [APART ...] [SELDOM_RUNS ALL | FILE...]): a static library named NAME,
# reachable as verbena::NAME. Its files are compiled together, but those that stand APART.
# DATA_PATH: packets pass through it. Each file by itself, for who is in a unit with whom would decide what is inlined (8 to 20 %
# more instructions for a packet were seen), and so that it can be optimised with the rest of the program, for which it is compiled
# twice.
# SELDOM_RUNS: all of it, or files by their names, run a few times in a process.
function(verbena_library name)
  cmake_parse_arguments(ARG "DATA_PATH" "" "SOURCES;LINK;APART;SELDOM_RUNS" ${ARGN})
  set(seldom "")
  foreach(source ${ARG_SOURCES})
    get_filename_component(file ${source} NAME)
    if(ARG_SELDOM_RUNS STREQUAL "ALL" OR file IN_LIST ARG_SELDOM_RUNS)
      list(APPEND seldom ${source})
    endif()
  endforeach()
  list(REMOVE_ITEM ARG_SOURCES ${seldom})
  if(ARG_DATA_PATH)
    set(often_units ${ARG_SOURCES})
  else()
    verbena_together(often_units ${name} SOURCES ${ARG_SOURCES} APART ${ARG_APART})
  endif()
  verbena_together(seldom_units ${name}_seldom SOURCES ${seldom} APART ${ARG_APART})
  set_property(SOURCE ${seldom_units} APPEND PROPERTY COMPILE_OPTIONS ${VERBENA_SELDOM_COMPILE})  # behind the target's own
  add_library(verbena_${name} STATIC ${often_units} ${seldom_units})
  add_library(verbena::${name} ALIAS verbena_${name})
  target_link_libraries(verbena_${name} PUBLIC verbena_options ${ARG_LINK})
  if(ARG_DATA_PATH)
    target_compile_options(verbena_${name} PRIVATE ${VERBENA_WHOLE_PROGRAM_COMPILE})
  endif()
endfunction()
