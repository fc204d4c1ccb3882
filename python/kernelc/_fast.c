/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The warm path of a call: kernelc._fast, an extension of Python's limited API (any CPython from 3.9), which
   kernelc/_kernel.py works without.

   A call whose arguments look as those of an earlier one (types of arrays, element types, shapes, strides, alignment,
   device) takes that one's bound call (kc_bind) and gives it the new addresses and numbers (kc_bound_call). Everything
   else is Python's: what is not known here goes to `_call_slow`, a new signature to `_bind_for`, and both make every
   check. Decides nothing about arrays but whether two look the same.

   NumPy's arrays are read through the fields that its own headers give to every extension (the same in 1.x and 2.x), those
   of PyTorch and others through DLPack's C exchange API. The interpreter lock is let go while a kernel runs. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stddef.h>
#include <string.h>

#include "driver/capi/kernelc.h"

enum { kMaxRank = 12, kMaxParams = 24, kKeyWords = 384, kEntries = 32, kKnownTypes = 8, kKnownDtypes = 32, kWordsBeforeShape = 5 };

/* ---- Whose arrays are read here ---- */

/* PyArrayObject_fields of numpy/ndarraytypes.h: what its macros read in every extension. */
typedef struct {
  PyObject_HEAD char *data;
  int nd;
  Py_ssize_t *dimensions, *strides;
  PyObject *base, *descr;
  int flags;
} NumpyArray;
enum { kNumpyWriteable = 0x400 };

/* DLPackExchangeAPI of dlpack.h 1.2 and later. */
typedef struct {
  uint32_t major, minor;
  void *previous;
  void *allocate, *from_object, *to_object;
  int (*describe)(void *object, kc_tensor *out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void **stream);
} ExchangeApi;

typedef struct {
  PyTypeObject *type;
  const ExchangeApi *api; /* null: NumPy's ndarray */
  PyObject *is_neg;       /* PyTorch's, null elsewhere: tensors may need a gradient or be negated lazily */
  PyObject *increment_version;
} KnownType;
static KnownType known_types[kKnownTypes];
static int num_known_types;

static struct {
  PyObject *descr;
  kc_dtype dtype;
} known_dtypes[kKnownDtypes];
static int num_known_dtypes;

static kc_code (*bound_call)(kc_bound *, const kc_value *, size_t, void *);
static void (*bound_destroy)(kc_bound *);
static PyObject *name_requires_grad, *name_current_level, *name_forward_ad, *forward_ad;

/* ---- A call's signature ---- */

typedef struct {
  int64_t words[kKeyWords];
  int length;
} Key;

/* One array: `tensor` points into `key`, which it is appended to. */
typedef struct {
  kc_tensor tensor;
  const KnownType *known;
} Array;

static uint64_t hash_of(const Key *key) {
  uint64_t h = 1469598103934665603u;
  for (int i = 0; i < key->length; ++i)
    h = (h ^ (uint64_t)key->words[i]) * 1099511628211u + (h >> 29);
  return h;
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

static int is_true_attribute(PyObject *x, PyObject *name) {
  PyObject *value = PyObject_GetAttr(x, name);
  int answer = value != Py_False;
  PyErr_Clear();
  Py_XDECREF(value);
  return answer;
}

static int read_exchanged(const KnownType *known, PyObject *x, kc_tensor *t, int64_t *shape, int64_t *strides, int64_t *identity) {
  if (known->is_neg) {
    if (is_true_attribute(x, name_requires_grad))
      return 0;
    PyObject *negated = PyObject_CallFunctionObjArgs(known->is_neg, x, NULL);
    int plain = negated == Py_False;
    Py_XDECREF(negated);
    PyErr_Clear();
    if (!plain)
      return 0;
  }
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

static int read_array(PyObject *x, Key *key, Array *array) {
  PyTypeObject *type = Py_TYPE(x);
  int k = 0;
  while (k < num_known_types && known_types[k].type != type)
    ++k;
  if (k == num_known_types || key->length + kWordsBeforeShape + 2 * kMaxRank > kKeyWords)
    return 0;
  const KnownType *known = &known_types[k];
  int64_t *words = key->words + key->length, shape[kMaxRank], strides[kMaxRank], identity;
  kc_tensor *t = &array->tensor;
  if (!(known->api ? read_exchanged(known, x, t, shape, strides, &identity) : read_numpy((NumpyArray *)x, t, shape, strides, &identity)))
    return 0;
  array->known = known;
  words[0] = ((int64_t)k << 32) | (uint32_t)t->ndim;
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

static int read_number(PyObject *x, kc_value *value) {
  *value = (kc_value){KC_VALUE_FLOAT, NULL, 0, 0};
  if (PyFloat_CheckExact(x)) {
    value->f = PyFloat_AsDouble(x);
    return 1;
  }
  if (!PyLong_CheckExact(x) && !PyBool_Check(x))
    return 0;
  int overflow;
  value->kind = KC_VALUE_INT;
  value->i = PyLong_AsLongLongAndOverflow(x, &overflow);
  return !overflow;
}

/* ---- The callable ---- */

typedef struct {
  uint64_t hash;
  int64_t *words;
  int length;
  kc_bound *bound;
  PyObject *makers; /* instead of a bound call, for inputs alone: what makes the outputs */
  int busy;
} Entry;

typedef struct {
  PyObject_HEAD int num_inputs, num_params; /* positions: inputs first, then outputs, each in the order of the text */
  int param[kMaxParams];                    /* of a position */
  char is_scalar[kMaxParams], is_written[kMaxParams];
  PyObject *names; /* of the positions */
  Entry entries[kEntries];
  int num_entries, next_entry;
} Caller;

static void clear_entry(Entry *e) {
  if (e->bound)
    bound_destroy(e->bound);
  Py_XDECREF(e->makers);
  PyMem_Free(e->words);
  memset(e, 0, sizeof *e);
}

static Entry *find_entry(Caller *self, const Key *key, uint64_t hash) {
  for (int i = 0; i < self->num_entries; ++i) {
    Entry *e = &self->entries[i];
    if (e->hash == hash && e->length == key->length && !memcmp(e->words, key->words, sizeof(int64_t) * key->length))
      return e;
  }
  return NULL;
}

/* The place for a new entry: a free one, else that of the oldest that is not in use; null: there is none. */
static Entry *new_entry(Caller *self, const Key *key, uint64_t hash) {
  int place = self->num_entries < kEntries ? self->num_entries++ : -1;
  for (int tries = 0; place < 0 && tries < kEntries; ++tries) {
    int candidate = self->next_entry++ % kEntries;
    if (!self->entries[candidate].busy)
      place = candidate;
  }
  if (place < 0)
    return NULL;
  Entry *e = &self->entries[place];
  clear_entry(e);
  e->words = PyMem_Malloc(sizeof(int64_t) * (key->length + 1));
  if (!e->words)
    return NULL;
  memcpy(e->words, key->words, sizeof(int64_t) * key->length);
  e->length = key->length;
  e->hash = hash;
  return e;
}

static PyObject *call_slow(Caller *self, PyObject *args, PyObject *named) {
  PyObject *slow = PyObject_GetAttrString((PyObject *)self, "_call_slow");
  PyObject *result = slow ? PyObject_Call(slow, args, named) : NULL;
  Py_XDECREF(slow);
  return result;
}

/* Positional arguments and outputs given by name, as `given` by position. False: something else, which Python looks at. */
static int place_arguments(Caller *self, PyObject *args, PyObject *named, PyObject **given) {
  Py_ssize_t count = PyTuple_Size(args);
  if (!self->names || count > self->num_params || count < self->num_inputs)
    return 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    given[i] = PyTuple_GetItem(args, i);
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (named && PyDict_Next(named, &at, &name, &value)) {
    int i = (int)count;
    while (i < self->num_params && PyUnicode_Compare(name, PyTuple_GetItem(self->names, i)))
      ++i;
    if (i == self->num_params || given[i])
      return 0;
    given[i] = value;
  }
  return 1;
}

/* Whether forward-mode differentiation is on: rare, and Python's to judge. */
static int differentiates_forward(void) {
  if (!forward_ad) {
    PyObject *modules = PyImport_GetModuleDict();
    forward_ad = PyDict_GetItemWithError(modules, name_forward_ad);
    if (!forward_ad) {
      PyErr_Clear();
      return 0;
    }
    Py_INCREF(forward_ad);
  }
  PyObject *level = PyObject_GetAttr(forward_ad, name_current_level);
  long value = level ? PyLong_AsLong(level) : -1;
  PyErr_Clear();
  Py_XDECREF(level);
  return value >= 0;
}

typedef struct {
  Key key;
  kc_value values[kMaxParams];
  Array arrays[kMaxParams];
  int torch, device_type, device_id; /* of the arrays so far */
  const KnownType *on_gpu;
} Reading;

static int read_position(Caller *self, int position, PyObject *x, Reading *r) {
  kc_value *value = &r->values[self->param[position]];
  if (self->is_scalar[position])
    return read_number(x, value);
  Array *array = &r->arrays[position];
  if (!read_array(x, &r->key, array))
    return 0;
  *value = (kc_value){KC_VALUE_TENSOR, &array->tensor, 0, 0};
  r->torch |= array->known->is_neg != NULL;
  int type = array->tensor.device.device_type, id = array->tensor.device.device_id;
  if (!r->device_type) {
    r->device_type = type;
    r->device_id = id;
    r->on_gpu = type == KC_DEVICE_CUDA ? array->known : NULL;
  }
  return r->device_type == type && (type == KC_DEVICE_CPU || (type == KC_DEVICE_CUDA && id == r->device_id && r->on_gpu == array->known));
}

/* The outputs that the caller did not give, made as the first call with such inputs did; new references in `given` from `first` on. */
static int make_outputs(Caller *self, PyObject *args, PyObject **given, int first, Reading *r) {
  uint64_t hash = hash_of(&r->key) ^ 1;
  Entry *e = find_entry(self, &r->key, hash);
  if (!e) {
    PyObject *makers = PyObject_CallMethod((PyObject *)self, "_makers_for", "(O)", args);
    if (!makers)
      return -1;
    if (!PyTuple_Check(makers) || PyTuple_Size(makers) != self->num_params - first || !(e = new_entry(self, &r->key, hash))) {
      Py_DECREF(makers);
      return PyErr_Occurred() ? -1 : 0;
    }
    e->makers = makers;
  }
  PyObject *makers = e->makers;
  Py_INCREF(makers);
  int made = 1;
  for (int i = first; i < self->num_params && made > 0; ++i) {
    given[i] = PyObject_CallObject(PyTuple_GetItem(makers, i - first), NULL);
    made = !given[i] ? -1 : read_position(self, i, given[i], r);
  }
  Py_DECREF(makers);
  return made;
}

static Entry *bind_new(Caller *self, PyObject **given, const Key *key, uint64_t hash) {
  PyObject *all = PyTuple_New(self->num_params);
  for (int i = 0; all && i < self->num_params; ++i) {
    Py_INCREF(given[i]);
    PyTuple_SetItem(all, i, given[i]);
  }
  PyObject *handle = all ? PyObject_CallMethod((PyObject *)self, "_bind_for", "(O)", all) : NULL;
  Py_XDECREF(all);
  if (!handle)
    return NULL;
  void *bound = PyLong_AsVoidPtr(handle);
  Py_DECREF(handle);
  Entry *e = bound ? new_entry(self, key, hash) : NULL;
  if (e)
    e->bound = bound;
  else if (bound)
    bound_destroy(bound);
  return e;
}

/* PyTorch hears of what was written. */
static int mark_written(Caller *self, PyObject **given, int count, const Reading *r) {
  for (int i = 0; i < count; ++i) {
    const KnownType *known = self->is_written[i] ? r->arrays[i].known : NULL;
    if (!known || !known->increment_version)
      continue;
    PyObject *one = PyTuple_Pack(1, given[i]);
    PyObject *done = one ? PyObject_CallFunctionObjArgs(known->increment_version, one, NULL) : NULL;
    Py_XDECREF(one);
    Py_XDECREF(done);
    if (!done)
      return 0;
  }
  return 1;
}

static PyObject *results_of(Caller *self, PyObject **given) {
  int outputs = self->num_params - self->num_inputs;
  if (!outputs)
    Py_RETURN_NONE;
  if (outputs == 1) {
    Py_INCREF(given[self->num_inputs]);
    return given[self->num_inputs];
  }
  PyObject *all = PyTuple_New(outputs);
  for (int i = 0; all && i < outputs; ++i) {
    Py_INCREF(given[self->num_inputs + i]);
    PyTuple_SetItem(all, i, given[self->num_inputs + i]);
  }
  return all;
}

/* Launches; null with an exception. */
static PyObject *launch(Caller *self, Entry *e, PyObject **given, int from_caller, Reading *r) {
  void *stream = NULL;
  if (r->on_gpu && r->on_gpu->api->current_stream(KC_DEVICE_CUDA, r->device_id, &stream))
    return NULL;
  e->busy = 1;
  kc_code code;
  Py_BEGIN_ALLOW_THREADS code = bound_call(e->bound, r->values, self->num_params, stream);
  Py_END_ALLOW_THREADS e->busy = 0;
  if (code) {
    PyObject *raised = PyErr_Occurred() ? NULL : PyObject_CallMethod((PyObject *)self, "_raise", "i", (int)code);
    Py_XDECREF(raised);
    return NULL;
  }
  return mark_written(self, given, from_caller, r) ? results_of(self, given) : NULL;
}

static PyObject *caller_call(PyObject *object, PyObject *args, PyObject *named) {
  Caller *self = (Caller *)object;
  PyObject *given[kMaxParams] = {0};
  Reading r;
  r.key.length = r.torch = r.device_type = r.device_id = 0;
  r.on_gpu = NULL;
  if (!bound_call || !place_arguments(self, args, named, given))
    return call_slow(self, args, named);
  int count = 0; /* given by the caller; outputs are all given, or none */
  for (; count < self->num_params && given[count]; ++count)
    if (!read_position(self, count, given[count], &r))
      return call_slow(self, args, named);
  int lacking = self->num_params - count;
  if (!r.device_type || (lacking && count != self->num_inputs) || (r.torch && differentiates_forward()))
    return call_slow(self, args, named);
  for (int i = count; i < self->num_params; ++i)
    if (given[i])
      return call_slow(self, args, named);
  int made = lacking ? make_outputs(self, args, given, count, &r) : 1;
  PyObject *result = NULL;
  if (made > 0) {
    uint64_t hash = hash_of(&r.key);
    Entry *e = find_entry(self, &r.key, hash);
    if (!e)
      e = bind_new(self, given, &r.key, hash);
    if (e && !e->busy)
      result = launch(self, e, given, count, &r);
    else if (!PyErr_Occurred())
      made = 0;
  }
  for (int i = count; i < self->num_params; ++i)
    Py_XDECREF(given[i]);
  if (made == 0 && !PyErr_Occurred()) {
    Py_XDECREF(result);
    return call_slow(self, args, named);
  }
  return result;
}

/* _setup(number of inputs, ((parameter, is scalar, is written), ..) by position, names by position) */
static PyObject *caller_setup(PyObject *object, PyObject *args) {
  Caller *self = (Caller *)object;
  PyObject *positions, *names;
  int inputs;
  if (!PyArg_ParseTuple(args, "iO!O!", &inputs, &PyTuple_Type, &positions, &PyTuple_Type, &names))
    return NULL;
  Py_ssize_t count = PyTuple_Size(positions);
  if (count > kMaxParams || PyTuple_Size(names) != count || self->names)
    Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < count; ++i) {
    int scalar, written;
    if (!PyArg_ParseTuple(PyTuple_GetItem(positions, i), "ipp", &self->param[i], &scalar, &written))
      return NULL;
    if (self->param[i] < 0 || self->param[i] >= count) {
      PyErr_SetString(PyExc_ValueError, "no such parameter");
      return NULL;
    }
    self->is_scalar[i] = (char)scalar;
    self->is_written[i] = (char)written;
  }
  self->num_inputs = inputs;
  self->num_params = (int)count;
  Py_INCREF(names);
  self->names = names;
  Py_RETURN_TRUE;
}

static void caller_dealloc(PyObject *object) {
  Caller *self = (Caller *)object;
  for (int i = 0; i < self->num_entries; ++i)
    clear_entry(&self->entries[i]);
  Py_CLEAR(self->names);
  PyTypeObject *type = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef caller_methods[] = {{"_setup", caller_setup, METH_VARARGS, NULL}, {0}};
static PyType_Slot caller_slots[] = {{Py_tp_call, caller_call},
                                     {Py_tp_methods, caller_methods},
                                     {Py_tp_dealloc, caller_dealloc},
                                     {Py_tp_doc, "What is called: see kernelc.Kernel."},
                                     {0, NULL}};
static PyType_Spec caller_spec = {"kernelc._fast.Caller", sizeof(Caller), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, caller_slots};

/* ---- The module ---- */

/* What a signal's handler raised while a kernel ran: Ctrl-C's KeyboardInterrupt. Kept until the call has come back. */
static PyObject *interrupt_type, *interrupt_value, *interrupt_trace;

static int32_t hear_signals(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  int32_t raised = PyErr_CheckSignals() != 0;
  if (raised)
    PyErr_Fetch(&interrupt_type, &interrupt_value, &interrupt_trace);
  PyGILState_Release(state);
  return raised;
}

/* raise_interrupt(): raises what was kept, if anything was */
static PyObject *module_raise_interrupt(PyObject *module, PyObject *unused) {
  if (!interrupt_type)
    Py_RETURN_NONE;
  PyErr_Restore(interrupt_type, interrupt_value, interrupt_trace);
  interrupt_type = interrupt_value = interrupt_trace = NULL;
  return NULL;
}

/* link(address of kc_bound_call, of kc_bound_destroy, of kc_set_interrupt) */
static PyObject *module_link(PyObject *module, PyObject *args) {
  unsigned long long call, destroy, set_interrupt;
  if (!PyArg_ParseTuple(args, "KKK", &call, &destroy, &set_interrupt))
    return NULL;
  ((void (*)(int32_t (*)(void)))(uintptr_t)set_interrupt)(hear_signals);
  bound_call = (kc_code (*)(kc_bound *, const kc_value *, size_t, void *))(uintptr_t)call;
  bound_destroy = (void (*)(kc_bound *))(uintptr_t)destroy;
  Py_RETURN_NONE;
}

/* know_type(class, capsule of its exchange API or None for NumPy, is_neg or None, increment_version or None): whether it is known now */
static PyObject *module_know_type(PyObject *module, PyObject *args) {
  PyObject *type, *capsule, *is_neg, *increment;
  if (!PyArg_ParseTuple(args, "OOOO", &type, &capsule, &is_neg, &increment))
    return NULL;
  for (int i = 0; i < num_known_types; ++i)
    if ((PyObject *)known_types[i].type == type)
      Py_RETURN_TRUE;
  const ExchangeApi *api = capsule == Py_None ? NULL : PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  if (PyErr_Occurred())
    return NULL;
  if (num_known_types == kKnownTypes || !PyType_Check(type) || (api && (api->major != 1 || !api->describe || !api->current_stream)))
    Py_RETURN_FALSE;
  KnownType *known = &known_types[num_known_types++];
  *known = (KnownType){(PyTypeObject *)type, api, is_neg == Py_None ? NULL : is_neg, increment == Py_None ? NULL : increment};
  Py_INCREF(type);
  Py_INCREF(capsule);
  Py_XINCREF(known->is_neg);
  Py_XINCREF(known->increment_version);
  Py_RETURN_TRUE;
}

/* know_dtype(NumPy's dtype object, DLPack code, bits): whether it is known now */
static PyObject *module_know_dtype(PyObject *module, PyObject *args) {
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

static PyMethodDef module_methods[] = {{"link", module_link, METH_VARARGS, NULL},
                                       {"raise_interrupt", module_raise_interrupt, METH_NOARGS, NULL},
                                       {"know_type", module_know_type, METH_VARARGS, NULL},
                                       {"know_dtype", module_know_dtype, METH_VARARGS, NULL},
                                       {0}};
static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "kernelc._fast", "The warm path of a call.", -1, module_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fast(void) {
  PyObject *module = PyModule_Create(&module_def);
  PyObject *caller = module ? PyType_FromSpec(&caller_spec) : NULL;
  name_requires_grad = PyUnicode_InternFromString("requires_grad");
  name_current_level = PyUnicode_InternFromString("_current_level");
  name_forward_ad = PyUnicode_InternFromString("torch.autograd.forward_ad");
  if (!caller || !name_requires_grad || !name_current_level || !name_forward_ad || PyModule_AddObject(module, "Caller", caller)) {
    Py_XDECREF(caller);
    Py_XDECREF(module);
    return NULL;
  }
  return module;
}
