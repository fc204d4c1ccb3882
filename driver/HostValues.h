// Elements of host tensors as numbers, and made-up data.
#pragma once

#include <cstdint>

#include "driver/HostTensor.h"

namespace kernelc {

/// Fills: floats uniform in [-1, 1), integers small (0 to 7, signed -4 to 3), bools either.
/// The same seed gives the same values for every type and on every machine.
void fillRandom(const HostTensor &tensor, uint64_t seed);

/// Element `i` of a dense tensor as a number, and back (floats round to nearest).
double loadElement(const HostTensor &tensor, int64_t i);
void storeElement(const HostTensor &tensor, int64_t i, double value);

} // namespace kernelc
