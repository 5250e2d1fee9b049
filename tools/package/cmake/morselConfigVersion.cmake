# SPDX-License-Identifier: MIT
# The version is the header's. Until 1.0 another second number is another interface; who asks for a range says which of them will do.
foreach(up ../.. ../../.. ../../../..) # share/morsel, lib/cmake/morsel, lib/MACHINE/cmake/morsel
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/${up}/include/morsel.h)
    file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/${up}/include/morsel.h PACKAGE_VERSION REGEX "define MORSEL_VERSION \"")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" PACKAGE_VERSION "${PACKAGE_VERSION}")
    break() # the nearest, as the package file has it: a folder further up may hold that of another
  endif()
endforeach()
string(REGEX MATCH "^[0-9]+\\.[0-9]+" morsel_interface "${PACKAGE_VERSION}")
set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(PACKAGE_FIND_VERSION_RANGE)
  if(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION_MIN AND (PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION_MAX OR
      (PACKAGE_FIND_VERSION_RANGE_MAX STREQUAL "INCLUDE" AND PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION_MAX)))
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
elseif(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION AND (PACKAGE_FIND_VERSION_COUNT LESS 2 OR
    "${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR}" STREQUAL morsel_interface))
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
