// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a message about a schedule's record comes from. Passes see records as an
// attribute, without their file: the location names record and key, and who has the
// file's text (driver/compile/Diagnostics) points there.
#pragma once

#include "ir/te/Te.h"
#include "llvm/ADT/StringExtras.h"

namespace kernelc::te {

inline constexpr llvm::StringLiteral kScheduleLoc = "schedule";

/// A key of a kernel's `schedule_at`.
inline std::string keyOfSchedulePlace(llvm::StringRef launch, llvm::ArrayRef<llvm::StringRef> keys, bool isName) {
  return (llvm::StringRef(isName ? "name " : "value ") + launch + ":" + llvm::join(keys, ".")).str();
}

/// `at` as a location of kernel `kernel` that also names what its record of `launch` (empty: the whole kernel's) says under
/// `keys`, an outer one first. `isName`: the last key itself is what is wrong, not its value.
inline mlir::Location getScheduleLoc(mlir::Location at, llvm::StringRef kernel, llvm::StringRef launch,
                                     llvm::ArrayRef<llvm::StringRef> keys = {}, bool isName = false) {
  mlir::MLIRContext *context = at.getContext();
  llvm::SmallVector<mlir::Attribute> parts;
  for (llvm::StringRef part : {llvm::StringRef(kScheduleLoc), kernel, launch, llvm::StringRef(isName ? "name" : "value")})
    parts.push_back(mlir::StringAttr::get(context, part));
  for (llvm::StringRef key : keys)
    parts.push_back(mlir::StringAttr::get(context, key));
  return mlir::FusedLoc::get({at}, mlir::ArrayAttr::get(context, parts), context);
}

inline mlir::Location getScheduleLoc(mlir::Operation *op, llvm::StringRef kernel, llvm::StringRef launch,
                                     llvm::ArrayRef<llvm::StringRef> keys = {}, bool isName = false) {
  mlir::Location at = op->getLoc();
  auto program = mlir::dyn_cast<KernelOp>(op);
  mlir::DictionaryAttr places = program ? program.getScheduleAtAttr() : mlir::DictionaryAttr();
  for (size_t n = keys.size() + 1; places && n-- > 0;) {
    auto known = places.getAs<mlir::LocationAttr>(keyOfSchedulePlace(launch, keys.take_front(n), isName && n == keys.size() && n));
    if (known) {
      at = known;
      break;
    }
  }
  return getScheduleLoc(at, kernel, launch, keys, isName);
}

/// Of the function of a launch: `at`, the launch's record, and where that stands in the text, if it does.
inline mlir::Location getLaunchLoc(mlir::Location at, KernelOp kernel, llvm::StringRef launch) {
  mlir::Location own = getScheduleLoc(at, kernel.getSymName(), launch);
  mlir::DictionaryAttr places = kernel.getScheduleAtAttr();
  auto place = places ? places.getAs<mlir::LocationAttr>(keyOfSchedulePlace(launch, {}, false)) : mlir::LocationAttr();
  if (!place)
    return own;
  return mlir::FusedLoc::get({at, mlir::Location(place)}, mlir::cast<mlir::FusedLoc>(own).getMetadata(), at.getContext());
}

/// Of an op behind the planner: its own location, which also names the record of the launch that it is part of. te-to-tile puts
/// the record's name, and its place in the text, into the location of the launch's function.
inline mlir::Location getScheduleLoc(mlir::Operation *op) {
  for (mlir::Operation *outer = op; outer; outer = outer->getParentOp())
    if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(outer->getLoc()))
      if (auto list = mlir::dyn_cast_or_null<mlir::ArrayAttr>(fused.getMetadata());
          list && !list.empty() && list[0] == mlir::StringAttr::get(op->getContext(), kScheduleLoc))
        return mlir::FusedLoc::get({fused.getLocations().size() > 1 ? fused.getLocations()[1] : op->getLoc()}, list, op->getContext());
  return op->getLoc();
}

} // namespace kernelc::te
