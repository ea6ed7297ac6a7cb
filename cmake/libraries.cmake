# What others have made and Verbena stands on, as targets and variables that do not say where it comes from.
#   VERBENA_YAML, VERBENA_ISAL, VERBENA_PCAP   libraries; without VERBENA_ISAL the CRC is our own alone
#   VERBENA_COMPRESSION                        libraries that read gzip, xz and zstd
#   VERBENA_HEADERS                            with VERBENA_PORTABLE: a folder with headers of this machine that suit any other
find_package(Threads REQUIRED)
if(VERBENA_PORTABLE)
  # What is nothing but headers is taken from this machine, what is compiled from where the compiler looks, as an archive.
  foreach(target fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11)
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} INTERFACE ${VERBENA_HEADERS})
  endforeach()
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
  find_library(VERBENA_YAML NAMES libyaml-cpp.a REQUIRED)
  find_library(VERBENA_ZLIB NAMES libz.a REQUIRED)
  find_library(VERBENA_LZMA NAMES liblzma.a REQUIRED)
  find_library(VERBENA_ZSTD NAMES libzstd.a REQUIRED)
  set(VERBENA_COMPRESSION ${VERBENA_ZLIB} ${VERBENA_LZMA} ${VERBENA_ZSTD})
  set(VERBENA_ISAL "")  # Debian has no archive of it
  return()
endif()
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_library(VERBENA_YAML yaml-cpp REQUIRED)
find_library(VERBENA_ISAL isal REQUIRED)
find_library(VERBENA_ZLIB z REQUIRED)
find_library(VERBENA_LZMA lzma REQUIRED)
find_library(VERBENA_ZSTD zstd REQUIRED)
set(VERBENA_COMPRESSION ${VERBENA_ZLIB} ${VERBENA_LZMA} ${VERBENA_ZSTD})
if(VERBENA_TESTS)
  find_package(Boost REQUIRED COMPONENTS unit_test_framework)
  find_library(VERBENA_PCAP pcap REQUIRED)
endif()
