# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bound calls as Python objects."""
import weakref

from . import _library as lib
from . import _warm
from ._call import Call


def destroy_with(owner, destroy, handle):
    """The handle goes with its owner; not at the interpreter's exit, when other threads may still be in its code."""
    finalizer = weakref.finalize(owner, destroy, handle)
    finalizer.atexit = False
    return finalizer


class Bound(_warm.Bound):
    """A call that is ready: `outputs` is what it writes (None, an array, or a tuple). For one thread at a time. A launch is refused
    where an array's memory was freed or moved in the meantime (torch's resize_, a donated JAX array).

    `launch(stream=None)` queues it, as Kernel says of `stream` and of the order, and returns `outputs`."""

    def __init__(self, kernel, call, handle):
        self._kernel = kernel
        self._hold(handle)
        self._take(call)

    def __repr__(self):
        return f"<bound {self._kernel._text()} on {self._call.device_name()}>"

    def _hold(self, handle):
        self._handle, self._destroy = handle, destroy_with(self, lib.library().kc_bound_destroy, handle)

    def _take(self, call):
        """The arrays of a call that was bound, or took the place of one."""
        self._call, self.outputs, self._written = call, call.finish(), tuple(call.written)
        self._arrays = tuple(x for _, x in call.held)
        self._alone = call.streams.are_one()
        for x in self._arrays:
            _warm.learn(x)
        lead = next((x for x in call.arrays), None) if call.streams.on_gpu else None
        alone = self._alone and (lead is not None or not call.streams.on_gpu)
        self._arm(self._handle.value if alone else 0, lead, call.device.device_id, self._written[0] if self._written else None)

    def replace(self, *args, **named):
        """Other arrays and scalars for the launches that follow, as for `bind`; of an array everything but the address
        is as it was. Addresses that the compiled code is not for are bound anew. Returns the new `outputs`. What is refused changes
        nothing."""
        call = Call(self._kernel, args, named, self._call.device_name(), bound=True)
        code = lib.library().kc_bound_replace(self._handle, call.values, call.num_values)
        if code == lib.FAILED_PRECONDITION:
            handle, destroy = self._kernel._bind(call), self._destroy
            self._hold(handle)
            destroy()
        else:
            lib.check(code)
        self._take(call)
        return self.outputs

    def _launch_slow(self, stream=None, *others, **named):
        """A launch that is not the extension's (_warm.py): under a stream of the caller's, or beside several frameworks' streams."""
        if others or named:
            raise TypeError("launch() takes a stream and no arguments of the kernel; replace(..) gives a bound call others")
        self._call.check_memory()
        streams = self._call.streams
        launch, alone = streams.choose(stream), self._alone and stream is None
        if not alone:
            streams.before(launch, stream)
        lib.check(lib.library().kc_bound_launch(self._handle, launch))
        if not alone:
            streams.after(launch, stream)
        self._call.mark_written()
        return self.outputs

    def _raise(self, code):
        lib.check(code)
