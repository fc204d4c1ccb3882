/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arrays as kc_tensor, and what they look like: NumPy's through the fields that its own headers give to every extension (the
   same in 1.x and 2.x), those of PyTorch and others through DLPack's C exchange API. */
#include "python/fast/Fast.h"

enum { kKnownTypes = 8, kKnownDtypes = 32, kWordsBeforeShape = 5 };

/* PyArrayObject_fields of numpy/ndarraytypes.h: what its macros read in every extension. */
typedef struct {
  PyObject_HEAD char *data;
  int nd;
  Py_ssize_t *dimensions, *strides;
  PyObject *base, *descr;
  int flags;
} NumpyArray;
enum { kNumpyWriteable = 0x400 };

static KnownType known_types[kKnownTypes];
static int num_known_types;

static struct {
  PyObject *descr;
  kc_dtype dtype;
} known_dtypes[kKnownDtypes];
static int num_known_dtypes;

static PyObject *name_requires_grad;

int init_arrays(void) {
  name_requires_grad = PyUnicode_InternFromString("requires_grad");
  return name_requires_grad != NULL;
}

const KnownType *known_type_of(PyObject *x) {
  PyTypeObject *type = Py_TYPE(x);
  for (int k = 0; k < num_known_types; ++k)
    if (known_types[k].type == type)
      return &known_types[k];
  return NULL;
}

static int64_t alignment_of(const void *address) {
  uintptr_t a = (uintptr_t)address | 256;
  return (int64_t)(a & (~a + 1));
}

/* Whether an array can be described here; false (without an exception) sends the call to Python. */
static int read_numpy(NumpyArray *x, kc_tensor *t, int64_t *shape, int64_t *strides, int64_t *identity) {
  int i = 0;
  while (i < num_known_dtypes && known_dtypes[i].descr != x->descr)
    ++i;
  if (i == num_known_dtypes || x->nd > kMaxRank)
    return 0;
  t->dtype = known_dtypes[i].dtype;
  int size = t->dtype.bits / 8;
  for (int d = 0; d < x->nd; ++d) {
    if (x->strides[d] % size)
      return 0;
    shape[d] = x->dimensions[d];
    strides[d] = x->strides[d] / size;
  }
  t->data = x->data;
  t->device = (kc_device){KC_DEVICE_CPU, 0};
  t->ndim = x->nd;
  t->byte_offset = 0;
  *identity = ((int64_t)i << 16) | (x->flags & kNumpyWriteable);
  return 1;
}

/* Takes the reference; whether it is anything but `object`, an exception among that. */
static int is_not(PyObject *answer, PyObject *object) {
  int differs = answer != object;
  PyErr_Clear();
  Py_XDECREF(answer);
  return differs;
}

/* Whether a tensor's elements are its values, and no gradient is asked for. */
static int is_plain_tensor(const KnownType *known, PyObject *x) {
  return !(is_not(PyObject_GetAttr(x, name_requires_grad), Py_False) &&
           is_not(PyObject_CallObject(known->is_grad_enabled, NULL), Py_False)) &&
         !is_not(PyObject_CallFunctionObjArgs(known->is_neg, x, NULL), Py_False);
}

static int read_exchanged(const KnownType *known, PyObject *x, kc_tensor *t, int64_t *shape, int64_t *strides, int64_t *identity) {
  if (known->is_neg && !is_plain_tensor(known, x))
    return 0;
  if (known->api->describe(x, t)) {
    PyErr_Clear();
    return 0;
  }
  if (t->ndim > kMaxRank)
    return 0;
  int64_t dense = 1;
  for (int d = t->ndim; d-- > 0; dense *= shape[d] > 1 ? shape[d] : 1) {
    shape[d] = t->shape[d];
    strides[d] = t->strides ? t->strides[d] : dense;
  }
  *identity = ((int64_t)t->dtype.code << 32) | ((int64_t)t->dtype.bits << 16) | t->dtype.lanes;
  return 1;
}

const void *address_of(const KnownType *known, PyObject *x) {
  if (!known->api)
    return ((NumpyArray *)x)->data;
  kc_tensor t;
  if (known->api->describe(x, &t)) {
    PyErr_Clear();
    return NULL;
  }
  return (char *)t.data + t.byte_offset;
}

int read_array(PyObject *x, Key *key, Array *array) {
  const KnownType *known = known_type_of(x);
  if (!known || key->length + kWordsBeforeShape + 2 * kMaxRank > kKeyWords)
    return 0;
  int64_t *words = key->words + key->length, shape[kMaxRank], strides[kMaxRank], identity;
  kc_tensor *t = &array->tensor;
  if (!(known->api ? read_exchanged(known, x, t, shape, strides, &identity) : read_numpy((NumpyArray *)x, t, shape, strides, &identity)))
    return 0;
  array->known = known;
  words[0] = ((int64_t)(known - known_types) << 32) | (uint32_t)t->ndim;
  words[1] = identity;
  words[2] = ((int64_t)t->device.device_type << 32) | (uint32_t)t->device.device_id;
  words[3] = alignment_of((char *)t->data + t->byte_offset);
  words[4] = t->data == NULL;
  t->shape = words + kWordsBeforeShape;
  t->strides = t->shape + t->ndim;
  memcpy(t->shape, shape, sizeof(int64_t) * t->ndim);
  memcpy(t->strides, strides, sizeof(int64_t) * t->ndim);
  key->length += kWordsBeforeShape + 2 * t->ndim;
  return 1;
}

/* know_type(class, capsule of its exchange API or None for NumPy, (is_neg, is_grad_enabled, increment_version) or None): whether it is
   known now */
PyObject *module_know_type(PyObject *module, PyObject *args) {
  PyObject *type, *capsule, *functions;
  if (!PyArg_ParseTuple(args, "OOO", &type, &capsule, &functions))
    return NULL;
  for (int i = 0; i < num_known_types; ++i)
    if ((PyObject *)known_types[i].type == type)
      Py_RETURN_TRUE;
  KnownType known = {(PyTypeObject *)type, NULL, NULL, NULL, NULL};
  if (capsule != Py_None && !(known.api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api")))
    return NULL;
  if (functions != Py_None && !PyArg_ParseTuple(functions, "OOO", &known.is_neg, &known.is_grad_enabled, &known.increment_version))
    return NULL;
  if (num_known_types == kKnownTypes || !PyType_Check(type) ||
      (known.api && (known.api->major != 1 || !known.api->describe || !known.api->current_stream)))
    Py_RETURN_FALSE;
  Py_INCREF(type);
  Py_INCREF(capsule);
  Py_INCREF(functions);
  known_types[num_known_types++] = known;
  Py_RETURN_TRUE;
}

/* know_dtype(NumPy's dtype object, DLPack code, bits): whether it is known now */
PyObject *module_know_dtype(PyObject *module, PyObject *args) {
  PyObject *descr;
  int code, bits;
  if (!PyArg_ParseTuple(args, "Oii", &descr, &code, &bits))
    return NULL;
  for (int i = 0; i < num_known_dtypes; ++i)
    if (known_dtypes[i].descr == descr)
      Py_RETURN_TRUE;
  if (num_known_dtypes == kKnownDtypes)
    Py_RETURN_FALSE;
  Py_INCREF(descr);
  known_dtypes[num_known_dtypes].descr = descr;
  known_dtypes[num_known_dtypes++].dtype = (kc_dtype){(uint8_t)code, (uint8_t)bits, 1};
  Py_RETURN_TRUE;
}
