# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the build, builds examples/embed against what was installed, and runs it.
# cmake -DBUILD=.. -DSOURCE=.. -DWORK=.. -DCC=.. -DCXX=.. -P Embed.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(result)
    list(JOIN ARGN " " text)
    message(FATAL_ERROR "failed (${result}): ${text}")
  endif()
endfunction()
file(REMOVE_RECURSE "${WORK}")
foreach(component runtime jit)
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix" --component ${component})
endforeach()
run("${CMAKE_COMMAND}" -S "${SOURCE}/examples/embed" -B "${WORK}/build" -G Ninja "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
  "-DCMAKE_C_COMPILER=${CC}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -Wl,--as-needed")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/embed")
run("${BUILD}/tools/kernelc" compile "${SOURCE}/examples/softmax.kc" -o "${WORK}/softmax.json")
run("${WORK}/build/embed-runtime" "${WORK}/softmax.json")
# The half that launches links no LLVM.
execute_process(COMMAND nm -C "${WORK}/build/embed-runtime" OUTPUT_VARIABLE symbols ERROR_QUIET)
if(symbols MATCHES "mlir::|llvm::")
  message(FATAL_ERROR "kernelc::runtime drags LLVM in")
endif()
file(REMOVE_RECURSE "${WORK}")
