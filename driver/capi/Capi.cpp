// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc.h over Session.h: translation and lifetime, no decisions.
#include "driver/capi/kernelc.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/Build.h"
#include "driver/jit/Session.h"
#include "driver/verify/Generator.h"
#include "runtime/StreamOrder.h"
#include "support/Interrupt.h"
#include "support/ThreadGate.h"

using namespace kernelc;

struct kc_session {
  std::shared_ptr<Session> session;
};
struct kc_program {
  std::vector<std::shared_ptr<JitKernel>> kernels;
};
struct kc_kernel {
  explicit kc_kernel(std::shared_ptr<JitKernel> k) : kernel(std::move(k)) {
    std::vector<std::string> names;
    for (const SizeRecipe &s : kernel->signature().sizes)
      names.push_back(s.name);
    for (const Param &p : kernel->signature().params)
      shapes.push_back(absl::StrCat(
          "[", absl::StrJoin(p.dims, ", ", [&](std::string *out, const SizeExpr &d) { out->append(d.toString(names)); }), "]"));
  }
  std::shared_ptr<JitKernel> kernel;
  std::vector<std::string> shapes; ///< of the parameters, for kc_param
};
struct kc_bound {
  BoundCall call;
};

namespace {

std::string &lastError() {
  thread_local std::string text;
  return text;
}

kc_code finish(const absl::Status &status) {
  lastError() = std::string(status.message());
  return kc_code(status.raw_code());
}

/// Whether this process may call at all; see ThreadGate.h.
absl::Status usable(const GatePass &pass) {
  return pass.isOpen()
             ? absl::OkStatus()
             : absl::FailedPreconditionError("this process was forked while another thread compiled or ran a kernel, and what that thread "
                                             "held stays held here; start workers with exec, or Python's 'spawn' method");
}
#define KC_ENTER()                                                                                                                         \
  GatePass pass;                                                                                                                           \
  if (absl::Status usableStatus = usable(pass); !usableStatus.ok())                                                                        \
  return finish(usableStatus)

absl::Status missing(const char *what) { return absl::InvalidArgumentError(absl::StrCat(what, " is null")); }

/// The options as far as the caller's struct reaches; the rest as by default.
template <typename T> absl::StatusOr<T> readOptions(const T *given) {
  T options{};
  if (!given)
    return options;
  if (given->size < sizeof(size_t) || given->size > 4096)
    return absl::InvalidArgumentError("the options' size field is not set");
  std::memcpy(&options, given, std::min(given->size, sizeof(T)));
  return options;
}

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

bool isHostMemory(const kc_tensor &t) {
  return t.device.device_type == KC_DEVICE_CPU || t.device.device_type == kHostPinned || t.device.device_type == kManaged;
}
bool isDeviceMemory(const kc_tensor &t) { return t.device.device_type == KC_DEVICE_CUDA || t.device.device_type == kManaged; }

/// Whether elements of `dtype`, unsigned integers, may be the bits of one of the types that some libraries lack.
bool isRaw(kc_dtype dtype, ElementType type) {
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
    return fail("has an element type that kernelc does not know (DLPack code ", int(t.dtype.code), ", ", int(t.dtype.bits), " bits)");
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

absl::StatusOr<ScalarValue> scalarOf(const Param &p, const kc_value &v) {
  absl::StatusOr<ScalarValue> s = v.kind == KC_VALUE_FLOAT ? ScalarValue::fromDouble(p.type, v.f)
                                  : v.kind == KC_VALUE_INT ? ScalarValue::fromInt(p.type, v.i)
                                                           : ScalarValue::fromUnsigned(p.type, uint64_t(v.i));
  return s.ok() ? s : absl::Status(s.status().code(), absl::StrCat("parameter '", p.name, "': ", s.status().message()));
}

/// Whether a tensor is what was bound, but for its address.
bool isAsBound(const DeviceTensor &bound, const kc_tensor &t, const Place &place) {
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
      return fail("has another type, shape, layout or device than the tensor that was bound");
    return NewArgument{v.tensor->data ? static_cast<char *>(v.tensor->data) + v.tensor->byte_offset : nullptr};
  }
  if (v.kind != KC_VALUE_INT && v.kind != KC_VALUE_FLOAT && v.kind != KC_VALUE_UINT)
    return fail("expected a scalar");
  absl::StatusOr<ScalarValue> s = scalarOf(p, v);
  return s.ok() ? absl::StatusOr<NewArgument>(NewArgument{nullptr, s->bits}) : s.status();
}

absl::StatusOr<std::vector<LaunchValue>> valuesOf(const Kernel &kernel, kc_device device, const kc_value *values, size_t count) {
  if (count != kernel.params.size() || (count && !values))
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
      return absl::InvalidArgumentError(absl::StrCat("parameter '", p.name, "' has no value"));
    }
  }
  return out;
}

/// NamedSize of kc_named; with `Named` Constants::value_type of either struct.
template <typename Named = NamedSize, typename T> absl::StatusOr<std::vector<Named>> namedOf(const T *named, size_t count) {
  std::vector<Named> out;
  for (size_t i = 0; i < count; ++i) {
    if (!named || !named[i].name)
      return missing("a size's name");
    out.push_back({named[i].name, named[i].value});
  }
  return out;
}

/// A caller's handle; the default stream has one spelling from here on.
cuda::StreamHandle streamOf(void *stream) {
  auto handle = static_cast<cuda::StreamHandle>(stream);
  return handle == cuda::kStreamLegacy ? nullptr : handle;
}

absl::StatusOr<Device *> gpuOf(kc_device device) {
  if (device.device_type != KC_DEVICE_CUDA)
    return absl::InvalidArgumentError("streams are a GPU's");
  absl::StatusOr<Runtime *> runtime = Runtime::instance();
  return runtime.ok() ? (*runtime)->device(device.device_id) : absl::StatusOr<Device *>(runtime.status());
}

absl::StatusOr<Place> placeOf(kc_device device) {
  switch (device.device_type) {
  case KC_DEVICE_CPU: return Place{Place::Cpu};
  case KC_DEVICE_CUDA: return Place{Place::Cuda, device.device_id};
  case KC_DEVICE_EMULATOR: return Place{Place::Emulator};
  default: return absl::InvalidArgumentError(absl::StrCat("there is no device of type ", device.device_type));
  }
}

/// A call's arguments, translated.
struct CallArgs {
  Place place;
  std::vector<LaunchValue> values;
  std::vector<NamedSize> sizes;
};
absl::StatusOr<CallArgs> argsOf(kc_kernel *kernel, kc_device device, const kc_value *values, size_t numValues, const kc_named *sizes,
                                size_t numSizes) {
  if (!kernel)
    return missing("the kernel");
  absl::StatusOr<Place> place = placeOf(device);
  if (!place.ok())
    return place.status();
  absl::StatusOr<std::vector<LaunchValue>> v = valuesOf(kernel->kernel->signature(), device, values, numValues);
  if (!v.ok())
    return v.status();
  absl::StatusOr<std::vector<NamedSize>> n = namedOf(sizes, numSizes);
  if (!n.ok())
    return n.status();
  return CallArgs{*place, *std::move(v), *std::move(n)};
}

} // namespace

int32_t kc_abi_version(void) { return KC_ABI_VERSION; }
const char *kc_version(void) { return versionString(); }
const char *kc_last_error(void) { return lastError().c_str(); }

kc_code kc_session_create(const kc_session_options *given, kc_session **session) {
  KC_ENTER();
  if (!session)
    return finish(missing("the result"));
  kc_session_options defaults{};
  defaults.disk_cache = 1;
  absl::StatusOr<kc_session_options> o = given ? readOptions(given) : absl::StatusOr<kc_session_options>(defaults);
  if (!o.ok())
    return finish(o.status());
  SessionOptions options;
  options.diskCache = o->disk_cache != 0;
  if (o->cache_path)
    options.cachePath = o->cache_path;
  if (o->max_variants > 0)
    options.maxVariants = o->max_variants;
  if (o->emulator_target)
    options.emulatorTarget = o->emulator_target;
  options.cpuThreads = o->cpu_threads;
  options.tuned = !o->untuned;
  *session = new kc_session{Session::create(std::move(options))};
  return finish(absl::OkStatus());
}
void kc_session_destroy(kc_session *session) {
  GatePass pass;
  if (pass.isOpen())
    delete session;
}

kc_device kc_session_default_device(kc_session *session) {
  if (!session)
    return {KC_DEVICE_CPU, 0};
  Place place = session->session->defaultPlace();
  return {place.kind == Place::Cuda ? KC_DEVICE_CUDA : KC_DEVICE_CPU, place.ordinal};
}

kc_code kc_compile(kc_session *session, const char *text, size_t length, const kc_compile_options *given, kc_program **program) {
  KC_ENTER();
  if (!session || !text || !program)
    return finish(missing(!session ? "the session" : !text ? "the text" : "the result"));
  absl::StatusOr<kc_compile_options> o = readOptions(given);
  if (!o.ok())
    return finish(o.status());
  ProgramOptions options;
  if (o->file_name)
    options.fileName = o->file_name;
  auto addConstants = [&](const auto *named, size_t count) {
    auto constants = namedOf<Constants::value_type>(named, count);
    if (constants.ok())
      options.constants.insert(constants->begin(), constants->end());
    return constants.status();
  };
  if (absl::Status s = addConstants(o->constants, o->num_constants); !s.ok())
    return finish(s);
  if (absl::Status s = addConstants(o->float_constants, o->num_float_constants); !s.ok())
    return finish(s);
  if (o->precision)
    if (absl::Status s = addPrecision(options.precision, o->precision); !s.ok())
      return finish(s);
  if (o->schedule) {
    options.schedule = o->schedule;
    options.scheduleName = o->schedule_name ? o->schedule_name : "<schedule>";
  }
  auto kernels = session->session->compileAll(std::string(text, length), std::move(options));
  if (!kernels.ok())
    return finish(kernels.status());
  *program = new kc_program{*std::move(kernels)};
  return finish(absl::OkStatus());
}
void kc_program_destroy(kc_program *program) {
  GatePass pass;
  if (pass.isOpen())
    delete program;
}
size_t kc_program_num_warnings(const kc_program *program) {
  return program && !program->kernels.empty() ? program->kernels[0]->warnings().size() : 0;
}
const char *kc_program_warning(const kc_program *program, size_t index) {
  return index < kc_program_num_warnings(program) ? program->kernels[0]->warnings()[index].c_str() : "";
}
size_t kc_program_num_kernels(const kc_program *program) { return program ? program->kernels.size() : 0; }
kc_code kc_program_kernel(const kc_program *program, size_t index, kc_kernel **kernel) {
  KC_ENTER();
  if (!program || !kernel)
    return finish(missing(program ? "the result" : "the program"));
  if (index >= program->kernels.size())
    return finish(absl::OutOfRangeError("there is no such kernel"));
  *kernel = new kc_kernel{program->kernels[index]};
  return finish(absl::OkStatus());
}

void kc_kernel_destroy(kc_kernel *kernel) {
  GatePass pass;
  if (pass.isOpen())
    delete kernel;
}
const char *kc_kernel_name(const kc_kernel *kernel) { return kernel ? kernel->kernel->signature().name.c_str() : ""; }
size_t kc_kernel_num_params(const kc_kernel *kernel) { return kernel ? kernel->kernel->signature().params.size() : 0; }
kc_code kc_kernel_param(const kc_kernel *kernel, size_t index, kc_param *param) {
  if (!kernel || !param)
    return finish(missing(kernel ? "the result" : "the kernel"));
  const Kernel &k = kernel->kernel->signature();
  if (index >= k.params.size())
    return finish(absl::OutOfRangeError("there is no such parameter"));
  const Param &p = k.params[index];
  kc_param full{};
  full.name = p.name.c_str();
  full.type = elementTypeName(p.type).data(); // a literal
  full.kind = p.kind == ParamKind::Input    ? KC_PARAM_INPUT
              : p.kind == ParamKind::Output ? KC_PARAM_OUTPUT
              : p.kind == ParamKind::InOut  ? KC_PARAM_INOUT
                                            : KC_PARAM_SCALAR;
  full.rank = int32_t(p.dims.size());
  full.dtype = dtypeOf(p.type);
  full.shape = kernel->shapes[index].c_str();
  full.size = std::min(param->size, sizeof(kc_param));
  std::memcpy(param, &full, full.size);
  return finish(absl::OkStatus());
}
size_t kc_kernel_num_sizes(const kc_kernel *kernel) { return kernel ? kernel->kernel->signature().sizes.size() : 0; }
const char *kc_kernel_size_name(const kc_kernel *kernel, size_t index) {
  return kernel && index < kernel->kernel->signature().sizes.size() ? kernel->kernel->signature().sizes[index].name.c_str() : "";
}

kc_code kc_kernel_shape(const kc_kernel *kernel, const kc_value *values, size_t numValues, const kc_named *sizes, size_t numSizes,
                        size_t param, int64_t *shape) {
  KC_ENTER();
  if (!kernel || !shape || (numValues && !values))
    return finish(missing("an argument"));
  const Kernel &k = kernel->kernel->signature();
  if (param >= k.params.size() || numValues > k.params.size())
    return finish(absl::OutOfRangeError("there is no such parameter"));
  absl::StatusOr<std::vector<NamedSize>> named = namedOf(sizes, numSizes);
  if (!named.ok())
    return finish(named.status());
  std::vector<MaybeShape> shapes(k.params.size());
  for (size_t i = 0; i < numValues; ++i)
    if (values[i].kind == KC_VALUE_TENSOR && values[i].tensor)
      shapes[i].emplace(values[i].tensor->shape, values[i].tensor->shape + values[i].tensor->ndim);
  absl::StatusOr<std::vector<int64_t>> solved = solveSizes(k, shapes, *named, /*partial=*/true);
  if (!solved.ok())
    return finish(solved.status());
  absl::StatusOr<std::vector<int64_t>> result = shapeOf(k, int(param), *solved);
  if (!result.ok())
    return finish(result.status());
  std::copy(result->begin(), result->end(), shape);
  return finish(absl::OkStatus());
}

kc_code kc_call(kc_kernel *kernel, kc_device device, const kc_value *values, size_t numValues, const kc_named *sizes, size_t numSizes,
                void *stream) {
  KC_ENTER();
  absl::StatusOr<CallArgs> args = argsOf(kernel, device, values, numValues, sizes, numSizes);
  if (!args.ok())
    return finish(args.status());
  InterruptScope scope;
  return finish(kernel->kernel->call(args->place, args->values, args->sizes, streamOf(stream)));
}

static std::atomic<int32_t (*)(void)> theAsked{nullptr};
int32_t kc_prepare_exit(void) { return closeGateForExit(); }
void kc_set_interrupt(int32_t (*asked)(void)) {
  theAsked.store(asked);
  setInterruptQuestion(asked ? [] {
    auto *question = theAsked.load();
    return question && question() != 0;
  } : InterruptQuestion(nullptr));
}

static kc_code bindOn(kc_kernel *kernel, kc_device device, const kc_value *values, size_t numValues, const kc_named *sizes, size_t numSizes,
                      std::optional<cuda::StreamHandle> stream, kc_bound **bound) {
  KC_ENTER();
  if (!bound)
    return finish(missing("the result"));
  absl::StatusOr<CallArgs> args = argsOf(kernel, device, values, numValues, sizes, numSizes);
  if (!args.ok())
    return finish(args.status());
  absl::StatusOr<BoundCall> call = kernel->kernel->bind(args->place, args->values, args->sizes, stream);
  if (!call.ok())
    return finish(call.status());
  *bound = new kc_bound{*std::move(call)};
  return finish(absl::OkStatus());
}
kc_code kc_bind(kc_kernel *kernel, kc_device device, const kc_value *values, size_t numValues, const kc_named *sizes, size_t numSizes,
                kc_bound **bound) {
  return bindOn(kernel, device, values, numValues, sizes, numSizes, std::nullopt, bound);
}
kc_code kc_bind_on(kc_kernel *kernel, kc_device device, const kc_value *values, size_t numValues, const kc_named *sizes, size_t numSizes,
                   void *stream, kc_bound **bound) {
  return bindOn(kernel, device, values, numValues, sizes, numSizes, streamOf(stream), bound);
}
kc_code kc_bound_launch(kc_bound *bound, void *stream) {
  KC_ENTER();
  if (!bound)
    return finish(missing("the bound call"));
  InterruptScope scope;
  absl::Status s = bound->call.launch(streamOf(stream));
  return s.ok() ? KC_OK : finish(s); // the launch path touches no string
}
kc_code kc_bound_replace(kc_bound *bound, const kc_value *values, size_t numValues) {
  KC_ENTER();
  if (!bound || (numValues && !values))
    return finish(missing(bound ? "the values" : "the bound call"));
  BoundCall &call = bound->call;
  const Kernel &kernel = call.kernel().signature();
  if (numValues != kernel.params.size())
    return finish(
        absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "' takes ", kernel.params.size(), " arguments, got ", numValues)));
  absl::InlinedVector<NewArgument, 16> next;
  for (size_t i = 0; i < numValues; ++i) {
    absl::StatusOr<NewArgument> argument = newArgumentOf(kernel.params[i], call.args().values[i], values[i], call.place());
    if (!argument.ok())
      return finish(argument.status());
    next.push_back(*argument);
  }
  absl::Status s = call.rebind(next);
  return s.ok() ? KC_OK : finish(s); // nor does this
}
kc_code kc_bound_call(kc_bound *bound, const kc_value *values, size_t numValues, void *stream) {
  kc_code code = kc_bound_replace(bound, values, numValues);
  return code ? code : kc_bound_launch(bound, stream);
}
void kc_bound_destroy(kc_bound *bound) {
  GatePass pass;
  if (pass.isOpen())
    delete bound;
}

kc_code kc_stream_wait(kc_device device, void *stream, void *awaited) {
  KC_ENTER();
  absl::StatusOr<Device *> gpu = gpuOf(device);
  return finish(gpu.ok() ? orderStreams(**gpu, streamOf(stream), streamOf(awaited)) : gpu.status());
}
kc_code kc_stream_synchronize(kc_device device, void *stream) {
  KC_ENTER();
  absl::StatusOr<Device *> gpu = gpuOf(device);
  return finish(gpu.ok() ? synchronizeStream(**gpu, streamOf(stream)) : gpu.status());
}

kc_code kc_memory_device(const void *address, kc_device *device) {
  KC_ENTER();
  if (!device)
    return finish(missing("the result"));
  absl::StatusOr<Runtime *> runtime = Runtime::instance();
  if (!runtime.ok())
    return finish(runtime.status());
  absl::StatusOr<int> ordinal = findMemoryDevice(**runtime, address);
  if (ordinal.ok())
    *device = {KC_DEVICE_CUDA, *ordinal};
  return finish(ordinal.status());
}

kc_code kc_cuda_text(kc_kernel *kernel, const char *target, const kc_value *values, size_t numValues, const kc_named *sizes,
                     size_t numSizes, char **text) {
  KC_ENTER();
  if (!target || !text)
    return finish(missing(target ? "the result" : "the target"));
  // Where the memory lies does not matter here.
  kc_device device{KC_DEVICE_CPU, 0};
  for (size_t i = 0; values && i < numValues; ++i)
    if (values[i].kind == KC_VALUE_TENSOR && values[i].tensor)
      device = values[i].tensor->device;
  absl::StatusOr<CallArgs> args = argsOf(kernel, device, values, numValues, sizes, numSizes);
  if (!args.ok())
    return finish(args.status());
  for (LaunchValue &v : args->values)
    if (auto *t = std::get_if<DeviceTensor>(&v))
      t->device = 0;
  absl::StatusOr<Kernel> variant = kernel->kernel->variantFor(target, args->values, args->sizes);
  if (!variant.ok())
    return finish(variant.status());
  const std::string &cuda = variant->variants[0].cudaText;
  *text = static_cast<char *>(std::malloc(cuda.size() + 1));
  if (!*text)
    return finish(absl::ResourceExhaustedError("no memory"));
  std::memcpy(*text, cuda.c_str(), cuda.size() + 1);
  return finish(absl::OkStatus());
}
void kc_string_destroy(char *text) { std::free(text); }

kc_code kc_fill(const kc_tensor *tensor, const char *value) {
  KC_ENTER();
  if (!tensor || !value)
    return finish(missing(tensor ? "the value" : "the tensor"));
  std::optional<ElementType> type = elementTypeOf(tensor->dtype);
  if (!type)
    return finish(absl::InvalidArgumentError("the tensor has an element type that kernelc does not know"));
  absl::StatusOr<DeviceTensor> t = tensorOf({.name = "tensor", .type = *type}, *tensor, {KC_DEVICE_CPU, 0});
  if (!t.ok())
    return finish(t.status());
  TensorView view{t->data, t->type, t->shape, t->strides};
  if (view.strides != denseStrides(view.shape))
    return finish(absl::InvalidArgumentError("only dense tensors are filled"));
  absl::StatusOr<Generator> generator = parseGenerator(value);
  return finish(generator.ok() ? fillFrom(*generator, view, 0) : generator.status());
}
