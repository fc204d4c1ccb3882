// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kc_xla_call_cpu, kc_xla_call_cuda: kc_call as a handler of XLA's foreign function interface, for JAX under jit
// (python/kernelc/_jax.py). Its C ABI alone (xla/ffi/api/c_api.h, 0.x), as far as it is used here: structs begin with their size and
// grow at the end, and all functions come with the call.
#include <cstring>
#include <string>
#include <vector>

#include "driver/capi/kernelc.h"

namespace {

struct Extension {
  size_t size;
  int type;
  Extension *next;
};
struct ApiVersion {
  size_t size;
  Extension *extensions;
  int major, minor;
};
struct ErrorCreate {
  size_t size;
  Extension *extensions;
  const char *message;
  int code; ///< absl's
};
struct StreamGet {
  size_t size;
  Extension *extensions;
  void *context;
  void *stream; ///< out
};
struct Api {
  size_t size;
  Extension *extensions;
  ApiVersion version;
  const void *internal;
  void *(*errorCreate)(ErrorCreate *);
  void *errorGet, *errorDestroy, *handlerRegister;
  void *(*streamGet)(StreamGet *);
};
struct Metadata {
  size_t size;
  ApiVersion version;
  uint32_t traits;
};
struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};
constexpr int kMetadata = 1;

struct Buffer {
  size_t size;
  Extension *extensions;
  int type;
  void *data;
  int64_t rank;
  int64_t *dims;
};
struct Buffers { ///< arguments, or results
  size_t size;
  Extension *extensions;
  int64_t count;
  int *types;
  Buffer **buffers;
};
struct Name {
  const char *text;
  size_t length;
};
struct Scalar {
  int type;
  const void *value;
};
struct Attributes {
  size_t size;
  Extension *extensions;
  int64_t count;
  int *types;
  Name **names;
  void **values;
};
constexpr int kScalarAttribute = 3;
struct Frame {
  size_t size;
  Extension *extensions;
  const Api *api;
  void *context;
  int stage;
  Buffers arguments, results;
  Attributes attributes;
};
constexpr int kExecute = 3;

/// XLA's element types, by number: predicates, integers, floats.
bool dtypeOf(int type, kc_dtype *dtype) {
  switch (type) {
  case 1: *dtype = {6, 8, 1}; return true;
  case 2:
  case 3:
  case 4:
  case 5: *dtype = {0, uint8_t(8 << (type - 2)), 1}; return true;
  case 6:
  case 7:
  case 8:
  case 9: *dtype = {1, uint8_t(8 << (type - 6)), 1}; return true;
  case 10:
  case 11:
  case 12: *dtype = {2, uint8_t(16 << (type - 10)), 1}; return true;
  case 16: *dtype = {4, 16, 1}; return true;
  case 19: *dtype = {12, 8, 1}; return true;
  case 20: *dtype = {10, 8, 1}; return true;
  default: return false;
  }
}

/// A call's parts as kc_call takes them.
struct Call {
  kc_kernel *kernel = nullptr;
  kc_device device{KC_DEVICE_CPU, 0};
  std::vector<kc_tensor> tensors;
  std::vector<kc_value> values;
  std::vector<std::string> sizeNames;
  std::vector<kc_named> sizes;
};

void *fail(const Frame &frame, int code, const std::string &text) {
  ErrorCreate args{sizeof(ErrorCreate), nullptr, text.c_str(), code};
  return frame.api->errorCreate(&args);
}

/// What is written in attributes: "kernel" its address, "size NAME" a size, the number of a parameter a scalar.
bool readAttributes(const Attributes &attributes, Call *call, std::vector<std::pair<size_t, kc_value>> *scalars) {
  for (int64_t i = 0; i < attributes.count; ++i) {
    std::string name(attributes.names[i]->text, attributes.names[i]->length);
    if (attributes.types[i] != kScalarAttribute)
      return false;
    const auto *scalar = static_cast<const Scalar *>(attributes.values[i]);
    int64_t integer = 0;
    double number = 0;
    kc_dtype dtype{};
    if (!dtypeOf(scalar->type, &dtype) || dtype.bits != 64)
      return false;
    std::memcpy(dtype.code == 2 ? static_cast<void *>(&number) : &integer, scalar->value, 8);
    if (name == "kernel") {
      call->kernel = reinterpret_cast<kc_kernel *>(integer);
    } else if (name.rfind("size ", 0) == 0) {
      call->sizeNames.push_back(name.substr(5));
      call->sizes.push_back({nullptr, integer});
    } else {
      kc_value value{dtype.code == 2 ? KC_VALUE_FLOAT : dtype.code == 1 ? KC_VALUE_UINT : KC_VALUE_INT, nullptr, integer, number};
      scalars->emplace_back(std::stoul(name), value);
    }
  }
  for (size_t i = 0; i < call->sizes.size(); ++i)
    call->sizes[i].name = call->sizeNames[i].c_str();
  return call->kernel != nullptr;
}

/// Arguments are the tensors that are read, results those that are written; of what is both, the result, which XLA has made a copy of the
/// argument.
bool readBuffers(const Frame &frame, Call *call) {
  size_t count = kc_kernel_num_params(call->kernel);
  call->tensors.resize(count);
  call->values.resize(count);
  int64_t argument = 0, result = 0;
  for (size_t i = 0; i < count; ++i) {
    kc_param param{};
    param.size = sizeof(param);
    if (kc_kernel_param(call->kernel, i, &param))
      return false;
    if (param.kind == KC_PARAM_SCALAR)
      continue;
    bool isArgument = param.kind != KC_PARAM_OUTPUT, isResult = param.kind != KC_PARAM_INPUT;
    if ((isArgument && argument == frame.arguments.count) || (isResult && result == frame.results.count))
      return false;
    const Buffer *b = isArgument ? frame.arguments.buffers[argument] : nullptr;
    b = isResult ? frame.results.buffers[result] : b;
    argument += isArgument;
    result += isResult;
    kc_tensor &t = call->tensors[i];
    t = {b->data, {KC_DEVICE_CPU, 0}, int32_t(b->rank), {}, b->dims, nullptr, 0};
    if (!dtypeOf(b->type, &t.dtype))
      return false;
    call->values[i] = {KC_VALUE_TENSOR, &t, 0, 0};
  }
  return argument == frame.arguments.count && result == frame.results.count;
}

/// The GPU that the call runs on, by its memory.
kc_code findDevice(Call *call) {
  call->device = {KC_DEVICE_CUDA, 0};
  for (const kc_tensor &t : call->tensors)
    if (t.data) {
      if (kc_code code = kc_memory_device(t.data, &call->device))
        return code;
      break;
    }
  for (kc_tensor &t : call->tensors)
    t.device = call->device;
  return KC_OK;
}

void *run(Frame *frame, bool onGpu) {
  for (Extension *e = frame->extensions; e; e = e->next)
    if (e->type == kMetadata) { // what kind of handler is this?
      Metadata &metadata = *reinterpret_cast<MetadataExtension *>(e)->metadata;
      metadata.version.major = frame->api ? frame->api->version.major : 0;
      metadata.version.minor = frame->api ? frame->api->version.minor : 1;
      metadata.traits = 0;
      return nullptr;
    }
  if (frame->stage != kExecute)
    return nullptr;
  Call call;
  std::vector<std::pair<size_t, kc_value>> scalars;
  if (!readAttributes(frame->attributes, &call, &scalars) || !readBuffers(*frame, &call))
    return fail(*frame, KC_INVALID_ARGUMENT, "the call does not fit the kernel; kernelc's Kernel.jax() makes such calls");
  for (const auto &[param, value] : scalars)
    if (param < call.values.size())
      call.values[param] = value;
  void *stream = nullptr;
  if (onGpu) {
    StreamGet get{sizeof(StreamGet), nullptr, frame->context, nullptr};
    if (void *error = frame->api->streamGet(&get))
      return error;
    stream = get.stream;
    if (kc_code code = findDevice(&call))
      return fail(*frame, code, kc_last_error());
  }
  kc_code code = kc_call(call.kernel, call.device, call.values.data(), call.values.size(), call.sizes.data(), call.sizes.size(), stream);
  return code ? fail(*frame, code, kc_last_error()) : nullptr;
}

} // namespace

extern "C" KC_API void *kc_xla_call_cpu(void *frame) { return run(static_cast<Frame *>(frame), false); }
extern "C" KC_API void *kc_xla_call_cuda(void *frame) { return run(static_cast<Frame *>(frame), true); }
