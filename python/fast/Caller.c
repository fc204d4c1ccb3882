/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The call of a kernel. One whose arguments look as those of an earlier one (types of arrays, element types, shapes, strides,
   alignment, device) takes that one's bound call (kc_bind) and gives it the new addresses and numbers (kc_bound_call). Everything
   else is Python's: what is not known here goes to `_call_slow`, a new signature to `_bind_for`, and both make every check. The
   interpreter lock is let go while a kernel runs. */
#include "python/fast/Fast.h"

enum { kMaxParams = 24, kEntries = 32 };

static PyObject *name_current_level, *name_forward_ad, *forward_ad;

int init_caller(void) {
  name_current_level = PyUnicode_InternFromString("_current_level");
  name_forward_ad = PyUnicode_InternFromString("torch.autograd.forward_ad");
  return name_current_level && name_forward_ad;
}

static uint64_t hash_of(const Key *key) {
  uint64_t h = 1469598103934665603u;
  for (int i = 0; i < key->length; ++i)
    h = (h ^ (uint64_t)key->words[i]) * 1099511628211u + (h >> 29);
  return h;
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

/* Without the interpreter lock: the library's threads may hold what it waits for, and the one that hears signals asks for that lock. */
static void destroy_bound(kc_bound *bound) {
  if (!bound)
    return;
  Py_BEGIN_ALLOW_THREADS library.bound_destroy(bound);
  Py_END_ALLOW_THREADS
}

/* What was an entry and is one no more. Other threads may run meanwhile. */
static void drop_entry(Entry e) {
  Py_XDECREF(e.makers);
  PyMem_Free(e.words);
  destroy_bound(e.bound);
}

static Entry *find_entry(Caller *self, const Key *key, uint64_t hash) {
  for (int i = 0; i < self->num_entries; ++i) {
    Entry *e = &self->entries[i];
    if (e->hash == hash && e->length == key->length && !memcmp(e->words, key->words, sizeof(int64_t) * key->length))
      return e;
  }
  return NULL;
}

/* Keeps what is made for `key`, a bound call or makers, which it takes: in a free place, else in that of the oldest entry that is
   not in use. Null: there is none, and the caller has it still. */
static Entry *add_entry(Caller *self, const Key *key, uint64_t hash, kc_bound *bound, PyObject *makers) {
  int64_t *words = PyMem_Malloc(sizeof(int64_t) * (key->length + 1));
  int place = self->num_entries < kEntries ? self->num_entries++ : -1;
  for (int tries = 0; place < 0 && tries < kEntries; ++tries) {
    int candidate = self->next_entry++ % kEntries;
    if (!self->entries[candidate].busy)
      place = candidate;
  }
  if (place < 0 || !words) {
    PyMem_Free(words);
    return NULL;
  }
  memcpy(words, key->words, sizeof(int64_t) * key->length);
  Entry *e = &self->entries[place], old = *e;
  *e = (Entry){hash, words, key->length, bound, makers, 1};
  drop_entry(old);
  e->busy = 0; /* not taken by others meanwhile */
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
    if (!PyTuple_Check(makers) || PyTuple_Size(makers) != self->num_params - first || !(e = add_entry(self, &r->key, hash, NULL, makers))) {
      Py_DECREF(makers);
      return PyErr_Occurred() ? -1 : 0;
    }
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
  Entry *e = bound ? add_entry(self, key, hash, bound, NULL) : NULL;
  if (!e)
    destroy_bound(bound);
  return e;
}

/* PyTorch hears of what was written. */
static int mark_written(Caller *self, PyObject **given, int count, const Reading *r) {
  PyObject *written[kMaxParams], *increment_version = NULL;
  int num_written = 0;
  for (int i = 0; i < count; ++i) {
    if (!self->is_written[i] || !r->arrays[i].known->increment_version)
      continue;
    increment_version = r->arrays[i].known->increment_version;
    written[num_written++] = given[i];
  }
  if (!num_written)
    return 1;
  PyObject *all = PyTuple_New(num_written);
  for (int i = 0; all && i < num_written; ++i) {
    Py_INCREF(written[i]);
    PyTuple_SetItem(all, i, written[i]);
  }
  PyObject *done = all ? PyObject_CallFunctionObjArgs(increment_version, all, NULL) : NULL;
  Py_XDECREF(all);
  Py_XDECREF(done);
  return done != NULL;
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
  Py_BEGIN_ALLOW_THREADS code = library.bound_call(e->bound, r->values, self->num_params, stream);
  Py_END_ALLOW_THREADS e->busy = 0;
  if (code)
    return raise_code((PyObject *)self, code);
  return mark_written(self, given, from_caller, r) ? results_of(self, given) : NULL;
}

static PyObject *caller_call(PyObject *object, PyObject *args, PyObject *named) {
  Caller *self = (Caller *)object;
  PyObject *given[kMaxParams] = {0};
  Reading r;
  r.key.length = r.torch = r.device_type = r.device_id = 0;
  r.on_gpu = NULL;
  if (!library.bound_call || !place_arguments(self, args, named, given))
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
    drop_entry(self->entries[i]);
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
PyType_Spec caller_spec = {"kernelc._fast.Caller", sizeof(Caller), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, caller_slots};
