/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernelc's C interface: compile kernels from source text, call them on a GPU, on the
   CPU or on the emulator. Stable ABI: every struct that may grow begins with its size,
   handles are opaque, and kc_abi_version() says what a library speaks.

   Every function that may fail returns a kc_code; kc_last_error() then has the text, for
   the calling thread, until its next call. Handles may be used from several threads at
   once, but for kc_bound. Nothing here throws or ends the process. */
#ifndef KERNELC_CAPI_KERNELC_H
#define KERNELC_CAPI_KERNELC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KC_ABI_VERSION 1
#define KC_API __attribute__((visibility("default")))

/* 0, or one of absl's status codes. */
typedef int32_t kc_code;
enum {
  KC_OK = 0,
  KC_CANCELLED = 1,        /* see kc_set_interrupt */
  KC_INVALID_ARGUMENT = 3, /* the program or the arguments are wrong */
  KC_NOT_FOUND = 5,
  KC_RESOURCE_EXHAUSTED = 8,
  KC_FAILED_PRECONDITION = 9,
  KC_OUT_OF_RANGE = 11,
  KC_UNIMPLEMENTED = 12,
  KC_INTERNAL = 13,
  KC_UNAVAILABLE = 14, /* no driver, no GPU, no NVRTC */
  KC_DATA_LOSS = 15    /* the emulator found mistakes */
};

/* The structures of DLPack 1.x, under names of our own so that both headers may meet. */
typedef struct {
  int32_t device_type; /* 1 CPU, 2 CUDA, 3 CUDA host, 13 CUDA managed */
  int32_t device_id;
} kc_device;
#define KC_DEVICE_CPU 1
#define KC_DEVICE_CUDA 2
#define KC_DEVICE_EMULATOR 1000 /* not DLPack's: CPU memory, run by the emulator */

typedef struct {
  uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 10 f8e4m3fn, 12 f8e5m2 */
  uint8_t bits;
  uint16_t lanes;
} kc_dtype;

typedef struct {
  void *data;
  kc_device device;
  int32_t ndim;
  kc_dtype dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; null: dense */
  uint64_t byte_offset;
} kc_tensor;

/* One argument. Unsigned tensors may stand for types that a framework lacks: uint16 for bf16, uint8
   for the f8 types. Any other type must be the parameter's. */
enum { KC_VALUE_NONE = 0, KC_VALUE_TENSOR = 1, KC_VALUE_INT = 2, KC_VALUE_FLOAT = 3, KC_VALUE_UINT = 4 };
typedef struct {
  int32_t kind;
  const kc_tensor *tensor;
  int64_t i; /* KC_VALUE_UINT: the bits of a uint64_t */
  double f;
} kc_value;

/* A size or constant given by name. */
typedef struct {
  const char *name;
  int64_t value;
} kc_named;

/* A constant of a float type given by name. */
typedef struct {
  const char *name;
  double value;
} kc_named_float;
typedef struct {
  const char *name;
  uint64_t value;
} kc_named_unsigned;

typedef struct kc_session kc_session;
typedef struct kc_program kc_program;
typedef struct kc_kernel kc_kernel;
typedef struct kc_bound kc_bound;

KC_API int32_t kc_abi_version(void);
KC_API const char *kc_version(void);
/* What went wrong in this thread's last call; "" after a success. */
KC_API const char *kc_last_error(void);

typedef struct {
  size_t size;                 /* sizeof(kc_session_options) */
  const char *cache_path;      /* null: the default */
  int32_t disk_cache;          /* 0: none */
  int32_t max_variants;        /* 0: the default */
  const char *emulator_target; /* null: the default */
  int32_t cpu_threads;         /* 0: all */
  int32_t untuned;             /* 1: no schedules that `kernelc tune` has kept in the cache */
  const char *compile; /* what calls do whose code is not there yet: "block", "tiered", "strict"; null: $KERNELC_COMPILE, else tiered */
} kc_session_options;

/* `options` may be null. */
KC_API kc_code kc_session_create(const kc_session_options *options, kc_session **session);
KC_API void kc_session_destroy(kc_session *session);
/* The device that a call without a preference should use. */
KC_API kc_device kc_session_default_device(kc_session *session);

typedef struct {
  size_t size;               /* sizeof(kc_compile_options) */
  const char *file_name;     /* for messages; null: "<string>" */
  const kc_named *constants; /* sizes and const parameters to fix */
  size_t num_constants;
  const char *precision;     /* "contract=tf32", "accumulate=fast" or "rel=1e-3"; takes the place of the kernels' own; null: none */
  const char *schedule;      /* JSON list of records that replace the cost model's (docs/cli.md, --schedule); null: none */
  const char *schedule_name; /* what messages call it; null: "<schedule>" */
  const kc_named_float *float_constants; /* const parameters of float types to fix, beside `constants` */
  size_t num_float_constants;
  const kc_named_unsigned *unsigned_constants; /* the same for what `constants` cannot hold: 2^63 and more */
  size_t num_unsigned_constants;
  int32_t known_only; /* 1: KC_NOT_FOUND, at once, where the disk cache does not have what the text says; 2: after that answer,
                         compiles without asking the cache a second time */
} kc_compile_options;

/* Imports a source text; its errors are the message. `options` may be null. */
KC_API kc_code kc_compile(kc_session *session, const char *text, size_t length, const kc_compile_options *options, kc_program **program);
KC_API void kc_program_destroy(kc_program *program);
KC_API size_t kc_program_num_kernels(const kc_program *program);
/* What the text says that hardly was meant (a literal beyond its type), with its line; the program owns it. */
KC_API size_t kc_program_num_warnings(const kc_program *program);
KC_API const char *kc_program_warning(const kc_program *program, size_t index);
/* Owned by the caller; outlives the program. */
KC_API kc_code kc_program_kernel(const kc_program *program, size_t index, kc_kernel **kernel);

KC_API void kc_kernel_destroy(kc_kernel *kernel);
KC_API const char *kc_kernel_name(const kc_kernel *kernel);
KC_API size_t kc_kernel_num_params(const kc_kernel *kernel);
enum { KC_PARAM_INPUT = 0, KC_PARAM_OUTPUT = 1, KC_PARAM_INOUT = 2, KC_PARAM_SCALAR = 3 };
typedef struct {
  size_t size; /* sizeof(kc_param) */
  const char *name;
  const char *type; /* "bf16" */
  int32_t kind;
  int32_t rank;
  kc_dtype dtype;
  const char *shape; /* "[M, 2 * N]"; "[]" for scalars */
} kc_param;
KC_API kc_code kc_kernel_param(const kc_kernel *kernel, size_t index, kc_param *param);
KC_API size_t kc_kernel_num_sizes(const kc_kernel *kernel);
KC_API const char *kc_kernel_size_name(const kc_kernel *kernel, size_t index);

/* The shape parameter `param` must have, from the tensors among `values` (KC_VALUE_NONE
   where there is none yet) and the sizes given by name. `shape` holds the rank. */
KC_API kc_code kc_kernel_shape(const kc_kernel *kernel, const kc_value *values, size_t num_values, const kc_named *sizes, size_t num_sizes,
                               size_t param, int64_t *shape);

/* Runs the kernel: `values` follow the parameters. On a GPU the work is queued on
   `stream` (a CUstream; null or 1: the default stream, 2: the calling thread's own), else it has
   finished. */
KC_API kc_code kc_call(kc_kernel *kernel, kc_device device, const kc_value *values, size_t num_values, const kc_named *sizes,
                       size_t num_sizes, void *stream);

/* Work on the CPU and the emulator (kc_call, kc_bound_launch, kc_bound_call) asks `asked` every 20 ms or so, on the
   thread that called, and ends with KC_CANCELLED once it answers other than 0. The emulator then has written nothing, the
   CPU parts of the outputs. Null: nobody is asked. For the whole process. */
KC_API void kc_set_interrupt(int32_t (*asked)(void));

/* To be called before exit() where other threads may still call: interrupts what they run, waits 2 seconds at most until none of
   them is inside, and keeps all but this thread out for good. Their calls then wait for the process to end, and after 5 seconds
   end with KC_CANCELLED; the functions that destroy handles do nothing. 1: none is inside. */
KC_API int32_t kc_prepare_exit(void);

/* Compiles and loads what kc_call of these arguments on `stream` needs, and runs nothing. */
KC_API kc_code kc_prepare(kc_kernel *kernel, kc_device device, const kc_value *values, size_t num_values, const kc_named *sizes,
                          size_t num_sizes, void *stream);
/* Compiles, checks and packs a call once, to be launched often: on a GPU the launches are queued, else they have
   finished. The tensors must outlive it, or be replaced. For one thread at a time. */
KC_API kc_code kc_bind(kc_kernel *kernel, kc_device device, const kc_value *values, size_t num_values, const kc_named *sizes,
                       size_t num_sizes, kc_bound **bound);
/* The same for launches on `stream`: refused (KC_FAILED_PRECONDITION) before anything is compiled or loaded while that
   stream captures a graph, as a call on it is. */
KC_API kc_code kc_bind_on(kc_kernel *kernel, kc_device device, const kc_value *values, size_t num_values, const kc_named *sizes,
                          size_t num_sizes, void *stream, kc_bound **bound);
KC_API kc_code kc_bound_launch(kc_bound *bound, void *stream);
/* kc_bound_launch with other tensors and scalars, which stay for the launches that follow. Of a tensor everything
   but the address must be as it was bound (KC_INVALID_ARGUMENT), and the address as aligned as the code needs that
   was bound (KC_FAILED_PRECONDITION: bind again). Costs no allocation; refused arguments change nothing. */
KC_API kc_code kc_bound_call(kc_bound *bound, const kc_value *values, size_t num_values, void *stream);
/* The first half of kc_bound_call: launches nothing. */
KC_API kc_code kc_bound_replace(kc_bound *bound, const kc_value *values, size_t num_values);
KC_API void kc_bound_destroy(kc_bound *bound);

/* Order between streams of a GPU, for callers who are given arrays that other libraries fill on streams
   of their own. Streams are CUstreams: null or 1 is the default stream, 2 the calling thread's own.
   kc_stream_wait: what is queued on `stream` from now on starts after all that is queued on `awaited` so
   far; the host does not wait, and nothing is done where both are the same. kc_stream_synchronize: the
   host waits until all that is queued on `stream` so far has finished. */
KC_API kc_code kc_stream_wait(kc_device device, void *stream, void *awaited);
KC_API kc_code kc_stream_synchronize(kc_device device, void *stream);

/* The GPU whose memory `address` lies in. KC_INVALID_ARGUMENT where the driver knows no such memory, or a context that another
   library made owns it. */
KC_API kc_code kc_memory_device(const void *address, kc_device *device);

/* The CUDA C text that these arguments would run on `target` ("sm_90a"). Freed with
   kc_string_destroy. */
KC_API kc_code kc_cuda_text(kc_kernel *kernel, const char *target, const kc_value *values, size_t num_values, const kc_named *sizes,
                            size_t num_sizes, char **text);
KC_API void kc_string_destroy(char *text);

/* Fills a dense tensor in host memory as the command line's values do: zeros, ones, iota, random[:SEED][:LO..HI][:specials]. */
KC_API kc_code kc_fill(const kc_tensor *tensor, const char *value);

#ifdef __cplusplus
}
#endif
#endif
