/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The module: the library's functions, signals while a kernel runs, the classes. */
#include "python/fast/Fast.h"

Library library;

PyObject *raise_code(PyObject *self, kc_code code) {
  PyObject *raised = PyErr_Occurred() ? NULL : PyObject_CallMethod(self, "_raise", "i", (int)code);
  Py_XDECREF(raised);
  return NULL;
}

/* What a signal's handler raised while a kernel ran: Ctrl-C's KeyboardInterrupt. Kept until the call has come back. */
static PyObject *interrupt_type, *interrupt_value, *interrupt_trace;

/* The one thread that hears signals. The others must not ask for the interpreter lock in the middle of a call: whoever forks holds it,
   and waits until no thread is in a call. */
static unsigned long main_thread;

static int32_t hear_signals(void) {
  if (PyThread_get_thread_ident() != main_thread)
    return 0;
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

/* set_main_thread(its number) */
static PyObject *module_set_main_thread(PyObject *module, PyObject *number) {
  main_thread = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred())
    return NULL;
  Py_RETURN_NONE;
}

/* link(address of kc_bound_call, of kc_bound_launch, of kc_bound_destroy, of kc_set_interrupt) */
static PyObject *module_link(PyObject *module, PyObject *args) {
  unsigned long long call, launch, destroy, set_interrupt;
  if (!PyArg_ParseTuple(args, "KKKK", &call, &launch, &destroy, &set_interrupt))
    return NULL;
  ((void (*)(int32_t (*)(void)))(uintptr_t)set_interrupt)(hear_signals);
  library.bound_call = (kc_code (*)(kc_bound *, const kc_value *, size_t, void *))(uintptr_t)call;
  library.bound_launch = (kc_code (*)(kc_bound *, void *))(uintptr_t)launch;
  library.bound_destroy = (void (*)(kc_bound *))(uintptr_t)destroy;
  Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {{"link", module_link, METH_VARARGS, NULL},
                                       {"set_main_thread", module_set_main_thread, METH_O, NULL},
                                       {"raise_interrupt", module_raise_interrupt, METH_NOARGS, NULL},
                                       {"know_type", module_know_type, METH_VARARGS, NULL},
                                       {"know_dtype", module_know_dtype, METH_VARARGS, NULL},
                                       {0}};
static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "kernelc._fast", "The warm path of calls and launches.", -1, module_methods, NULL, NULL, NULL, NULL};

static int add_class(PyObject *module, const char *name, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  if (type && !PyModule_AddObject(module, name, type)) /* which takes the reference */
    return 1;
  Py_XDECREF(type);
  return 0;
}

PyMODINIT_FUNC PyInit__fast(void) {
  PyObject *module = PyModule_Create(&module_def);
  if (module && init_arrays() && init_caller() && init_bound() && add_class(module, "Caller", &caller_spec) &&
      add_class(module, "Bound", &bound_spec))
    return module;
  Py_XDECREF(module);
  return NULL;
}
