// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads an artifact (`kernelc compile FILE.kc -o FILE.json`) and says what it holds:
// the half of kernelc that launches, without the half that compiles.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "runtime/Device.h"
#include "support/ArtifactJson.h"

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed-runtime FILE.json\n");
    return 2;
  }
  std::ifstream in(argv[1]);
  std::stringstream text;
  text << in.rdbuf();
  auto kernels = kernelc::artifactFromJson(text.str());
  if (!kernels.ok()) {
    std::fprintf(stderr, "%s\n", std::string(kernels.status().message()).c_str());
    return 1;
  }
  for (const kernelc::Kernel &k : *kernels)
    std::printf("%s: %zu parameters, %zu variants, %zu launches\n", k.name.c_str(), k.params.size(), k.variants.size(),
                k.variants.empty() ? 0 : k.variants[0].launches.size());
  auto runtime = kernelc::Runtime::instance();
  std::printf("%s\n", runtime.ok() ? "there is a GPU" : std::string(runtime.status().message()).c_str());
  return 0;
}
