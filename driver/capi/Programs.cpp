// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc.h: sessions, programs, and what kernels say of themselves.
#include <limits>

#include "absl/strings/str_cat.h"
#include "driver/capi/Values.h"
#include "driver/compile/Build.h"

using namespace kernelc;
using namespace kernelc::capi;

int32_t kc_abi_version(void) { return KC_ABI_VERSION; }
const char *kc_version(void) { return versionString(); }

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
  if (o->compile) {
    absl::StatusOr<CompilePolicy> policy = parseCompilePolicy(o->compile);
    if (!policy.ok())
      return finish(policy.status());
    options.compile = *policy;
  }
  *session = new kc_session{Session::create(std::move(options))};
  return finish(absl::OkStatus());
}
void kc_session_destroy(kc_session *session) { destroy(session); }

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
    if (!constants.ok())
      return constants.status();
    for (auto &[name, value] : *constants) {
      auto *u = std::get_if<uint64_t>(&value);
      bool isSmall = u && *u <= uint64_t(std::numeric_limits<int64_t>::max()); // one text for one number
      options.constants.emplace(name, isSmall ? Constant(int64_t(*u)) : value);
    }
    return absl::OkStatus();
  };
  if (absl::Status s = addConstants(o->constants, o->num_constants); !s.ok())
    return finish(s);
  if (absl::Status s = addConstants(o->float_constants, o->num_float_constants); !s.ok())
    return finish(s);
  if (absl::Status s = addConstants(o->unsigned_constants, o->num_unsigned_constants); !s.ok())
    return finish(s);
  if (o->precision)
    if (absl::Status s = addPrecision(options.precision, o->precision); !s.ok())
      return finish(absl::Status(s.code(), absl::StrCat("precision: ", s.message())));
  if (o->schedule) {
    options.schedule = o->schedule;
    options.scheduleName = o->schedule_name ? o->schedule_name : "<schedule>";
  }
  if (o->known_only < 0 || o->known_only > 2)
    return finish(absl::InvalidArgumentError(absl::StrCat("known_only is 0, 1 or 2, not ", o->known_only)));
  auto kernels = o->known_only == 1 ? session->session->findAll(std::string(text, length), std::move(options))
                                    : session->session->compileAll(std::string(text, length), std::move(options), o->known_only == 2);
  if (!kernels.ok())
    return finish(kernels.status());
  *program = new kc_program{*std::move(kernels)};
  return finish(absl::OkStatus());
}
void kc_program_destroy(kc_program *program) { destroy(program); }
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
    return finish(absl::OutOfRangeError(absl::StrCat("there is no kernel ", index, "; the program has ", program->kernels.size())));
  *kernel = new kc_kernel{program->kernels[index]};
  return finish(absl::OkStatus());
}

void kc_kernel_destroy(kc_kernel *kernel) { destroy(kernel); }
const char *kc_kernel_name(const kc_kernel *kernel) { return kernel ? kernel->kernel->signature().name.c_str() : ""; }
size_t kc_kernel_num_params(const kc_kernel *kernel) { return kernel ? kernel->kernel->visible().params.size() : 0; }
kc_code kc_kernel_param(const kc_kernel *kernel, size_t index, kc_param *param) {
  if (!kernel || !param)
    return finish(missing(kernel ? "the result" : "the kernel"));
  const Kernel &k = kernel->kernel->visible();
  if (index >= k.params.size())
    return finish(absl::OutOfRangeError(absl::StrCat("there is no parameter ", index, "; kernel '", k.name, "' has ", k.params.size())));
  if (param->size < sizeof(size_t))
    return finish(absl::InvalidArgumentError("the parameter's size field is not set: it is the sizeof of its struct"));
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
  const Kernel &k = kernel->kernel->visible();
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
