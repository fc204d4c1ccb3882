// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads what a program imports from its folder, and nothing outside of it. Internal to the driver.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace kernelc {

using ImportReader = std::function<std::optional<std::string>(const std::string &path, std::string &why)>;

/// A reader of the folder of `fileName`, which reads each file once; empty for a text that is no file ("<string>").
ImportReader makeImportReader(const std::string &fileName);

} // namespace kernelc
