// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/Build.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kernelc {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

int visitObject(dl_phdr_info *info, size_t, void *data) {
  auto *search = static_cast<Search *>(data);
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &p = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + p.p_vaddr;
    inside |= p.p_type == PT_LOAD && search->address >= begin && search->address < begin + p.p_memsz;
  }
  if (!inside)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &p = info->dlpi_phdr[i];
    if (p.p_type != PT_NOTE)
      continue;
    auto *at = reinterpret_cast<const char *>(info->dlpi_addr + p.p_vaddr), *end = at + p.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note), *desc = name + (note->n_namesz + 3) / 4 * 4;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4)
        search->id = absl::BytesToHexString(absl::string_view(desc, note->n_descsz));
      at = desc + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

std::string findBuild() {
  Search search{reinterpret_cast<uintptr_t>(&versionString), ""};
  dl_iterate_phdr(visitObject, &search);
  if (!search.id.empty())
    return search.id;
  Dl_info info{};
  struct stat st{};
  if (dladdr(reinterpret_cast<void *>(&versionString), &info) && info.dli_fname &&
      (::stat(info.dli_fname, &st) == 0 || ::stat("/proc/self/exe", &st) == 0))
    return absl::StrCat("size", st.st_size, "-", st.st_mtim.tv_sec, ".", st.st_mtim.tv_nsec);
  return absl::StrCat(versionString(), " " __DATE__ " " __TIME__);
}

} // namespace

const char *versionString() { return KERNELC_VERSION; }

const std::string &buildId() {
  static const std::string *id = new std::string(findBuild());
  return *id;
}

} // namespace kernelc
