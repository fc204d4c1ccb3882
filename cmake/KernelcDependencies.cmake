# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Third-party packages; MLIR statically (see KernelcStaticMlir.cmake).
set(MLIR_DIR "${KERNELC_LLVM_ROOT}/lib/cmake/mlir" CACHE PATH "")
set(LLVM_DIR "${KERNELC_LLVM_ROOT}/lib/cmake/llvm" CACHE PATH "")
find_package(MLIR REQUIRED CONFIG)
find_package(absl REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
set(LLVM_EXTERNAL_LIT "${KERNELC_LLVM_ROOT}/bin/lit")

include(KernelcStaticMlir)
kernelc_use_static_mlir(KERNELC_LLVM_CORE_LIBS KERNELC_LLVM_JIT_LIBS)

# mlir_tablegen reads directory-level include paths only: the one exception to
# target includes.
include_directories(SYSTEM "${KERNELC_LLVM_ROOT}/include")
include_directories("${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
add_definitions(${LLVM_DEFINITIONS})

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
