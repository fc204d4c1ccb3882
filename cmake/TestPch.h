// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What unit tests without MLIR include most; the same rule holds: nothing may rely
// on this file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
