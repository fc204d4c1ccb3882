// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/capi/Values.h"

#include "absl/strings/str_cat.h"

namespace kernelc::capi {

std::optional<ElementType> elementTypeOf(kc_dtype d) {
  auto byBits = [&](std::initializer_list<ElementType> types) -> std::optional<ElementType> {
    for (ElementType t : types)
      if (elementBits(t) == d.bits)
        return t;
    return std::nullopt;
  };
  if (d.lanes != 1)
    return std::nullopt;
  switch (d.code) {
  case 0: return byBits({ElementType::i64, ElementType::i32, ElementType::i16, ElementType::i8, ElementType::i4});
  case 1: return byBits({ElementType::u64, ElementType::u32, ElementType::u16, ElementType::u8, ElementType::u4});
  case 2: return byBits({ElementType::f64, ElementType::f32, ElementType::f16});
  case 4: return byBits({ElementType::bf16});
  case 6: return byBits({ElementType::boolean});
  case 10: return byBits({ElementType::f8e4m3});
  case 12: return byBits({ElementType::f8e5m2});
  default: return std::nullopt;
  }
}

kc_dtype dtypeOf(ElementType t) {
  uint8_t bits = uint8_t(elementBits(t));
  switch (t) {
  case ElementType::bf16: return {4, bits, 1};
  case ElementType::boolean: return {6, bits, 1};
  case ElementType::f8e4m3: return {10, bits, 1};
  case ElementType::f8e5m2: return {12, bits, 1};
  default: return {uint8_t(isFloat(t) ? 2 : isSignedInteger(t) ? 0 : 1), bits, 1};
  }
}

constexpr int32_t kHostPinned = 3, kManaged = 13; // DLPack's

static bool isHostMemory(const kc_tensor &t) {
  return t.device.device_type == KC_DEVICE_CPU || t.device.device_type == kHostPinned || t.device.device_type == kManaged;
}
static bool isDeviceMemory(const kc_tensor &t) { return t.device.device_type == KC_DEVICE_CUDA || t.device.device_type == kManaged; }

/// Whether elements of `dtype`, unsigned integers, may be the bits of one of the types that some libraries lack.
static bool isRaw(kc_dtype dtype, ElementType type) {
  bool lacking = type == ElementType::bf16 || type == ElementType::f8e4m3 || type == ElementType::f8e5m2;
  return lacking && dtype.code == 1 && dtype.lanes == 1 && dtype.bits == elementBits(type);
}

absl::StatusOr<DeviceTensor> tensorOf(const Param &p, const kc_tensor &t, kc_device device) {
  auto fail = [&](auto &&...parts) { return absl::InvalidArgumentError(absl::StrCat("parameter '", p.name, "': ", parts...)); };
  bool hostMemory = isHostMemory(t), deviceMemory = isDeviceMemory(t);
  if (!hostMemory && !deviceMemory)
    return fail("lies on a kind of device that kernelc does not know (DLPack type ", t.device.device_type, ")");
  if (device.device_type == KC_DEVICE_CUDA && !deviceMemory)
    return fail("lies in host memory, and the call runs on cuda:", device.device_id, "; copy it there");
  if (device.device_type != KC_DEVICE_CUDA && !hostMemory)
    return fail("lies on cuda:", t.device.device_id, ", and the call runs on the ",
                device.device_type == KC_DEVICE_EMULATOR ? "emulator" : "cpu", ", which reads host memory; copy it there");
  if (t.ndim < 0 || (t.ndim > 0 && !t.shape))
    return fail("has no shape");
  std::optional<ElementType> type = elementTypeOf(t.dtype);
  if (isRaw(t.dtype, p.type))
    type = p.type;
  if (!type)
    return fail("has an element type that kernelc does not know (DLPack code ", int(t.dtype.code), ", ", int(t.dtype.bits), " bits",
                t.dtype.lanes == 1 ? ")" : absl::StrCat(", ", int(t.dtype.lanes), " lanes; it has to be 1)"));
  DeviceTensor out;
  out.data = t.data ? static_cast<char *>(t.data) + t.byte_offset : nullptr;
  out.type = *type;
  out.shape.assign(t.shape, t.shape + t.ndim);
  if (t.strides)
    out.strides.assign(t.strides, t.strides + t.ndim);
  else
    for (int64_t i = t.ndim, s = 1; i-- > 0; s *= std::max<int64_t>(1, t.shape[i]))
      out.strides.insert(out.strides.begin(), s);
  out.device = device.device_type == KC_DEVICE_CUDA && t.device.device_type == KC_DEVICE_CUDA ? t.device.device_id : device.device_id;
  return out;
}

static absl::StatusOr<ScalarValue> scalarOf(const Param &p, const kc_value &v) {
  absl::StatusOr<ScalarValue> s = v.kind == KC_VALUE_FLOAT ? ScalarValue::fromDouble(p.type, v.f)
                                  : v.kind == KC_VALUE_INT ? ScalarValue::fromInt(p.type, v.i)
                                                           : ScalarValue::fromUnsigned(p.type, uint64_t(v.i));
  return s.ok() ? s : absl::Status(s.status().code(), absl::StrCat("parameter '", p.name, "': ", s.status().message()));
}

/// Whether a tensor is what was bound, but for its address.
static bool isAsBound(const DeviceTensor &bound, const kc_tensor &t, const Place &place) {
  if (place.kind == Place::Cuda ? !isDeviceMemory(t) || (t.device.device_type == KC_DEVICE_CUDA && t.device.device_id != place.ordinal)
                                : t.device.device_type == KC_DEVICE_CUDA)
    return false;
  kc_dtype own = dtypeOf(bound.type);
  bool sameType = t.dtype.bits == own.bits && t.dtype.lanes == 1 && t.dtype.code == own.code;
  if (!(sameType || isRaw(t.dtype, bound.type)) || size_t(t.ndim) != bound.shape.size())
    return false;
  bool empty = std::find(bound.shape.begin(), bound.shape.end(), 0) != bound.shape.end();
  int64_t dense = 1;
  for (int32_t d = t.ndim; d-- > 0; dense *= std::max<int64_t>(1, t.shape[d])) {
    bool counts = t.shape[d] > 1 && !empty; // else a stride says nothing
    if (t.shape[d] != bound.shape[d] || (counts && (t.strides ? t.strides[d] : dense) != bound.strides[d]))
      return false;
  }
  return true;
}

absl::StatusOr<NewArgument> newArgumentOf(const Param &p, const LaunchValue &bound, const kc_value &v, const Place &place) {
  auto fail = [&](const char *what) { return absl::InvalidArgumentError(absl::StrCat("parameter '", p.name, "': ", what)); };
  if (const auto *t = std::get_if<DeviceTensor>(&bound)) {
    if (v.kind != KC_VALUE_TENSOR || !v.tensor)
      return fail("expected a tensor");
    if (!isAsBound(*t, *v.tensor, place))
      return fail("has another type, shape, layout or device than the tensor that was bound; bind the call anew");
    return NewArgument{v.tensor->data ? static_cast<char *>(v.tensor->data) + v.tensor->byte_offset : nullptr};
  }
  if (v.kind != KC_VALUE_INT && v.kind != KC_VALUE_FLOAT && v.kind != KC_VALUE_UINT)
    return fail("expected a scalar");
  absl::StatusOr<ScalarValue> s = scalarOf(p, v);
  return s.ok() ? absl::StatusOr<NewArgument>(NewArgument{nullptr, s->bits}) : s.status();
}

static absl::StatusOr<std::vector<LaunchValue>> valuesOf(const Kernel &kernel, kc_device device, const kc_value *values, size_t count) {
  if (count && !values)
    return missing("the array of values");
  if (count != kernel.params.size())
    return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "' takes ", kernel.params.size(), " arguments, got ", count));
  std::vector<LaunchValue> out;
  for (size_t i = 0; i < count; ++i) {
    const Param &p = kernel.params[i];
    const kc_value &v = values[i];
    if (v.kind == KC_VALUE_TENSOR && v.tensor) {
      absl::StatusOr<DeviceTensor> t = tensorOf(p, *v.tensor, device);
      if (!t.ok())
        return t.status();
      out.push_back(*std::move(t));
    } else if (v.kind == KC_VALUE_INT || v.kind == KC_VALUE_FLOAT || v.kind == KC_VALUE_UINT) {
      absl::StatusOr<ScalarValue> s = scalarOf(p, v);
      if (!s.ok())
        return s.status();
      out.push_back(*s);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("parameter '", p.name, "' ",
                                                     v.kind == KC_VALUE_NONE ? "has no value"
                                                     : v.kind == KC_VALUE_TENSOR
                                                         ? "has a tensor that is null"
                                                         : absl::StrCat("has a value of kind ", v.kind, ", and there is none")));
    }
  }
  return out;
}

cuda::StreamHandle streamOf(void *stream) {
  auto handle = static_cast<cuda::StreamHandle>(stream);
  return handle == cuda::kStreamLegacy ? nullptr : handle;
}

absl::StatusOr<Device *> gpuOf(kc_device device) {
  if (device.device_type != KC_DEVICE_CUDA)
    return absl::InvalidArgumentError("streams are a GPU's");
  return Runtime::deviceAt(device.device_id);
}

static absl::StatusOr<Place> placeOf(kc_device device) {
  switch (device.device_type) {
  case KC_DEVICE_CPU: return Place{Place::Cpu};
  case KC_DEVICE_CUDA: return Place{Place::Cuda, device.device_id};
  case KC_DEVICE_EMULATOR: return Place{Place::Emulator};
  default: return absl::InvalidArgumentError(absl::StrCat("there is no device of type ", device.device_type));
  }
}

absl::StatusOr<CallArgs> argsOf(kc_kernel *kernel, kc_device device, const kc_value *values, size_t numValues, const kc_named *sizes,
                                size_t numSizes) {
  if (!kernel)
    return missing("the kernel");
  absl::StatusOr<Place> place = placeOf(device);
  if (!place.ok())
    return place.status();
  absl::StatusOr<std::vector<LaunchValue>> v = valuesOf(kernel->kernel->visible(), device, values, numValues);
  if (!v.ok())
    return v.status();
  absl::StatusOr<std::vector<NamedSize>> n = namedOf(sizes, numSizes);
  if (!n.ok())
    return n.status();
  return CallArgs{*place, *std::move(v), *std::move(n)};
}

} // namespace kernelc::capi
