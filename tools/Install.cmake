# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What `cmake --install` lays down: the tool, libkernelc.so with its header and Python
# package, and the C++ libraries as two targets of find_package(kernelc):
# kernelc::runtime (no MLIR) and kernelc::jit.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kernelc")
set(header_dir "${CMAKE_INSTALL_INCLUDEDIR}/kernelc")

set(runtime_libraries KernelcSupport KernelcRuntime)
set(jit_libraries KernelcMark KernelcTe KernelcTile KernelcCu KernelcFrontend KernelcPasses KernelcCodegen KernelcReference KernelcTileInterpreter KernelcEmulator
  KernelcRegistration KernelcCompiler KernelcSession)
foreach(library IN LISTS runtime_libraries jit_libraries)
  target_include_directories(${library} INTERFACE "$<INSTALL_INTERFACE:${header_dir}>")
  target_compile_features(${library} INTERFACE cxx_std_20)
endforeach()
set_target_properties(KernelcRuntime PROPERTIES EXPORT_NAME runtime)
set_target_properties(KernelcSession PROPERTIES EXPORT_NAME jit)

install(TARGETS ${runtime_libraries} EXPORT kernelcRuntime COMPONENT runtime)
install(TARGETS ${jit_libraries} EXPORT kernelcJit COMPONENT jit)
install(EXPORT kernelcRuntime NAMESPACE kernelc:: DESTINATION "${package_dir}" COMPONENT runtime)
install(EXPORT kernelcJit NAMESPACE kernelc:: DESTINATION "${package_dir}" COMPONENT jit)

install(DIRECTORY "${CMAKE_SOURCE_DIR}/support" "${CMAKE_SOURCE_DIR}/runtime" DESTINATION "${header_dir}" COMPONENT runtime
  FILES_MATCHING PATTERN "*.h")
set(jit_headers compile/ProgramOptions.h jit/Arguments.h jit/CompilePolicy.h jit/HostTensor.h jit/Place.h jit/Session.h)
foreach(header IN LISTS jit_headers)
  cmake_path(GET header PARENT_PATH room)
  install(FILES "${CMAKE_SOURCE_DIR}/driver/${header}" DESTINATION "${header_dir}/driver/${room}" COMPONENT jit)
endforeach()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/kernelc-config.cmake.in" "${CMAKE_BINARY_DIR}/kernelc-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/kernelc-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/kernelc-config.cmake" "${CMAKE_BINARY_DIR}/kernelc-config-version.cmake"
    "${CMAKE_SOURCE_DIR}/cmake/KernelcStaticMlir.cmake"
  DESTINATION "${package_dir}" COMPONENT runtime)

install(TARGETS kernelc COMPONENT tool)
install(TARGETS kernelc-nvrtc-worker COMPONENT runtime) # into bin/, where programs and libraries look for it
install(CODE "file(CREATE_LINK kernelc \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/kernelc-opt\" SYMBOLIC)" COMPONENT tool)
install(TARGETS libkernelc COMPONENT capi)
install(FILES "${CMAKE_SOURCE_DIR}/driver/capi/kernelc.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT capi)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/python/kernelc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/python3/dist-packages" COMPONENT capi
  FILES_MATCHING PATTERN "*.py")
