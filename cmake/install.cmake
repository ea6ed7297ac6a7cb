# What is installed, and where: the one list, for `make install`, the Debian packages and the tarball.
# Component verbena, all that the tarball has:
#   bin/verbena
#   lib/verbena/              the libraries that it puts before a program, where no linker looks: they must not become everybody's libibverbs
#   share/verbena/scenarios/  those that need nothing of a source tree, and the profiles and personalities of NICs
#   lib/cmake/Verbena/        for find_package(Verbena)
#   share/doc/verbena/, share/man/ and what each shell completes by
# Component libverbena: lib/libverbena.so.0, which programs that embed Verbena are linked with.
# Component dev: include/verbena/, lib/libverbena.so, lib/pkgconfig/, lib/cmake/Verbena/VerbenaLibrary.cmake, share/doc/verbena/examples/
# Component python: lib/python3/dist-packages/, where Debian's Python looks if the prefix is /usr
# The command finds the rest from where it lies (emulator/host/config/own_files.h), so these places stand to one another as they do
# here, whatever the prefix; so does what is for programs that use Verbena rather than run on it.
set(VERBENA_PRIVATE_LIBRARIES lib/verbena)
install(TARGETS verbena RUNTIME DESTINATION bin COMPONENT verbena)
if(TARGET verbena_ibverbs)
  install(TARGETS verbena_ibverbs verbena_ibverbs_stub LIBRARY DESTINATION ${VERBENA_PRIVATE_LIBRARIES} COMPONENT verbena)
endif()
install(TARGETS verbena-path LIBRARY DESTINATION ${VERBENA_PRIVATE_LIBRARIES} COMPONENT verbena)

set(library ${PROJECT_SOURCE_DIR}/scenarios)
file(GLOB scenarios CONFIGURE_DEPENDS ${library}/*.yaml)
install(FILES ${scenarios} ${CMAKE_BINARY_DIR}/pages/scenarios/README.md DESTINATION share/verbena/scenarios COMPONENT verbena)
file(GLOB papers CONFIGURE_DEPENDS ${library}/papers/*.yaml)
install(FILES ${papers} DESTINATION share/verbena/scenarios/papers COMPONENT verbena)
install(DIRECTORY ${library}/personalities ${library}/profiles DESTINATION share/verbena/scenarios COMPONENT verbena FILES_MATCHING PATTERN *.yaml)

# Pages as they are read where Verbena is installed: the command is in PATH, not in a build folder.
set(pages_from ${PROJECT_SOURCE_DIR})
set(pages_into ${CMAKE_BINARY_DIR}/pages)
file(GLOB_RECURSE page_files CONFIGURE_DEPENDS RELATIVE ${pages_from} ${pages_from}/docs/*.md)
list(APPEND page_files README.md scenarios/README.md)
list(TRANSFORM page_files PREPEND ${pages_from}/ OUTPUT_VARIABLE page_paths)
add_custom_command(OUTPUT ${pages_into}/stamp DEPENDS ${page_paths} ${CMAKE_CURRENT_LIST_DIR}/installed_pages.cmake
  COMMAND ${CMAKE_COMMAND} "-DPAGES=${page_files}" -DFROM=${pages_from} -DINTO=${pages_into} -P ${CMAKE_CURRENT_LIST_DIR}/installed_pages.cmake
  VERBATIM)
add_custom_target(installed_pages ALL DEPENDS ${pages_into}/stamp)
add_dependencies(product installed_pages)
install(DIRECTORY ${pages_into}/docs DESTINATION share/doc/verbena COMPONENT verbena FILES_MATCHING PATTERN *.md)
install(FILES ${PROJECT_SOURCE_DIR}/docs/scenario.schema.json DESTINATION share/doc/verbena/docs COMPONENT verbena)
install(FILES ${pages_into}/README.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/verbena COMPONENT verbena)

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/VerbenaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/cmake/VerbenaConfig.cmake ${CMAKE_BINARY_DIR}/VerbenaConfigVersion.cmake
  DESTINATION lib/cmake/Verbena COMPONENT verbena)

if(TARGET libverbena)
  install(TARGETS libverbena LIBRARY DESTINATION lib COMPONENT libverbena NAMELINK_COMPONENT dev)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/libverbena/include/verbena DESTINATION include COMPONENT dev)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION share/doc/verbena COMPONENT dev)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/cmake/VerbenaLibrary.cmake DESTINATION lib/cmake/Verbena COMPONENT dev)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/libverbena.pc.in ${CMAKE_BINARY_DIR}/libverbena.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/libverbena.pc DESTINATION lib/pkgconfig COMPONENT dev)

  # With its metadata, by which pytest finds the plugin.
  set(python_packages lib/python3/dist-packages)
  set(python_metadata ${CMAKE_BINARY_DIR}/verbena-${PROJECT_VERSION}.dist-info)
  set(pyproject ${PROJECT_SOURCE_DIR}/python/pyproject.toml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pyproject})
  find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/packaging/dist_info.py ${pyproject} ${python_metadata}
    COMMAND_ERROR_IS_FATAL ANY)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/verbena DESTINATION ${python_packages} COMPONENT python
    PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY ${python_metadata} DESTINATION ${python_packages} COMPONENT python)
endif()

# In the build folder the same command has the same files below it.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/verbena)
file(CREATE_LINK ${library} ${CMAKE_BINARY_DIR}/share/verbena/scenarios SYMBOLIC)

# The command prints its man pages and completions itself: written when it is built, unless this machine cannot run it.
if(VERBENA_SANITIZE OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  return()
endif()
set(written ${CMAKE_BINARY_DIR}/written)
add_custom_command(OUTPUT ${written}/stamp DEPENDS verbena ${CMAKE_CURRENT_LIST_DIR}/write_pages.cmake
  COMMAND ${CMAKE_COMMAND} -DVERBENA=$<TARGET_FILE:verbena> -DINTO=${written} -P ${CMAKE_CURRENT_LIST_DIR}/write_pages.cmake)
add_custom_target(written_pages ALL DEPENDS ${written}/stamp)
add_dependencies(product written_pages)
install(DIRECTORY ${written}/share/ DESTINATION share COMPONENT verbena)
