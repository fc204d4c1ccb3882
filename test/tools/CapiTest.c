/* kernelc.h is C, and a C program can compile and call a kernel. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "driver/capi/kernelc.h"

#define CHECK(c) \
  do { \
    if (!(c)) { \
      fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #c, kc_last_error()); \
      return 1; \
    } \
  } while (0)

static const char kText[] = "def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }";

int main(void) {
  kc_session *session;
  kc_program *program;
  kc_kernel *kernel;
  kc_param param = {sizeof param};
  kc_device cpu = {KC_DEVICE_CPU, 0};
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
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
    CHECK(strstr(kc_last_error(), "s.json: a schedule file is a list of records") != NULL);
    /* A caller that was built before there were schedules. */
    options.size = offsetof(kc_compile_options, schedule);
    CHECK(kc_compile(session, kText, strlen(kText), &options, &program) == KC_OK);
    kc_program_destroy(program);
  }
  CHECK(kc_bind(kernel, cpu, values, 3, NULL, 0, NULL) == KC_INVALID_ARGUMENT);
  kc_kernel_destroy(kernel);
  kc_session_destroy(session);
  return 0;
}
