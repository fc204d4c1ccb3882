// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/Helpers.h"

#include <algorithm>
#include <vector>

#include "codegen/MultiplyHelper.h"
#include "codegen/WgmmaHelper.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace kernelc::codegen {
namespace {

/// One spelling. `host` is what stands in its place in a host build: empty when
/// the host's own prelude models the helper, "=" when `text` is plain C++.
struct Spelling {
  const char *name;
  int generation;
  const char *text;
  const char *host;
  const char *needs; ///< names of helpers it calls, space separated
};

#define KC_DEVICE "static __device__ __forceinline__ "

constexpr Spelling kSpellings[] = {
#include "codegen/Helpers.inc"
};

const Spelling *findSpelling(llvm::StringRef name, int generation) {
  const Spelling *best = nullptr;
  for (const Spelling &s : kSpellings)
    if (name == s.name && s.generation <= generation && (!best || s.generation > best->generation))
      best = &s;
  return best;
}

} // namespace

bool hasHelper(llvm::StringRef name, int generation) {
  return wgmmaHelperText(name) ? generation == 90 : multiplyHelperText(name) || findSpelling(name, generation);
}

std::optional<std::string> specialisedText(llvm::StringRef name) {
  std::optional<std::string> text = wgmmaHelperText(name);
  return text ? text : multiplyHelperText(name);
}

std::vector<HelperSpelling> helperSpellings() {
  std::vector<HelperSpelling> all;
  for (const Spelling &s : kSpellings)
    all.push_back({s.name, s.generation});
  return all;
}

std::string helperText(const std::set<std::string> &names, int generation) {
  std::set<std::string> wanted = names;
  for (bool grew = true; grew;) {
    grew = false;
    for (const std::string &n : std::set<std::string>(wanted)) {
      if (specialisedText(n)) // a specialisation needs its template
        grew |= wanted.insert(llvm::StringRef(n).split('<').first.str()).second;
      if (const Spelling *s = findSpelling(n, generation)) {
        llvm::SmallVector<llvm::StringRef> needs;
        llvm::StringRef(s->needs).split(needs, ' ', -1, false);
        for (llvm::StringRef d : needs)
          grew |= wanted.insert(d.str()).second;
      }
    }
  }
  // Table order puts a helper behind those it calls.
  std::vector<const Spelling *> order;
  for (const Spelling &s : kSpellings)
    if (wanted.count(s.name) && findSpelling(s.name, generation) == &s)
      order.push_back(&s);
  std::string device, host, both, specialised, products;
  for (const std::string &n : names) {
    if (std::optional<std::string> text = wgmmaHelperText(n))
      specialised += *text + "\n";
    if (std::optional<std::string> text = multiplyHelperText(n))
      products += *text + "\n";
  }
  for (const Spelling *s : order) {
    if (llvm::StringRef(s->host) == "=") {
      both += s->text;
      both += "\n";
      continue;
    }
    device += s->text;
    device += "\n";
    if (*s->host) {
      host += s->host;
      host += "\n";
    }
  }
  std::string out;
  if (!device.empty()) {
    out += "#ifndef KC_HOST // for a GPU; the emulator brings its own\n" + device + specialised;
    if (!host.empty())
      out += "#else\n" + host;
    out += "#endif\n";
  }
  return out + both + products;
}

} // namespace kernelc::codegen
