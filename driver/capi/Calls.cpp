// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc.h: calls, bound calls, and what goes with them.
#include <atomic>
#include <cstdlib>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "driver/capi/Values.h"
#include "driver/jit/Faults.h"
#include "driver/verify/Generator.h"
#include "runtime/StreamOrder.h"
#include "support/Interrupt.h"

using namespace kernelc;
using namespace kernelc::capi;

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
kc_code kc_prepare(kc_kernel *kernel, kc_device device, const kc_value *values, size_t numValues, const kc_named *sizes, size_t numSizes,
                   void *stream) {
  KC_ENTER();
  absl::StatusOr<CallArgs> args = argsOf(kernel, device, values, numValues, sizes, numSizes);
  return finish(args.ok() ? kernel->kernel->prepare(args->place, args->values, args->sizes, streamOf(stream)) : args.status());
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
  const Kernel &kernel = call.kernel().signature(), &visible = call.kernel().visible();
  if (numValues != visible.params.size())
    return finish(absl::InvalidArgumentError(
        absl::StrCat("kernel '", kernel.name, "' takes ", visible.params.size(), " arguments, got ", numValues)));
  absl::InlinedVector<NewArgument, 16> next;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (int(i) == call.kernel().recordParam()) { // stays
      next.push_back({call.args().tensor(int(i))->data});
      continue;
    }
    absl::StatusOr<NewArgument> argument = newArgumentOf(kernel.params[i], call.args().values[i], *values++, call.place());
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
void kc_bound_destroy(kc_bound *bound) { destroy(bound); }

kc_code kc_stream_wait(kc_device device, void *stream, void *awaited) {
  KC_ENTER();
  absl::StatusOr<Device *> gpu = gpuOf(device);
  return finish(gpu.ok() ? orderStreams(**gpu, streamOf(stream), streamOf(awaited)) : gpu.status());
}
kc_code kc_stream_synchronize(kc_device device, void *stream) {
  KC_ENTER();
  absl::StatusOr<Device *> gpu = gpuOf(device);
  absl::Status status = gpu.ok() ? synchronizeStream(**gpu, streamOf(stream)) : gpu.status();
  return finish(status.ok() ? DeviceFaults::takeAny() : status);
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
