# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kernelc_library, kernelc_dialect, kernelc_tool, kernelc_unittest, and the
# layer table they enforce: a forbidden link edge is a configure error. The same
# table is read by cmake/check_layers.py, which refuses a forbidden #include.

# layer : the layers it may use (itself always)
set(KERNELC_LAYERS
  "support:"
  "ir:support"
  "frontend:support,ir"
  "reference:support,ir"
  "passes:support,ir"
  "codegen:support,ir"
  "runtime:support"
  "emulator:support"
  "driver:support,ir,frontend,reference,passes,codegen,runtime,emulator"
  "tools:support,ir,frontend,reference,passes,codegen,runtime,emulator,driver"
  "python:support,ir,frontend,reference,passes,codegen,runtime,emulator,driver"
  "test:support,ir,frontend,reference,passes,codegen,runtime,emulator,driver,tools")

# folder of a layer : the folders of that layer that it may include (itself always). What lies in the layer's own folder
# (passes/Passes.h) is for all of them. Folders that no row names are free.
set(KERNELC_FOLDERS
  "ir/te:"
  "ir/tile:te,cu"
  "ir/cu:"
  "passes/index:"
  "passes/analysis:index"
  "passes/tile:index"
  "passes/plan:index,analysis,tile"
  "passes/te:index,analysis,plan"
  "passes/products:index,analysis,plan,te"
  "passes/lowerings:index,analysis,plan,tile"
  "passes/cu:"
  "driver/compile:"
  "driver/roofline:compile"
  "driver/jit:compile,roofline"
  "driver/verify:compile,jit"
  "driver/measure:compile,roofline,jit"
  "driver/tune:compile,jit,verify,measure"
  "driver/capi:compile,jit,verify,measure,tune")

function(_kernelc_check_edges target layer)
  foreach(row IN LISTS KERNELC_LAYERS)
    if(row MATCHES "^${layer}:(.*)$")
      string(REPLACE "," ";" allowed "${CMAKE_MATCH_1}")
      list(APPEND allowed ${layer})
      foreach(dep IN LISTS ARGN)
        get_property(dep_layer GLOBAL PROPERTY KERNELC_LAYER_${dep})
        if(dep_layer AND NOT dep_layer IN_LIST allowed)
          message(FATAL_ERROR "${target} (layer ${layer}) may not link ${dep} (layer ${dep_layer}); see KERNELC_LAYERS")
        endif()
      endforeach()
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${target}: no layer named ${layer}")
endfunction()

function(_kernelc_layer_of out)
  file(RELATIVE_PATH rel "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX REPLACE "/.*" "" layer "${rel}")
  set(${out} ${layer} PARENT_SCOPE)
endfunction()

# kernelc_library(name SOURCES a.cpp ... [DEPS kernelc libs] [LINK other libs] [MLIR])
# MLIR: the sources include MLIR headers (shares a precompiled header, no RTTI trouble).
function(kernelc_library name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;DEPS;LINK" ${ARGN})
  _kernelc_layer_of(layer)
  _kernelc_check_edges(${name} ${layer} ${A_DEPS})
  add_library(${name} STATIC ${A_SOURCES})
  set_property(GLOBAL PROPERTY KERNELC_LAYER_${name} ${layer})
  target_link_libraries(${name} PUBLIC ${A_DEPS} ${A_LINK})
  if(A_MLIR)
    target_compile_options(${name} PRIVATE -fno-exceptions)
    if(layer STREQUAL "ir")
      _kernelc_use_pch(${name} Mlir)
    elseif(layer STREQUAL "reference")
      _kernelc_use_pch(${name} Llvm)
    else()
      _kernelc_use_pch(${name} Ir)
    endif()
  endif()
  foreach(dep IN LISTS A_DEPS)
    get_property(gen GLOBAL PROPERTY KERNELC_TABLEGEN_${dep})
    if(gen)
      add_dependencies(${name} ${gen})
    endif()
  endforeach()
endfunction()

# What the sources of a target would parse again and again, parsed once: MlirPch.h in the dialects, LlvmPch.h in the reference,
# IrPch.h in all else that includes MLIR, TestPch.h or IrTestPch.h in unit tests.
function(_kernelc_use_pch name header)
  if(NOT KERNELC_PCH)
    return()
  endif()
  _kernelc_pch(Kernelc${header}Pch ${header})
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE") # -fPIE would not match the header's -fPIC
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
  if(header STREQUAL "Test") # libstdc++ silences itself by pragmas, which the precompiled header loses
    target_compile_options(${name} PRIVATE -Wno-deprecated-declarations)
  endif()
  target_precompile_headers(${name} REUSE_FROM Kernelc${header}Pch)
endfunction()

function(_kernelc_pch name header)
  if(TARGET ${name})
    return()
  endif()
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/cmake/${name}.cpp" CONTENT "// anchors the precompiled header ${header}Pch.h\n")
  add_library(${name} STATIC "${PROJECT_BINARY_DIR}/cmake/${name}.cpp")
  target_precompile_headers(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/${header}Pch.h")
  if(header MATCHES "Mlir|Ir|Llvm")
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
  if(header MATCHES "Test")
    target_link_libraries(${name} PRIVATE GTest::gmock)
  endif()
  if(header MATCHES "Ir|Llvm")
    add_dependencies(${name} TeTableGen TileTableGen CuTableGen)
  endif()
endfunction()

# kernelc_dialect(Te): tablegen for TeDialect.td, TeOps.td (+ attributes, enums).
function(kernelc_dialect name)
  string(TOLOWER ${name} prefix)
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs)
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${prefix})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${prefix})
  mlir_tablegen(${name}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs)
  mlir_tablegen(${name}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${prefix})
  mlir_tablegen(${name}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${prefix})
  mlir_tablegen(${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${prefix})
  mlir_tablegen(${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${prefix})
  mlir_tablegen(${name}Ops.md -gen-dialect-doc -dialect=${prefix})
  add_public_tablegen_target(${name}TableGen)
  set_property(GLOBAL PROPERTY KERNELC_TABLEGEN_Kernelc${name} ${name}TableGen)
endfunction()

function(kernelc_tool name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;DEPS;LINK" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS} ${A_LINK})
  if(A_MLIR)
    target_compile_options(${name} PRIVATE -fno-exceptions)
    _kernelc_use_pch(${name} Ir)
  endif()
endfunction()

# kernelc_unittest(name SOURCES ... DEPS ... [LABELS host|nvrtc|emulator|gpu] [MLIR])
function(kernelc_unittest name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;DEPS;LINK;LABELS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS} ${A_LINK} GTest::gmock GTest::gtest_main)
  if(A_MLIR)
    target_compile_options(${name} PRIVATE -fno-exceptions)
    _kernelc_use_pch(${name} IrTest)
  else()
    _kernelc_use_pch(${name} Test)
  endif()
  if(NOT A_LABELS)
    set(A_LABELS host)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES PROPERTIES LABELS "${A_LABELS}")
endfunction()
