// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See ImportReader.h.
#include "driver/compile/ImportReader.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace kernelc {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMaxBytes = 1 << 20; // as of a program's text

std::optional<std::string> readInside(const fs::path &folder, const std::string &path, std::string &why) {
  std::error_code error;
  fs::path root = fs::weakly_canonical(folder, error), file = fs::weakly_canonical(folder / path, error);
  fs::path inside = file.lexically_relative(root);
  if (error || inside.empty() || *inside.begin() == "..") { // through a link
    why = "it lies outside of the program's folder";
    return std::nullopt;
  }
  if (!fs::is_regular_file(file, error)) {
    why = fs::exists(file, error) ? "it is no file" : absl::StrCat("there is no such file in '", root.string(), "'");
    return std::nullopt;
  }
  if (fs::file_size(file, error) > kMaxBytes) {
    why = "it has more than 1 MiB";
    return std::nullopt;
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    why = "it cannot be read";
    return std::nullopt;
  }
  return text.str();
}

} // namespace

ImportReader makeImportReader(const std::string &fileName) {
  if (fileName.empty() || fileName[0] == '<')
    return {};
  fs::path folder = fs::path(fileName).parent_path();
  if (folder.empty())
    folder = ".";
  struct Answer {
    std::optional<std::string> text;
    std::string why;
  };
  auto known = std::make_shared<std::map<std::string, Answer>>(); // one program sees one text of a file
  return [folder, known](const std::string &path, std::string &why) {
    auto [it, isNew] = known->try_emplace(path);
    if (isNew)
      it->second.text = readInside(folder, path, it->second.why);
    why = it->second.why;
    return it->second.text;
  };
}

} // namespace kernelc
