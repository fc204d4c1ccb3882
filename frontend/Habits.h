// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What people write who come from C, Python, NumPy or Halide, and what it is called
// here: tables for messages. Nothing here decides what is an error.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace kernelc::frontend {

/// What to write for a function of another language ("matmul"), as the end of a sentence; empty for none that is known.
llvm::StringRef hintForFunction(llvm::StringRef name);
/// The same for a statement that begins with `word` ("return", "for", "if").
llvm::StringRef hintForStatement(llvm::StringRef word);
/// What to write for a name of another language ("None"), as the end of a sentence; empty for none that is known.
llvm::StringRef hintForName(llvm::StringRef name);
/// The keyword of a definition that another language begins with `word` ("func"): "fn" or "def"; empty for none.
llvm::StringRef definitionMeant(llvm::StringRef word);
/// The spelling here of the character or operator at the front of `text` ("&&", "?", "≤"), as the end of a sentence; `length`
/// becomes its bytes. Empty for one that no other language has.
llvm::StringRef hintForOperator(llvm::StringRef text, size_t &length);
/// The character at the front of `text`, which is not ASCII, for a sentence: "'ᵢ' (U+1D62)".
std::string describeCharacter(llvm::StringRef text);
/// Whether it is one of the blanks that word processors write.
bool isForeignBlank(llvm::StringRef text);
/// The element type that another language calls `name` ("float"); empty for none.
llvm::StringRef elementTypeMeant(llvm::StringRef name);
/// Why there is no element type of that name, which others have ("fp4"), as the end of a sentence; empty for others.
llvm::StringRef hintForType(llvm::StringRef name);
/// What to write for a word that belongs into the body of a kernel and stands outside of one ("require"); empty for others.
llvm::StringRef hintOutsideBody(llvm::StringRef word);
/// Whether another language calls tensors so ("Tensor", "pointer").
bool isTensorWord(llvm::StringRef word);
/// Whether another language marks what a function writes so ("out").
bool isOutputWord(llvm::StringRef word);
/// The reduction here that another language calls `name` ("maximum"); empty for none.
llvm::StringRef reductionMeant(llvm::StringRef name);
/// Whether it is a module of another language, or a name that people give it ("np").
bool isModule(llvm::StringRef name);

} // namespace kernelc::frontend
