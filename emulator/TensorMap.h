// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emulator's own encoding of a tensor map: what stands in the 128 bytes of a
// kc_tensor_map on the host. Written by encodeTensorMap, read by the TMA model.
#pragma once

#include <cstdint>

namespace kernelc::emulator {

struct PackedTensorMap {
  static constexpr uint64_t kMagic = 0x6b63'746d'6170'0001;
  static constexpr unsigned kParameterBytes = 128; ///< of the parameter that holds it
  uint64_t magic = kMagic;
  uint64_t base = 0;
  uint64_t strides[5] = {};   ///< bytes; [0] is the element size
  uint32_t lastIndex[5] = {}; ///< dims - 1
  uint16_t box[5] = {};
  uint8_t elementStrides[5] = {};
  uint8_t type = 0, rank = 0, swizzleBytes = 0, roundsToTf32 = 0;
};
static_assert(sizeof(PackedTensorMap) <= PackedTensorMap::kParameterBytes);

} // namespace kernelc::emulator
