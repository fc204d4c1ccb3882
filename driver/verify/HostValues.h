// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of host tensors as numbers, and made-up data.
#pragma once

#include <cstdint>

#include "driver/jit/HostTensor.h"

namespace kernelc {

/// splitmix64: a counter-based generator, so that element i depends on (seed, i) only.
uint64_t mixBits(uint64_t x);

/// Fills: floats uniform in [-1, 1), integers small (0 to 7, signed -4 to 3), bools either.
/// The same seed gives the same values for every type and on every machine.
void fillRandom(ElementType type, void *data, int64_t elements, uint64_t seed);
inline void fillRandom(const HostTensor &t, uint64_t seed) { fillRandom(t.type(), t.data(), t.numElements(), seed); }

/// Element `i` of a dense tensor as a number, and back (floats round to nearest).
double loadElement(ElementType type, const void *data, int64_t i);
void storeElement(ElementType type, void *data, int64_t i, double value);
inline double loadElement(const HostTensor &t, int64_t i) { return loadElement(t.type(), t.data(), i); }
inline void storeElement(const HostTensor &t, int64_t i, double value) { storeElement(t.type(), t.data(), i, value); }

} // namespace kernelc
