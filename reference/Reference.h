// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A te.kernel on the CPU: compiled to machine code, in the program's own types
// (the CPU device) or in f64 (the oracle of `check`).
//
// Contract. `compile` copies what it needs: neither the op nor its context has to
// outlive the call. A compiled kernel is immutable; `run` may be called from
// several threads at once. Results do not depend on the number of threads.
// Unsupported ops are an Unimplemented status that names the op and its location;
// bad arguments are InvalidArgument before anything runs; a gather whose data
// leads outside its tensor is OutOfRange after the kernel has finished (it never
// touches memory outside its tensors); exhausted memory is ResourceExhausted.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/te/Te.h"
#include "support/TensorView.h"
#include "support/ThreadPool.h"

namespace kernelc::reference {

enum class Arithmetic {
  /// The program's types: floats under 32 bits are storage, sums accumulate in the
  /// yielded type with fused multiply-adds.
  Own,
  /// Every float in f64; inputs are converted exactly, float casts are identity
  /// (those that saturate still clamp). Float outputs are f64 arrays.
  F64,
  /// F64, and beside every output an f64 array that bounds how far a correct device
  /// that computes in the program's types may be from it; see ErrorRules.h.
  F64WithError,
};

/// What the device's sums of products of narrow floats are (F64WithError).
enum class Sums {
  OnMatrixUnits, ///< as matrix units of GPUs may round: truncated, of f8 in few bits
  InF32,         ///< rounded as f32 has it: the CPU, and the emulator's models of matrix units
};

/// lower[d] <= index[d] < upper[d].
struct Box {
  std::vector<int64_t> lower, upper;
};

class ReferenceKernel {
public:
  static absl::StatusOr<std::unique_ptr<ReferenceKernel>> compile(te::KernelOp kernel, Arithmetic arithmetic,
                                                                  Sums sums = Sums::OnMatrixUnits);
  ~ReferenceKernel();

  /// Runs on `sizes` (in the kernel's order). `args` follow the block arguments,
  /// scalars as rank-0 views; any strides. `outs` follow the outputs: of the output's
  /// type, or f64 for float outputs unless the arithmetic is Own; any strides, but
  /// no two elements of an output may share memory. An output may be the memory of
  /// an argument. `errors` (F64WithError only; f64, one view per output, of its
  /// shape) receives the bounds: 0 for exact elements, infinity where no bound
  /// holds. `pool` null: this thread only. `boxes`: one per output, to compute no
  /// more than what those elements need (the rest of the outputs is left alone);
  /// none at all for everything.
  absl::Status run(absl::Span<const int64_t> sizes, absl::Span<const TensorView> args, absl::Span<const TensorView> outs,
                   ThreadPool *pool = nullptr, absl::Span<const TensorView> errors = {}, absl::Span<const Box> boxes = {}) const;

  /// Scalar operations that such a run takes, roughly.
  double estimateWork(absl::Span<const int64_t> sizes, absl::Span<const Box> boxes = {}) const;

  Arithmetic arithmetic() const;
  unsigned numOutputs() const;
  const std::string &outputName(unsigned i) const;
  /// The type a view of output i must have.
  ElementType outputType(unsigned i) const;
  /// Shape of output i for these sizes.
  std::vector<int64_t> outputShape(unsigned i, absl::Span<const int64_t> sizes) const;

  struct Impl;

private:
  explicit ReferenceKernel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace kernelc::reference
