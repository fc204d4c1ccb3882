// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/conformance/Operators.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kernelc::conformance {
namespace {

Sizes parseSizes(std::istream &words) {
  Sizes sizes;
  for (std::string word; words >> word;)
    if (size_t eq = word.find('='); eq != std::string::npos)
      sizes[word.substr(0, eq)] = std::stoll(word.substr(eq + 1));
  return sizes;
}

} // namespace

std::vector<Operator> operatorsOf(const std::string &path) {
  std::vector<Operator> all;
  size_t done = 0; // those before have their kernel
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("def ", 0) == 0) {
      for (; done < all.size(); ++done)
        all[done].kernel = line.substr(4, line.find('(') - 4);
      continue;
    }
    if (line.rfind("# ", 0) != 0)
      continue;
    std::istringstream words(line.substr(2));
    if (line.size() > 2 && std::isdigit(line[2])) {
      Operator op;
      op.file = path;
      words >> op.number >> std::ws;
      std::getline(words, op.title);
      all.push_back(op);
      continue;
    }
    std::string key;
    words >> key;
    if (line.rfind("#   ", 0) != 0 || all.empty())
      continue;
    if (key == "small")
      all.back().small.push_back(parseSizes(words));
    else if (key == "full")
      all.back().full = parseSizes(words);
    else if (key == "also")
      for (std::string form; words >> form;)
        all.back().forms.push_back(form);
    else if (key == "spills")
      for (std::string form; words >> form;)
        all.back().spills.push_back(form);
    else if (key == "refused")
      std::getline(words >> std::ws, all.back().refusal);
  }
  return all;
}

std::vector<std::string> conformanceFiles() {
  std::vector<std::string> files;
  for (auto &entry : std::filesystem::directory_iterator(KERNELC_CONFORMANCE))
    if (entry.path().extension() == ".kc")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace kernelc::conformance
