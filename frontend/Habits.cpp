// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/Habits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

using llvm::StringRef;

namespace kernelc::frontend {

namespace {
/// What other languages call something, names apart by blanks, and how it is said here.
struct Habit {
  llvm::StringLiteral names, hint;
};

constexpr Habit kFunctions[] = {
    {"matmul mm bmm einsum tensordot linear", "a product of matrices is a sum of products, as in 'y[i, j] = sum[k](a[i, k] * b[k, j])'"},
    {"dot inner vdot", "a product of vectors is a sum of products, as in 'y[] = sum[k](a[k] * b[k])'"},
    {"outer", "an outer product is 'y[i, j] = a[i] * b[j]'"},
    {"program_id num_programs thread_id get_global_id thread_binding",
     "a text has no blocks and threads, which kernelc chooses: 'y[i] = ..' defines y for every i"},
    {"load store", "tensors are read and written by subscripts, as in 'y[i] = x[i]'"},
    {"compute placeholder vectorize vmap", "'y[i] = ..' defines y for every i"},
    {"reduce_axis", "a reduction names its index, as in 'sum[k in 0:n](..)'"},
    {"atomic_add atomicAdd scatter_add index_add", "points that meet in an element are added up by 'y[at[n]] += x[n]'"},
    {"gather take index_select", "a gather is a subscript, as in 'y[n] = x[at[n]]'"},
    {"one_hot onehot eye", "compare indices, as in '1.0 if i == j else 0.0'"},
    {"tril triu", "compare indices, as in 'x[i, j] if j <= i else 0'"},
    {"flip roll", "compute the subscript, as in 'x[N - 1 - i]' or 'x.wrap[i - 1]'"},
    {"select mux ifelse masked_fill", "write 'a if c else b'"},
    {"clip", "write 'clamp(x, lo, hi)'"},
    {"median quantile percentile mode kthvalue",
     "there are no sorts, so of what is in order only 'min', 'max' and, of 'std/reducers.kc', 'top8'"},
    {"count count_nonzero", "write 'sum[k](1 if c else 0)'"},
    {"sign sgn signum", "write '1.0 if x > 0 else -1.0 if x < 0 else 0.0'"},
    {"lerp", "write 'a + t * (b - a)'"},
    {"fft rfft ifft dft", "a Fourier transform is written as sums of products with 'cos' and 'sin'"},
    {"diff gradient", "write 'x[i + 1] - x[i]'"},
    {"trace", "write 'sum[i](x[i, i])'"},
    {"diag diagonal", "write 'y[i] = x[i, i]'"},
    {"bincount histogram hist", "points are counted by 'h[x[n]] += 1'"},
    {"searchsorted digitize bucketize", "count what lies below, as in 'sum[k](1 if border[k] < x[i] else 0)'"},
    {"nansum nanmean nanmax nanmin", "leave NaN out by a condition, as in 'sum[k, not isnan(x[k])](x[k])'"},
    {"randn normal uniform random", "'rand(seed, i)' is a number of [0, 1) for each i"},
    {"batch_norm batchnorm instance_norm group_norm", "'layernorm[..](e)' is over the indices in its bracket"},
    {"conv1d conv3d conv convolve", "a convolution is a sum of products, as in 'sum[r](x.pad(0)[i + r - R // 2] * f[r])'"},
    {"logical_and logical_or logical_not", "write 'and', 'or' and 'not'"},
    {"mod remainder", "write 'a % b'"},
    {"topk top_k", "'import \"std/reducers.kc\"' has 'top4' and 'top8'"},
    {"sort argsort", "there are no sorts; 'argmax[k](..)' gives the place of the largest, 'std/reducers.kc' has 'top8'"},
    {"map apply", "a function is called at each element, as in 'y[i] = relu(x[i])'"},
    {"broadcast broadcast_to expand expand_dims squeeze unsqueeze",
     "what is the same along an index does not name it, as in 'y[i, j] = x[j]'"},
    {"transpose permute", "name the indices in the other order, as in 'y[i, j] = x[j, i]'"},
    {"reshape flatten", "compute the subscripts, as in 'y[i] = x[i // N, i % N]'"},
    {"concat concatenate cat stack", "write a statement for each part, as in 'y[i + M] = b[i]'"},
    {"len shape dim numel", "the sizes of a tensor have the names that its shape gives them"},
    {"range arange", "a range is written 'a:b', as in 'sum[k in 0:n](..)'; an index is its own value"},
    {"pad edge wrap reflect",
     "what is read outside is said behind a tensor's name, as in 'x.pad(0)[i - 1]', 'x.edge[i - 1]' or 'x.wrap[i - 1]'"},
    {"maximum fmax fmaxf", "write 'max(a, b)'"},
    {"minimum fmin fminf", "write 'min(a, b)'"},
    {"rearrange repeat", "dims are read in another order or split by 'view(x, \"s (h d) -> h s d\", h=4)[h, s, d]'"},
    {"cumsum cumprod scan", "a scan is a reduction up to an index, as in 'sum[k, k <= i](x[k])'"},
    {"astype to type cast", "a type's name is a cast, as in 'bf16(..)'"},
    {"bitcast view_as", "there is no cast that keeps the bits"},
    {"std stddev", "write 'sqrt(var[k](..))'"},
    {"average avg", "write 'mean[k](..)'"},
    {"add reduce_sum", "write 'sum[k](..)'"},
    {"product", "write 'prod[k](..)'"},
    {"power powf", "write 'a ** b' or 'pow(a, b)'"},
    {"square sqr", "write 'a ** 2'"},
    {"expf __expf", "write 'exp(..)'"},
    {"logf ln", "write 'log(..)'"},
    {"sqrtf", "write 'sqrt(..)'"},
    {"arctan", "write 'atan(..)'"},
    {"zeros zeros_like ones ones_like full empty", "a tensor that is one number everywhere is that number: write '0' where it is read"},
    {"static_assert ensure check", "what must hold of the sizes is required, as in 'require N % 4 == 0'"},
    {"print printf", "a kernel prints nothing; 'kernelc run -o NAME=FILE.npy' writes an output"},
};
} // namespace

StringRef hintForFunction(StringRef name) {
  for (const Habit &habit : kFunctions)
    if (llvm::is_contained(llvm::split(habit.names, ' '), name))
      return habit.hint;
  return "";
}

StringRef hintForStatement(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Cases({"for", "while", "do", "loop", "parallel"},
             "there are no loops: 'y[i] = ..' defines y for every i, and 'sum[k](..)' runs over k")
      .Cases({"if", "elif", "else", "switch"},
             "a choice is part of an expression, 'a if c else b', or restricts a statement, 'y[i] = .. where i < n'")
      .Cases({"var", "auto", "const", "int", "float", "double", "size_t", "bool"},
             "an intermediate tensor is defined by 'let', as in 'let t[i] = ..'")
      .Cases({"__shared__", "shared", "register"},
             "where a tensor is kept is kernelc's choice; an intermediate one is defined by 'let', as in 'let t[i] = ..'")
      .Cases({"match", "case", "when", "select"}, "a choice is part of an expression, as in 'a if c else b if d else e'")
      .Cases({"yield", "emit"}, "an output is assigned, as in 'y[i] = ..'")
      .Case("where", "a condition stands behind its statement, as in 'y[i] = .. where i < n'")
      .Case("assume", "what must hold of the sizes stands in 'require'")
      .Cases({"RDom", "Var", "Func", "Expr", "reduce_axis", "index", "axis"},
             "an index needs no declaration: 'y[i] = ..' defines y for every i, and 'sum[r in 0:n](..)' runs over r")
      .Case("schedule", "a schedule stands behind its kernel, as in 'schedule linear { launch y { stages: 4 } }'")
      .Cases({"def", "fn", "func", "function"}, "definitions do not nest; close the body before with '}'")
      .Default("");
}

StringRef hintForType(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .CasesLower({"f4", "fp4", "f4e2m1", "float4_e2m1", "e2m1", "nf4", "mxfp4", "nvfp4"},
                  "of 4 bits there are i4 and u4, by which a table of 16 values is read, as in 'table[x[i]]' of a u4")
      .CasesLower({"f6", "fp6", "f6e2m3", "f6e3m2"}, "of floats there are f64, f32, f16, bf16, f8e4m3 and f8e5m2")
      .CasesLower({"str", "string", "char", "object"}, "tensors hold numbers; the bytes of a text are u8")
      .Default("");
}

StringRef hintOutsideBody(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Cases({"require", "assert", "precision", "tolerance"}, "it stands in the body of a kernel, between '{' and '}'")
      .Cases({"type", "typedef", "using", "alias"}, "types have no other names; write it where it stands, as in 'x: f32[N]'")
      .Cases({"template", "generic", "forall"},
             "a kernel is of the types that its parameters name, as in 'x: f32[N]'; there are no others to choose")
      .Cases({"async", "export", "public", "pub", "static", "extern"}, "nothing stands before 'def'")
      .Cases({"%", "--"}, "comments start with '#'")
      .Cases({"let", "const", "var"}, "a number for all kernels of a file is a function, as in 'fn eps() { 1e-5 }', which 'eps()' calls")
      .Default("");
}

StringRef hintForName(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .CasesLower({"infinity", "inff", "inf"}, "write 'inf'")
      .CasesLower({"nan"}, "write 'nan'")
      .Cases({"M_PI", "PI", "Pi"}, "write 'pi'")
      .Cases({"None", "null", "nullptr", "NULL", "nil"}, "nothing is left out here; write the value that stands for it")
      .Cases({"blockIdx", "blockDim", "threadIdx", "gridDim", "warpSize", "pid"},
             "a text has no blocks and threads, which kernelc chooses: 'y[i] = ..' defines y for every i")
      .Cases({"static_cast", "reinterpret_cast", "convert"}, "a type's name is a cast, as in 'f32(..)'")
      .Default("");
}

StringRef definitionMeant(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Cases({"func", "fun", "function", "lambda", "inline", "macro"}, "fn")
      .Cases({"kernel", "void", "program", "proc", "procedure", "__global__"}, "def")
      .Default("");
}

StringRef hintForOperator(StringRef text, size_t &length) {
  struct Hint {
    StringRef text, hint;
  };
  // Longest first, so that the first match is the longest.
  static constexpr Hint kHints[] = {
      {"&&", "write 'and'"},
      {"||", "write 'or'"},
      {"/*", "comments start with '#' and end with the line"},
      {"//", "comments start with '#'"},
      {"..", "a range is written 'a:b'"},
      {".*", "write '*'"},
      {"./", "write '/'"},
      {"===", "write '=='"},
      {"!==", "write '!='"},
      {"|>", "a function is called, as in 'relu(x[i])'"},
      {"<>", "write '!='"},
      {"<-", "write '='"},
      {"\\", "newlines are white space: a statement goes on in the next line by itself"},
      {"=<", "write '<='"},
      {"=>", "write '>=' to compare, '->' before the outputs"},
      {"++", "write 'y[i] += 1' with an 'inout'"},
      {"--", "write 'y[i] += -1' with an 'inout'"},
      {"!", "write 'not'"},
      {"?", "write 'a if c else b' for 'c ? a : b'"},
      {"@", "a product of matrices is a sum of products, as in 'y[i, j] = sum[k](a[i, k] * b[k, j])'"},
      {"≤", "write '<='"},
      {"≥", "write '>='"},
      {"≠", "write '!='"},
      {"×", "write '*'"},
      {"·", "write '*'"},
      {"÷", "write '/' of floats, '//' of integers"},
      {"−", "write '-'"},
      {"–", "write '-'"},
      {"→", "write '->'"},
      {"←", "write '='"},
      {"∑", "write 'sum[k](..)'"},
      {"Σ", "write 'sum[k](..)'"},
      {"∏", "write 'prod[k](..)'"},
      {"√", "write 'sqrt(..)'"},
      {"∞", "write 'inf'"},
      {"π", "write 'pi'"},
      {"²", "write '** 2'"},
      {"³", "write '** 3'"},
      {"“", "write '\"'"},
      {"”", "write '\"'"},
  };
  for (const Hint &h : kHints)
    if (text.starts_with(h.text)) {
      length = h.text.size();
      return h.hint;
    }
  return "";
}

/// The code point at the front of `text`, and its bytes; 0 where they are no UTF-8.
static std::pair<unsigned, size_t> codePointOf(StringRef text) {
  const llvm::UTF8 *begin = text.bytes_begin(), *at = begin;
  llvm::UTF32 point = 0;
  bool ok = llvm::convertUTF8Sequence(&at, text.bytes_end(), &point, llvm::strictConversion) == llvm::conversionOK;
  return {ok ? point : 0, ok ? size_t(at - begin) : 1};
}

bool isForeignBlank(StringRef text) {
  unsigned point = codePointOf(text).first;
  return point == 0xA0 || (point >= 0x2000 && point <= 0x200B) || point == 0x202F || point == 0x3000 || point == 0xFEFF;
}

std::string describeCharacter(StringRef text) {
  auto [point, bytes] = codePointOf(text);
  if (!point)
    return "this byte, 0x" + llvm::utohexstr((unsigned char)text[0]) + ",";
  std::string code = llvm::utohexstr(point, /*LowerCase=*/false, /*Width=*/4);
  return isForeignBlank(text) ? "this blank (U+" + code + ")" : ("'" + text.substr(0, bytes) + "' (U+" + code + ")").str();
}

StringRef elementTypeMeant(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"float", "float32", "single"}, "f32")
      .Cases({"double", "float64"}, "f64")
      .Cases({"half", "float16", "fp16"}, "f16")
      .Cases({"bfloat16", "bfloat", "nv_bfloat16", "__nv_bfloat16"}, "bf16")
      .Cases({"float8_e4m3fn", "fp8", "f8"}, "f8e4m3")
      .Case("float8_e5m2", "f8e5m2")
      .Cases({"int", "int32", "int32_t"}, "i32")
      .Cases({"long", "int64", "int64_t"}, "i64")
      .Cases({"short", "int16", "int16_t"}, "i16")
      .Cases({"int8", "int8_t", "char"}, "i8")
      .Cases({"uint", "unsigned", "uint32", "uint32_t"}, "u32")
      .Cases({"uint64", "uint64_t", "size_t"}, "u64")
      .Cases({"uint16", "uint16_t"}, "u16")
      .Cases({"uint8", "uint8_t", "byte"}, "u8")
      .Cases({"boolean", "i1"}, "bool")
      .Default("");
}

bool isTensorWord(StringRef word) {
  return llvm::is_contained({"tensor", "array", "ndarray", "buffer", "list", "pointer", "ptr", "matrix", "vector"}, word.lower());
}

bool isOutputWord(StringRef word) { return llvm::is_contained({"out", "output", "result", "ref", "mut", "var"}, word.lower()); }

StringRef reductionMeant(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"maximum", "fmax", "fmaxf", "amax", "reduce_max"}, "max")
      .Cases({"minimum", "fmin", "fminf", "amin", "reduce_min"}, "min")
      .Cases({"average", "avg", "reduce_mean"}, "mean")
      .Cases({"add", "reduce_sum", "total", "Sum"}, "sum")
      .Cases({"product", "mul", "multiply", "reduce_prod"}, "prod")
      .Default("");
}

bool isModule(StringRef name) {
  return llvm::is_contained({"np", "numpy", "math", "torch", "tl", "jnp", "jax", "cupy", "tvm", "te", "F", "std"}, name);
}

} // namespace kernelc::frontend
