// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What sources above the dialects include besides MlirPch.h; the same rule holds:
// nothing may rely on this file.
#include "cmake/MlirPch.h"
#include "ir/cu/Cu.h"
#include "ir/te/Te.h"
#include "ir/tile/Tile.h"
