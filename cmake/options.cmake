# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)

set(GIND_CUDA "AUTO" CACHE STRING "Build the CUDA parts: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE GIND_CUDA PROPERTY STRINGS AUTO ON OFF)
option(GIND_OFI "Build the libfabric transport" ON)
option(GIND_TESTS "Build the tests" ON)
option(GIND_BENCHMARKS "Build the benchmarks in bench/" OFF)
option(GIND_WERROR "Treat warnings as errors" OFF)
set(GIND_SANITIZE "" CACHE STRING "Sanitizers: empty, address (with undefined), or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Where scripts and people look for what was built, whatever folder it comes from.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# A build tree runs wherever it is copied to: its programs find its library by where they are.  One
# RPATH for build and install: one that is replaced later gets an empty element at its end, and that
# means the current directory.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
if(NOT CMAKE_INSTALL_LIBDIR STREQUAL "lib")
  list(APPEND CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()
# RPATH, not RUNPATH: libraries that are carried along look for each other there, too.
add_link_options(-Wl,--disable-new-dtags)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(GIND_CCACHE ccache)
if(GIND_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GIND_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${GIND_CCACHE})
endif()

# Linked by every target of the tree.
add_library(gind_build_flags INTERFACE)
target_compile_options(gind_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX,C>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers>
  $<$<AND:$<BOOL:${GIND_WERROR}>,$<COMPILE_LANGUAGE:CXX,C>>:-Werror>)
# gcc's flow warnings see what the sanitizers add, and are often wrong then (its manual says so).
if(GIND_SANITIZE)
  target_compile_options(gind_build_flags INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
endif()
if(GIND_SANITIZE STREQUAL "address")
  target_compile_options(gind_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX,C>:-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined>)
  target_link_options(gind_build_flags INTERFACE -fsanitize=address,undefined)
elseif(GIND_SANITIZE STREQUAL "thread")
  target_compile_options(gind_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX,C>:-fsanitize=thread>)
  target_link_options(gind_build_flags INTERFACE -fsanitize=thread)
elseif(GIND_SANITIZE)
  message(FATAL_ERROR "GIND_SANITIZE=${GIND_SANITIZE}: expected empty, address or thread")
endif()
