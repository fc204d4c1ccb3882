# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes the prelude's text as a C++ header: cmake -DIN=.. -DOUT=.. -P EmbedPrelude.cmake
file(READ "${IN}" text)
file(WRITE "${OUT}.tmp" "// Generated from frontend/Prelude.kc.\n#pragma once\nnamespace kernelc::frontend {\ninline constexpr char kPrelude[] = R\"kc(${text})kc\";\n} // namespace kernelc::frontend\n")
file(COPY_FILE "${OUT}.tmp" "${OUT}" ONLY_IF_DIFFERENT)
