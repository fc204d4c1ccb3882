# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# MLIR comes statically: Debian's archives name the shared libLLVM as their
# dependency, which would put two LLVMs into one process. For every imported MLIR
# target the shared names are replaced by static components. Used by the build and
# by the installed package; call after find_package(MLIR).
function(kernelc_use_static_mlir core_out jit_out)
  llvm_map_components_to_libnames(_core_libs core support binaryformat demangle bitreader bitwriter asmparser irreader
    remarks targetparser)
  llvm_map_components_to_libnames(_jit_libs orcjit x86codegen x86asmparser passes ipo jitlink linker transformutils native
    perfjitevents frontendopenmp)
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
  set(${core_out} ${_core_libs} PARENT_SCOPE)
  set(${jit_out} ${_jit_libs} PARENT_SCOPE)
endfunction()
