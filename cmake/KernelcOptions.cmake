# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Language level, warnings, and where tools are found.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
option(KERNELC_LINE_TABLES "Lines in the backtraces of RelWithDebInfo builds" ON)
# Debian's RelWithDebInfo adds -DNDEBUG; the dev build wants live asserts.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1")
if(KERNELC_LINE_TABLES)
  string(APPEND CMAKE_CXX_FLAGS_RELWITHDEBINFO " -gline-tables-only")
endif()

set(KERNELC_LLVM_ROOT "/usr/lib/llvm-22" CACHE PATH "Root of the LLVM/MLIR 22 installation")
option(KERNELC_PCH "Share precompiled MLIR headers between libraries" ON)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

add_link_options(-fuse-ld=lld -Wl,--as-needed)
# MLIR's headers are not warning free under -Wall; they come in as SYSTEM.
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
