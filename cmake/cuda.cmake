# SPDX-License-Identifier: Apache-2.0
# Resolves GIND_CUDA (AUTO, ON, OFF) to GIND_CUDA_FOUND.  Nothing outside kernels/ and examples/
# needs the CUDA Toolkit.
set(GIND_CUDA_FOUND OFF)
if(NOT GIND_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "GIND_CUDA=${GIND_CUDA}: expected AUTO, ON or OFF")
endif()
if(NOT GIND_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "CUDA architectures to build for (75 and newer)")
    endif()
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 knows nvcc's dialects up to 17 only
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(GIND_CUDA_FOUND ON)
    message(STATUS "CUDA parts: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures "
                   "${CMAKE_CUDA_ARCHITECTURES}")
  elseif(GIND_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GIND_CUDA=ON, but no CUDA compiler was found: put nvcc on the PATH, set "
                        "CUDACXX, or configure with -DGIND_CUDA=AUTO or OFF")
  else()
    message(STATUS "CUDA parts: left out, no nvcc was found (all of the CPU side is built)")
  endif()
else()
  message(STATUS "CUDA parts: left out (GIND_CUDA=OFF)")
endif()
