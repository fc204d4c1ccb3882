# Third-party packages. MLIR comes statically: Debian's archives name the shared
# libLLVM as their dependency, which would put two LLVMs into one process. For
# every imported MLIR target the shared names are replaced by static components.
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

set(_llvm_core core support binaryformat demangle bitreader bitwriter asmparser irreader remarks targetparser)
set(_llvm_jit orcjit x86codegen x86asmparser passes ipo jitlink linker transformutils native perfjitevents frontendopenmp)
llvm_map_components_to_libnames(_core_libs ${_llvm_core})
llvm_map_components_to_libnames(_jit_libs ${_llvm_jit})

get_property(_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(_t IN LISTS _targets)
  if(NOT _t MATCHES "^MLIR")
    continue()
  endif()
  get_target_property(_libs ${_t} INTERFACE_LINK_LIBRARIES)
  if(NOT _libs)
    continue()
  endif()
  set(_extra "")
  if("LLVM" IN_LIST _libs OR _t STREQUAL "MLIRExecutionEngine")
    set(_extra ${_core_libs})
  endif()
  list(REMOVE_ITEM _libs LLVM)
  if(_t STREQUAL "MLIRExecutionEngine")
    list(REMOVE_ITEM _libs MLIR)
    list(APPEND _extra ${_jit_libs} MLIRLLVMDialect MLIRTargetLLVMIRExport MLIRExecutionEngineUtils MLIRIR)
  endif()
  set_target_properties(${_t} PROPERTIES INTERFACE_LINK_LIBRARIES "${_libs};${_extra}")
endforeach()
set(KERNELC_LLVM_CORE_LIBS ${_core_libs})
set(KERNELC_LLVM_JIT_LIBS ${_jit_libs})

# mlir_tablegen reads directory-level include paths only: the one exception to
# target includes.
include_directories(SYSTEM "${KERNELC_LLVM_ROOT}/include")
include_directories("${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
add_definitions(${LLVM_DEFINITIONS})

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
