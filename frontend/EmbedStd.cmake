# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes the texts of std/ as a C++ table: cmake -DIN=file;file -DOUT=.. -P EmbedStd.cmake
set(table "")
foreach(file ${IN})
  file(READ "${file}" text)
  cmake_path(GET file FILENAME name)
  string(APPEND table "    {\"std/${name}\", R\"kc(${text})kc\"},\n")
endforeach()
file(WRITE "${OUT}.tmp" "// Generated from frontend/std.\n#pragma once\nnamespace kernelc::frontend {\nstruct StandardFile {\n  const char *path, *text;\n};\ninline constexpr StandardFile kStandardFiles[] = {\n${table}};\n} // namespace kernelc::frontend\n")
file(COPY_FILE "${OUT}.tmp" "${OUT}" ONLY_IF_DIFFERENT)
