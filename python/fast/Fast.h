// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* kernelc._fast: the warm path of calls and launches, an extension of Python's limited API (any CPython from 3.9), which
   python/kernelc works without. Arrays.c reads arrays; Caller.c is a kernel's call, Bound.c the launch of a bound call,
   Module.c what Python tells the extension. Decides nothing about arrays but whether two look the same. */
#ifndef KERNELC_PYTHON_FAST_H
#define KERNELC_PYTHON_FAST_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stddef.h>
#include <string.h>

#include "driver/capi/kernelc.h"

/* ---- Arrays.c ---- */

enum { kMaxRank = 12, kKeyWords = 384 };

/* What a call's arguments look like. */
typedef struct {
  int64_t words[kKeyWords];
  int length;
} Key;

/* DLPackExchangeAPI of dlpack.h 1.2 and later. */
typedef struct {
  uint32_t major, minor;
  void *previous;
  void *allocate, *from_object, *to_object;
  int (*describe)(void *object, kc_tensor *out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void **stream);
} ExchangeApi;

/* A class of arrays that are read here. */
typedef struct {
  PyTypeObject *type;
  const ExchangeApi *api; /* null: NumPy's ndarray */
  /* PyTorch's functions, null elsewhere. */
  PyObject *is_neg, *is_grad_enabled, *increment_version;
} KnownType;

/* The class of `x`, or null. */
const KnownType *known_type_of(PyObject *x);

/* One array: `tensor` points into the key that it was appended to. */
typedef struct {
  kc_tensor tensor;
  const KnownType *known;
} Array;

/* Describes an array and appends what it looks like to `key`. False, without an exception: Python has to look at it. */
int read_array(PyObject *x, Key *key, Array *array);

/* Where an array of a known class lies now; null for one that cannot say. */
const void *address_of(const KnownType *known, PyObject *x);

PyObject *module_know_type(PyObject *module, PyObject *args);
PyObject *module_know_dtype(PyObject *module, PyObject *args);
int init_arrays(void);

/* ---- The library's functions, once Python has told them ---- */

typedef struct {
  kc_code (*bound_call)(kc_bound *, const kc_value *, size_t, void *);
  kc_code (*bound_launch)(kc_bound *, void *);
  void (*bound_destroy)(kc_bound *);
} Library;
extern Library library;

/* Raises what the library said of `code` in this thread, as `self._raise(code)` has it; null. */
PyObject *raise_code(PyObject *self, kc_code code);

/* ---- The classes ---- */

extern PyType_Spec caller_spec, bound_spec;
int init_caller(void);
int init_bound(void);

#endif
