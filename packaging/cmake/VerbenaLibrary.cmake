# The library that programs embed, as the target Verbena::verbena. VerbenaConfig.cmake includes this file where it is installed, and says
# in _verbena_prefix below which folder.
if(NOT TARGET Verbena::verbena)
  foreach(_verbena_folder lib "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
    if(EXISTS "${_verbena_prefix}/${_verbena_folder}/libverbena.so" AND NOT TARGET Verbena::verbena)
      add_library(Verbena::verbena SHARED IMPORTED)
      set_target_properties(Verbena::verbena PROPERTIES
        IMPORTED_LOCATION "${_verbena_prefix}/${_verbena_folder}/libverbena.so"
        INTERFACE_INCLUDE_DIRECTORIES "${_verbena_prefix}/include"
        INTERFACE_COMPILE_FEATURES cxx_std_20)
    endif()
  endforeach()
  unset(_verbena_folder)
endif()
