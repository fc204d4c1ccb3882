/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The launch of a bound call whose arrays are all of one framework, on that framework's current stream, or on the CPU, and lie where
   they lay. Any other launch is `_launch_slow`'s, which says what is wrong. */
#include "python/fast/Fast.h"

enum { kMaxArrays = 24 };

typedef struct {
  PyObject_HEAD kc_bound *bound; /* null: Python's to launch */
  const KnownType *on_gpu;       /* of the arrays; null: on the CPU */
  PyObject *increment_version;   /* borrowed of a KnownType; null: nobody hears of what is written */
  int device_id, busy, num_arrays;
  const void *addresses[kMaxArrays];
} Bound;

static PyObject *name_outputs, *name_written, *name_arrays;

int init_bound(void) {
  name_outputs = PyUnicode_InternFromString("outputs");
  name_written = PyUnicode_InternFromString("_written");
  name_arrays = PyUnicode_InternFromString("_arrays");
  return name_outputs && name_written && name_arrays;
}

/* PyTorch hears of `_written`, a tuple. */
static int mark_written(Bound *self) {
  if (!self->increment_version)
    return 1;
  PyObject *written = PyObject_GetAttr((PyObject *)self, name_written);
  PyObject *done = written ? PyObject_CallFunctionObjArgs(self->increment_version, written, NULL) : NULL;
  Py_XDECREF(written);
  Py_XDECREF(done);
  return done != NULL;
}

/* Where the arrays of the tuple `_arrays` lie: whether all of them can say. */
static int find_addresses(PyObject *self, const void **addresses, int *count) {
  PyObject *arrays = PyObject_GetAttr(self, name_arrays);
  Py_ssize_t size = arrays && PyTuple_Check(arrays) ? PyTuple_Size(arrays) : kMaxArrays + 1;
  int found = size <= kMaxArrays;
  for (Py_ssize_t i = 0; found && i < size; ++i) {
    PyObject *x = PyTuple_GetItem(arrays, i);
    const KnownType *known = known_type_of(x);
    found = known != NULL;
    addresses[i] = known ? address_of(known, x) : NULL;
  }
  Py_XDECREF(arrays);
  PyErr_Clear();
  *count = found ? (int)size : 0;
  return found;
}

/* Whether memory was freed or moved since the call was bound: resized tensors and arrays. */
static int has_moved(Bound *self) {
  const void *addresses[kMaxArrays];
  int count;
  return !find_addresses((PyObject *)self, addresses, &count) || count != self->num_arrays ||
         memcmp(addresses, self->addresses, sizeof(void *) * (size_t)count);
}

/* launch(stream=None) */
static PyObject *bound_launch(PyObject *object, PyObject *args, PyObject *named) {
  Bound *self = (Bound *)object;
  if (!self->bound || PyTuple_Size(args) || (named && PyDict_Size(named)) || has_moved(self)) {
    PyObject *slow = PyObject_GetAttrString(object, "_launch_slow");
    PyObject *result = slow ? PyObject_Call(slow, args, named) : NULL;
    Py_XDECREF(slow);
    return result;
  }
  if (self->busy) {
    PyErr_SetString(PyExc_RuntimeError, "another thread is launching this bound call; bind one for each thread");
    return NULL;
  }
  void *stream = NULL;
  if (self->on_gpu && self->on_gpu->api->current_stream(KC_DEVICE_CUDA, self->device_id, &stream))
    return NULL;
  self->busy = 1;
  kc_code code;
  Py_BEGIN_ALLOW_THREADS code = library.bound_launch(self->bound, stream);
  Py_END_ALLOW_THREADS self->busy = 0;
  if (code)
    return raise_code(object, code);
  return mark_written(self) ? PyObject_GetAttr(object, name_outputs) : NULL;
}

/* _arm(handle, an array of the framework whose stream is followed or None for the CPU, GPU, an array of the framework that hears of
   writes or None): from now on launches are made here, if the arrays are of known classes. A handle of 0: no longer. */
static PyObject *bound_arm(PyObject *object, PyObject *args) {
  Bound *self = (Bound *)object;
  unsigned long long handle;
  PyObject *lead, *hearer;
  int device_id;
  if (!PyArg_ParseTuple(args, "KOiO", &handle, &lead, &device_id, &hearer))
    return NULL;
  self->bound = NULL;
  self->on_gpu = lead == Py_None ? NULL : known_type_of(lead);
  const KnownType *heard = hearer == Py_None ? NULL : known_type_of(hearer);
  if ((lead != Py_None && (!self->on_gpu || !self->on_gpu->api)) || (hearer != Py_None && (!heard || !heard->increment_version)) ||
      !library.bound_launch || !find_addresses(object, self->addresses, &self->num_arrays))
    Py_RETURN_FALSE;
  self->increment_version = heard ? heard->increment_version : NULL;
  self->device_id = device_id;
  self->bound = (kc_bound *)(uintptr_t)handle;
  Py_RETURN_TRUE;
}

static void bound_dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef bound_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))bound_launch, METH_VARARGS | METH_KEYWORDS,
     "launch(stream=None)\n--\n\nQueues the call, as Kernel says of `stream` and of the order; returns `outputs`."},
    {"_arm", bound_arm, METH_VARARGS, NULL},
    {0}};
static PyType_Slot bound_slots[] = {{Py_tp_methods, bound_methods}, {Py_tp_dealloc, bound_dealloc}, {0, NULL}};
PyType_Spec bound_spec = {"kernelc._fast.Bound", sizeof(Bound), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, bound_slots};
