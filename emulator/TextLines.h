// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Emitted CUDA as lines, each of which begins a statement: where statements and blocks end, what is declared and what is assigned.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace kernelc::emulator {

/// The lines of a text. Statements that the printer has broken are brought into one line, and those that they had beside it are empty.
std::vector<std::string> splitStatements(absl::string_view text);

/// The end of the statement that begins at `at`: past its semicolon.
size_t statementEnd(absl::string_view line, size_t at);

/// The line that closes the block that line `open` opens; of a lambda, with a semicolon.
size_t blockEnd(const std::vector<std::string> &lines, size_t open);

/// The line that opens the block that line `at` stands in.
size_t openerOf(const std::vector<std::string> &lines, size_t at);

/// How far a line stands in, which is how deep its block is; nothing for lines of the preprocessor.
std::optional<size_t> depthOf(const std::string &line);

/// Whether one of the lines that declare what line `before` of a kernel can see does what `holds` asks. Names are used again
/// in blocks that do not see each other.
bool anyVisible(const std::vector<std::string> &lines, size_t before, absl::FunctionRef<bool(const std::string &)> holds);

/// The line that begins the lambda `const auto NAME = [&](..) {`, or `[=]`, that line `at`, `NAME(..);`, calls; nothing for other lines.
std::optional<size_t> findLambda(const std::vector<std::string> &lines, size_t at);

/// Whether `name` stands in `text` as a word.
bool mentions(absl::string_view text, const std::string &name);

/// Where ` = ` or ` += ` of an assignment begins; npos in other lines. (` <= ` and the like compare.)
size_t findAssignment(absl::string_view line);

/// The array or variable that an assignment such as `*(uint4 *)&a[i] = ..`, `*(uint4 *)a = ..` or `a[i] += ..` writes;
/// empty for what is no assignment, or declares its target.
absl::string_view assignedName(absl::string_view line);

/// Where a statement of `line` that sets a register ends, and what it sets.
std::pair<size_t, std::string> targetOf(const std::string &line);

/// Whether `name` is an array in shared memory, declared before line `before`.
bool isShared(const std::vector<std::string> &lines, size_t before, absl::string_view name);

/// Whether `name` is a variable or an array of the thread, declared without a value in lines (from, to).
bool isOwn(const std::vector<std::string> &lines, size_t from, size_t to, absl::string_view name);

/// Whether `name` is a variable or an array of the thread, declared in lines [0, before) of its kernel.
bool isRegister(const std::vector<std::string> &lines, size_t before, absl::string_view name);

/// The array of floats that a line declares and leaves as its registers are; empty for other lines.
absl::string_view declaredFloats(absl::string_view line);

} // namespace kernelc::emulator
