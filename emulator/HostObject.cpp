// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/HostObject.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "llvm/DebugInfo/Symbolize/Symbolize.h"
#include "llvm/Support/FileSystem.h"

namespace kernelc::emulator {

absl::StatusOr<std::shared_ptr<HostObject>> HostObject::open(const std::string &path, const std::string &temporaryDirectory) {
  std::shared_ptr<HostObject> object(new HostObject());
  object->path_ = path;
  object->temporaryDirectory_ = temporaryDirectory;
  object->handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object->handle_)
    return absl::InternalError(absl::StrCat("cannot load the host build: ", ::dlerror()));
  object->modules_ = static_cast<const kce::Module *>(::dlsym(object->handle_, "kce_modules"));
  if (!object->modules_ || object->modules_->version != kce::kHostApiVersion)
    return absl::InternalError("the host build has another interface version");
  struct link_map *link = nullptr;
  if (::dlinfo(object->handle_, RTLD_DI_LINKMAP, &link) == 0)
    object->imageBase_ = link->l_addr;
  ::dl_iterate_phdr(
      [](struct dl_phdr_info *info, size_t, void *data) {
        auto *self = static_cast<HostObject *>(data);
        if (info->dlpi_addr == self->imageBase_)
          for (int i = 0; i < info->dlpi_phnum; i++)
            if (info->dlpi_phdr[i].p_type == PT_LOAD)
              self->imageBytes_ = std::max<uintptr_t>(self->imageBytes_, info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
        return 0;
      },
      object.get());
  return object;
}

HostObject::~HostObject() {
  if (handle_)
    ::dlclose(handle_);
  if (!temporaryDirectory_.empty())
    llvm::sys::fs::remove_directories(temporaryDirectory_);
}

int HostObject::lineIn(const std::string &name, const void *pc) const {
  llvm::symbolize::LLVMSymbolizer symbolizer;
  uint64_t address = reinterpret_cast<uintptr_t>(pc) - 1 - imageBase_;
  auto frames = symbolizer.symbolizeInlinedCode(path_, {address, llvm::object::SectionedAddress::UndefSection});
  if (!frames) {
    llvm::consumeError(frames.takeError());
    return 0;
  }
  for (uint32_t i = 0; i < frames->getNumberOfFrames(); i++)
    if (absl::EndsWith(frames->getFrame(i).FileName, "/" + name))
      return int(frames->getFrame(i).Line);
  return 0;
}

} // namespace kernelc::emulator
