// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/TensorMap.h"

#include "absl/strings/str_cat.h"

namespace kernelc {
namespace {

cuda::TensorMapType mapType(ElementType t) {
  switch (t) {
  case ElementType::f64: return cuda::kMapF64;
  case ElementType::f32: return cuda::kMapF32;
  case ElementType::f16: return cuda::kMapF16;
  case ElementType::bf16: return cuda::kMapBF16;
  case ElementType::i64: return cuda::kMapI64;
  case ElementType::i32: return cuda::kMapI32;
  case ElementType::u64: return cuda::kMapU64;
  case ElementType::u32: return cuda::kMapU32;
  case ElementType::i16:
  case ElementType::u16: return cuda::kMapU16;
  default: return cuda::kMapU8; // copies bytes: right for every 8-bit type
  }
}

cuda::TensorMapSwizzle mapSwizzle(int bytes) {
  return bytes == 128 ? cuda::kSwizzle128B : bytes == 64 ? cuda::kSwizzle64B : bytes == 32 ? cuda::kSwizzle32B : cuda::kSwizzleNone;
}

} // namespace

absl::StatusOr<TensorMapPlan> planTensorMap(const Kernel &kernel, const TensorMapArg &arg, const CheckedArgs &args, Device &device) {
  const Param *param = arg.base.param >= 0 ? &kernel.params[arg.base.param] : nullptr;
  auto fail = [&](auto &&...parts) {
    return absl::InvalidArgumentError(absl::StrCat(locPrefix(param ? param->loc : kernel.loc), param ? "parameter '" : "workspace",
                                                   param ? param->name : "", param ? "'" : "", ": the kernel's tensor map ", parts...));
  };
  TensorMapPlan plan;
  plan.type = arg.roundsToTf32 ? cuda::kMapTF32 : mapType(arg.type);
  plan.rank = uint32_t(arg.dims.size());
  plan.swizzle = mapSwizzle(arg.swizzleBytes);
  plan.inWorkspace = param == nullptr;
  int64_t offset = arg.base.byteOffset.evaluate(args.env());
  plan.param = arg.base.param;
  plan.offset = offset;
  plan.base = (param ? reinterpret_cast<cuda::DevicePtr>(args.tensor(arg.base.param)->data) : 0) + offset;

  bool empty = false;
  for (uint32_t i = 0; i < plan.rank; ++i) {
    int64_t extent = arg.dims[i].evaluate(args.env());
    if (extent > (int64_t(1) << 31)) // coordinates are ints
      return fail("has extent ", extent, ", more than 2^31");
    empty |= extent <= 0;
    plan.dims[i] = uint64_t(extent);
    int64_t box = arg.box[i].evaluate(args.env());
    if (box < 1 || box > 256)
      return fail("has a box of ", box, " along one dim; 1 to 256 are possible");
    plan.box[i] = uint32_t(box);
    plan.elementStrides[i] = arg.elementStrides[i];
  }
  if (empty) {
    bool written = param && (param->kind == ParamKind::Output || param->kind == ParamKind::InOut);
    auto spare = device.spareBytes(written || !param ? 1 : 0);
    if (!spare.ok())
      return spare.status();
    plan.inWorkspace = false;
    plan.param = -1;
    plan.base = *spare;
    for (uint32_t i = 0; i < plan.rank; ++i) {
      plan.dims[i] = 1;
      plan.strides[i < 4 ? i : 3] = 16;
    }
    return plan;
  }
  for (uint32_t i = 0; i + 1 < plan.rank; ++i) {
    int64_t stride = arg.strides[i].evaluate(args.env());
    if (stride < 0 || stride % 16 || stride >= (int64_t(1) << 40))
      return fail("has a stride of ", stride, " bytes; it must be a multiple of 16 below 2^40");
    plan.strides[i] = uint64_t(stride);
  }
  if (plan.base % 16)
    return fail("starts at an address that is not a multiple of 16");
  return plan;
}

cuda::Result encodeTensorMap(const cuda::CudaDriver &driver, const TensorMapPlan &plan, cuda::DevicePtr workspace, cuda::TensorMap *map) {
  cuda::DevicePtr base = plan.base + (plan.inWorkspace ? workspace : 0);
  return driver.cuTensorMapEncodeTiled(map, plan.type, plan.rank, reinterpret_cast<void *>(base), plan.dims, plan.strides, plan.box,
                                       plan.elementStrides, /*interleave=*/0, plan.swizzle, cuda::kL2Promote128B,
                                       /*oobFill: zeros=*/0);
}

} // namespace kernelc
