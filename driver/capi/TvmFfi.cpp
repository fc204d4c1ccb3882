// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// __tvm_ffi_kernelc_call: kc_call in the calling convention of apache-tvm-ffi, for whoever calls through that (Python,
// JAX under jit, Rust, ..). Its C ABI alone (tvm/ffi/c_api.h, 0.1): no type of it is registered and none subclassed, and
// its functions are looked up when they are needed, so that kernelc does not need it.
#include <dlfcn.h>

#include <string>
#include <vector>

#include "driver/capi/kernelc.h"

namespace {

/// TVMFFIAny.
struct Any {
  int32_t type;
  uint32_t small;
  union {
    int64_t i;
    double f;
    void *p;
  };
};
enum : int32_t { None = 0, Int = 1, Bool = 2, Float = 3, OpaquePtr = 4, DLTensorPtr = 7, TensorObject = 70 };
constexpr size_t kObjectHeader = 24; ///< TVMFFIObject, which a tensor object's DLTensor follows

template <typename Function> Function *find(const char *name) { return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name)); }

int fail(const char *kind, const char *text) {
  if (auto *raise = find<void(const char *, const char *)>("TVMFFIErrorSetRaisedFromCStr"))
    raise(kind, text);
  return -1;
}

/// One argument; false where no kernel takes such.
bool valueOf(const Any &a, kc_value *value) {
  switch (a.type) {
  case Int:
  case Bool: *value = {KC_VALUE_INT, nullptr, a.i, 0}; return true;
  case Float: *value = {KC_VALUE_FLOAT, nullptr, 0, a.f}; return true;
  case DLTensorPtr: *value = {KC_VALUE_TENSOR, static_cast<const kc_tensor *>(a.p), 0, 0}; return true;
  case TensorObject:
    *value = {KC_VALUE_TENSOR, reinterpret_cast<const kc_tensor *>(static_cast<char *>(a.p) + kObjectHeader), 0, 0};
    return true;
  default: return false;
  }
}

const char *kindOf(kc_code code) {
  switch (code) {
  case KC_INVALID_ARGUMENT: return "ValueError";
  case KC_OUT_OF_RANGE: return "IndexError";
  case KC_RESOURCE_EXHAUSTED: return "MemoryError";
  default: return "RuntimeError";
  }
}

} // namespace

/// (kernel, parameters..): `kernel` a kc_kernel's address, the rest in the order of its parameters. The device is that of the
/// first tensor, the stream the environment's there.
extern "C" KC_API int __tvm_ffi_kernelc_call(void *, const Any *args, int32_t count, Any *result) {
  if (count < 1 || (args[0].type != Int && args[0].type != OpaquePtr) || !args[0].p)
    return fail("TypeError", "kernelc_call takes a kernel's address, and its arguments");
  std::vector<kc_value> values(size_t(count) - 1);
  kc_device device{KC_DEVICE_CPU, 0};
  bool found = false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!valueOf(args[i + 1], &values[i]))
      return fail("TypeError", ("argument " + std::to_string(i) + " is neither a tensor nor a number").c_str());
    if (values[i].kind == KC_VALUE_TENSOR && !found) {
      found = true;
      if (values[i].tensor->device.device_type == KC_DEVICE_CUDA)
        device = values[i].tensor->device;
    }
  }
  void *stream = nullptr;
  if (device.device_type == KC_DEVICE_CUDA)
    if (auto *current = find<void *(int32_t, int32_t)>("TVMFFIEnvGetStream"))
      stream = current(device.device_type, device.device_id);
  kc_code code = kc_call(static_cast<kc_kernel *>(args[0].p), device, values.data(), values.size(), nullptr, 0, stream);
  if (code != KC_OK)
    return fail(kindOf(code), kc_last_error());
  *result = Any{None, 0, {0}};
  return 0;
}
