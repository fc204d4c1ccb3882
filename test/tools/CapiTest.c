/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernelc.h is C, and a C program can compile and call a kernel. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "driver/capi/kernelc.h"

#define CHECK(c)                                                                                                                           \
  do {                                                                                                                                     \
    if (!(c)) {                                                                                                                            \
      fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #c, kc_last_error());                                                  \
      return 1;                                                                                                                            \
    }                                                                                                                                      \
  } while (0)

static const char kText[] = "def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }";

int main(void) {
  kc_session *session;
  kc_program *program;
  kc_kernel *kernel;
  kc_param param = {sizeof param};
  kc_device cpu = {KC_DEVICE_CPU, 0};
  float x[4] __attribute__((aligned(16))) = {1, 2, 3, 4}, y[4] __attribute__((aligned(16))) = {0};
  int64_t n = 4, shape[1];
  kc_tensor tx = {x, {KC_DEVICE_CPU, 0}, 1, {2, 32, 1}, &n, NULL, 0}, ty = {y, {KC_DEVICE_CPU, 0}, 1, {2, 32, 1}, &n, NULL, 0};
  kc_value values[3] = {{KC_VALUE_FLOAT, NULL, 0, 2.0}, {KC_VALUE_TENSOR, &tx, 0, 0}, {KC_VALUE_NONE, NULL, 0, 0}};

  CHECK(kc_abi_version() == KC_ABI_VERSION);
  CHECK(kc_session_create(NULL, &session) == KC_OK);
  CHECK(kc_compile(session, kText, strlen(kText), NULL, &program) == KC_OK);
  CHECK(kc_program_num_kernels(program) == 1);
  CHECK(kc_program_kernel(program, 0, &kernel) == KC_OK);
  kc_program_destroy(program);
  CHECK(strcmp(kc_kernel_name(kernel), "scale") == 0);
  CHECK(kc_kernel_num_params(kernel) == 3);
  CHECK(kc_kernel_param(kernel, 2, &param) == KC_OK && strcmp(param.name, "y") == 0 && param.kind == KC_PARAM_OUTPUT);
  CHECK(kc_kernel_shape(kernel, values, 3, NULL, 0, 2, shape) == KC_OK && shape[0] == 4);
  CHECK(kc_call(kernel, cpu, values, 3, NULL, 0, NULL) == KC_INVALID_ARGUMENT);
  CHECK(strstr(kc_last_error(), "'y' has no value") != NULL);
  values[2].kind = KC_VALUE_TENSOR;
  values[2].tensor = &ty;
  CHECK(kc_call(kernel, cpu, values, 3, NULL, 0, NULL) == KC_OK);
  CHECK(y[0] == 2 && y[3] == 8);
  {
    /* Options of a caller that knows fewer of them are taken, and those that it does not know are off. */
    kc_session_options options = {sizeof options};
    kc_session *other;
    options.untuned = 1;
    CHECK(kc_session_create(&options, &other) == KC_OK);
    kc_session_destroy(other);
    options.size = offsetof(kc_session_options, untuned);
    CHECK(kc_session_create(&options, &other) == KC_OK);
    kc_session_destroy(other);
  }
  /* Misuse is an error, never a crash. */
  CHECK(kc_call(NULL, cpu, values, 3, NULL, 0, NULL) == KC_INVALID_ARGUMENT);
  CHECK(kc_call(kernel, cpu, NULL, 3, NULL, 0, NULL) == KC_INVALID_ARGUMENT);
  CHECK(strstr(kc_last_error(), "the array of values is null") != NULL);
  {
    kc_value odd[3] = {{7, NULL, 0, 2.0}, {KC_VALUE_TENSOR, NULL, 0, 0}, values[2]};
    CHECK(kc_call(kernel, cpu, odd, 3, NULL, 0, NULL) == KC_INVALID_ARGUMENT);
    CHECK(strstr(kc_last_error(), "'a' has a value of kind 7") != NULL);
    odd[0] = values[0];
    CHECK(kc_call(kernel, cpu, odd, 3, NULL, 0, NULL) == KC_INVALID_ARGUMENT);
    CHECK(strstr(kc_last_error(), "'x' has a tensor that is null") != NULL);
    kc_param unsized = {0};
    CHECK(kc_kernel_param(kernel, 0, &unsized) == KC_INVALID_ARGUMENT);
    CHECK(kc_kernel_param(kernel, 3, &param) == KC_OUT_OF_RANGE && strstr(kc_last_error(), "'scale' has 3") != NULL);
  }
  CHECK(kc_compile(session, "def", 3, NULL, &program) == KC_INVALID_ARGUMENT);
  CHECK(strlen(kc_last_error()) > 0);
  {
    kc_compile_options options = {sizeof options};
    options.precision = "contract=f31";
    CHECK(kc_compile(session, kText, strlen(kText), &options, &program) == KC_INVALID_ARGUMENT);
    CHECK(strstr(kc_last_error(), "contract takes tf32, bf16, f16, f8e4m3, f8e5m2, bf16x3 or tf32x3") != NULL);
    options.precision = "contract=tf32";
    CHECK(kc_compile(session, kText, strlen(kText), &options, &program) == KC_OK);
    kc_program_destroy(program);
  }
  {
    /* A const parameter of a float type keeps its fraction. */
    static const char kConst[] = "def f(const c: f32) -> (y: f32[]) { y[] = c }";
    kc_named_float c = {"c", 2.5};
    kc_compile_options options = {sizeof options};
    kc_tensor t = {y, {KC_DEVICE_CPU, 0}, 0, {2, 32, 1}, NULL, NULL, 0};
    kc_value value = {KC_VALUE_TENSOR, &t, 0, 0};
    kc_kernel *constant;
    options.float_constants = &c;
    options.num_float_constants = 1;
    CHECK(kc_compile(session, kConst, strlen(kConst), &options, &program) == KC_OK);
    CHECK(kc_program_kernel(program, 0, &constant) == KC_OK);
    kc_program_destroy(program);
    CHECK(kc_call(constant, cpu, &value, 1, NULL, 0, NULL) == KC_OK && y[0] == 2.5f);
    kc_kernel_destroy(constant);
  }
  {
    /* One of u64 has its upper half, and one of i64 takes no number of it. */
    static const char kConst[] = "def f(const c: u64) -> (y: u64[]) { y[] = c }";
    static const char kSigned[] = "def f(const c: i64) -> (y: i64[]) { y[] = c }";
    kc_named_unsigned c = {"c", UINT64_MAX - 1};
    kc_compile_options options = {sizeof options};
    uint64_t got = 0;
    kc_tensor t = {&got, {KC_DEVICE_CPU, 0}, 0, {1, 64, 1}, NULL, NULL, 0};
    kc_value value = {KC_VALUE_TENSOR, &t, 0, 0};
    kc_kernel *constant;
    options.unsigned_constants = &c;
    options.num_unsigned_constants = 1;
    CHECK(kc_compile(session, kConst, strlen(kConst), &options, &program) == KC_OK);
    CHECK(kc_program_kernel(program, 0, &constant) == KC_OK);
    kc_program_destroy(program);
    CHECK(kc_call(constant, cpu, &value, 1, NULL, 0, NULL) == KC_OK && got == UINT64_MAX - 1);
    kc_kernel_destroy(constant);
    CHECK(kc_compile(session, kSigned, strlen(kSigned), &options, &program) == KC_INVALID_ARGUMENT);
    c.value = 7;
    CHECK(kc_compile(session, kSigned, strlen(kSigned), &options, &program) == KC_OK);
    kc_program_destroy(program);
  }
  {
    /* Records of a schedule reach the CUDA text; a wrong one is named. */
    kc_compile_options options = {sizeof options};
    kc_kernel *scheduled;
    char *text;
    options.schedule = "[{\"kernel\": \"scale\", \"launch\": \"y\", \"warps\": 2}]";
    CHECK(kc_compile(session, kText, strlen(kText), &options, &program) == KC_OK);
    CHECK(kc_program_kernel(program, 0, &scheduled) == KC_OK);
    kc_program_destroy(program);
    CHECK(kc_cuda_text(scheduled, "sm_90a", values, 3, NULL, 0, &text) == KC_OK);
    CHECK(strstr(text, "warps 2") != NULL);
    kc_string_destroy(text);
    kc_kernel_destroy(scheduled);
    CHECK(kc_cuda_text(kernel, "sm_90a", values, 3, NULL, 0, &text) == KC_OK);
    CHECK(strstr(text, "warps 2") == NULL);
    kc_string_destroy(text);
    options.schedule = "{}";
    options.schedule_name = "s.json";
    CHECK(kc_compile(session, kText, strlen(kText), &options, &program) == KC_INVALID_ARGUMENT);
    CHECK(strstr(kc_last_error(), "s.json:1:1: error: a schedule file is a list of records") != NULL);
    /* A caller that was built before there were schedules. */
    options.size = offsetof(kc_compile_options, schedule);
    CHECK(kc_compile(session, kText, strlen(kText), &options, &program) == KC_OK);
    kc_program_destroy(program);
  }
  {
    /* 16 bits of an unsigned type stand for bf16, which frameworks lack, and not for f16, which they have. */
    static const char *texts[] = {"def f(x: bf16[N]) -> (y: f32[N]) { y[i] = f32(x[i]) }",
                                  "def f(x: f16[N]) -> (y: f32[N]) { y[i] = f32(x[i]) }"};
    uint16_t bits[4] = {0x3f80, 0x4000, 0, 0};
    kc_tensor tb = {bits, {KC_DEVICE_CPU, 0}, 1, {1, 16, 1}, &n, NULL, 0};
    kc_value two[2] = {{KC_VALUE_TENSOR, &tb, 0, 0}, {KC_VALUE_TENSOR, &ty, 0, 0}};
    for (int i = 0; i < 2; ++i) {
      kc_kernel *narrow;
      CHECK(kc_compile(session, texts[i], strlen(texts[i]), NULL, &program) == KC_OK);
      CHECK(kc_program_kernel(program, 0, &narrow) == KC_OK);
      kc_program_destroy(program);
      CHECK(kc_call(narrow, cpu, two, 2, NULL, 0, NULL) == (i ? KC_INVALID_ARGUMENT : KC_OK));
      CHECK(i || (y[0] == 1 && y[1] == 2));
      CHECK(!i || strstr(kc_last_error(), "parameter 'x': expected elements of type f16, got u16") != NULL);
      kc_kernel_destroy(narrow);
    }
    tb.device.device_type = KC_DEVICE_CUDA;
    CHECK(kc_call(kernel, cpu, values, 3, NULL, 0, NULL) == KC_OK);
    values[1].tensor = &tb;
    CHECK(kc_call(kernel, cpu, values, 3, NULL, 0, NULL) == KC_INVALID_ARGUMENT);
    CHECK(strstr(kc_last_error(), "parameter 'x': lies on cuda:0, and the call runs on the cpu") != NULL);
    values[1].tensor = &tx;
  }
  /* A number that the type has no finite value for is refused; infinity is one that it has. */
  values[0].f = 1e39;
  CHECK(kc_call(kernel, cpu, values, 3, NULL, 0, NULL) != KC_OK &&
        strstr(kc_last_error(), "parameter 'a': 1e+39 does not fit in f32") != NULL);
  values[0].f = 1 / 0.0;
  CHECK(kc_call(kernel, cpu, values, 3, NULL, 0, NULL) == KC_OK);
  /* Streams are a GPU's. */
  CHECK(kc_stream_wait(cpu, NULL, NULL) == KC_INVALID_ARGUMENT && strstr(kc_last_error(), "streams are a GPU's") != NULL);
  CHECK(kc_stream_synchronize(cpu, NULL) == KC_INVALID_ARGUMENT);
  CHECK(kc_memory_device(x, NULL) == KC_INVALID_ARGUMENT);
  CHECK(kc_bind(kernel, cpu, values, 3, NULL, 0, NULL) == KC_INVALID_ARGUMENT);
  {
    /* A bound call on the CPU, with other tensors and scalars. */
    float x2[64] __attribute__((aligned(256))) = {5, 6, 7, 8}, y2[64] __attribute__((aligned(256))) = {0};
    kc_tensor tx2 = tx, ty2 = ty, three = tx;
    int64_t m = 3;
    kc_bound *bound;
    tx2.data = x2;
    ty2.data = y2;
    three.shape = &m;
    values[0].f = 2;
    CHECK(kc_bind(kernel, cpu, values, 3, NULL, 0, &bound) == KC_OK);
    CHECK(kc_bound_launch(bound, NULL) == KC_OK && y[3] == 8);
    kc_value next[3] = {{KC_VALUE_INT, NULL, 3, 0}, {KC_VALUE_TENSOR, &tx2, 0, 0}, {KC_VALUE_TENSOR, &ty2, 0, 0}};
    CHECK(kc_bound_call(bound, next, 3, NULL) == KC_OK && y2[0] == 15 && y2[3] == 24 && y[3] == 8);
    CHECK(kc_bound_launch(bound, NULL) == KC_OK);
    next[1].tensor = &three;
    CHECK(kc_bound_call(bound, next, 3, NULL) == KC_INVALID_ARGUMENT);
    CHECK(strstr(kc_last_error(), "parameter 'x': has another type, shape, layout or device") != NULL);
    next[1].tensor = &tx2;
    tx2.data = y2 + 1;
    CHECK(kc_bound_call(bound, next, 3, NULL) != KC_OK);
    tx2.data = x2;
    ty2.data = x2;
    CHECK(kc_bound_call(bound, next, 3, NULL) == KC_INVALID_ARGUMENT &&
          strstr(kc_last_error(), "'y': is written, but overlaps parameter 'x'") != NULL);
    CHECK(kc_bound_call(bound, next, 2, NULL) == KC_INVALID_ARGUMENT);
    next[0].kind = KC_VALUE_NONE;
    CHECK(kc_bound_call(bound, next, 3, NULL) == KC_INVALID_ARGUMENT);
    CHECK(kc_bound_call(NULL, next, 3, NULL) == KC_INVALID_ARGUMENT);
    kc_bound_destroy(bound);
  }
  kc_kernel_destroy(kernel);
  kc_session_destroy(session);
  return 0;
}
