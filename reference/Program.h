// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the compiler hands to the runner: tensors (slots), steps and checks as
// plain data over the kernel's sizes, next to the machine code. Knows no MLIR.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "support/ElementType.h"
#include "support/SizeExpr.h"

namespace kernelc::reference {

/// One tensor of the program: an argument or the result of a statement. In memory
/// i1 and (except in arguments) i4 take a byte an element.
struct Slot {
  std::string name;
  std::vector<SizeExpr> dims;
  int bits = 32; ///< of one element in memory
  bool isFloat = false;
  bool hasError = false; ///< has a second array of f64 error bounds
  int arg = -1;          ///< the argument it is, or -1
  int sharesWith = -1;   ///< this result is built in the memory of that slot
  int lastUse = -1;      ///< step after which the memory may go
  int context = 0;       ///< first word of its description in the context array
};

/// One statement: a generated function over [begin, end) of its units. A unit is a
/// point of the parallel dims, or a tile of `factor` points along some of them.
struct Step {
  std::string symbol;
  std::string name;
  std::string location;
  int out = -1;
  int copyFrom = -1; ///< slot copied into `out` beforehand
  bool fill = false; ///< or `out` is filled with this element
  std::array<uint8_t, 8> pattern{};

  std::vector<SizeExpr> extents; ///< of all loop dims
  int parallel = 0;              ///< the first so many of them are parallel
  struct UnitDim {
    int dim = 0;
    int64_t factor = 1;
  };
  std::vector<UnitDim> units; ///< slowest first; none: the whole domain is one unit
  int64_t operations = 1;     ///< of the body, roughly
  int window = 0;             ///< context words: lower and upper of every parallel dim
  int stateWords = 0;         ///< of 64 bits that it keeps for each element of the result while it runs
  int states = 0;             ///< context word: the address of those

  // What a part of the result needs; see Window.h.
  struct Read {
    int slot = -1;
    bool whole = false;               ///< anything of it may be read
    std::vector<SizeExpr> subscripts; ///< over the sizes, then the loop dims
  };
  std::vector<Read> reads;
  std::vector<int> outDims; ///< per dim of the result the loop dim that it is, or -1
};

struct Program {
  std::string kernel;
  std::vector<std::string> sizes;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  int contextWords = 0;
  struct Parameter {
    std::string name;
    ElementType type = ElementType::f32; ///< what a view must have
    std::vector<SizeExpr> dims;
    int slot = -1;
  };
  std::vector<Parameter> args, outs;
  struct Requirement {
    SizeExpr holds;
    std::string text;
  };
  std::vector<Requirement> requirements;
};

/// The context array that every generated function gets, in 64-bit words:
///   [0] 1 + the step that met an index outside its tensor, or 0
///   [1 ..] the sizes
///   slot.context: data, errors, strides (elements), extents
///   step.window: lower, upper of every parallel dim of the step
///   step.states: the address of what the step keeps for each element
inline constexpr int kContextBad = 0;
inline constexpr int kContextSizes = 1;

} // namespace kernelc::reference
