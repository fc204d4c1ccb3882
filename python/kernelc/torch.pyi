# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from typing import Any, Callable, Optional, Union

from . import Kernel, Program

def register(kernel: Union[Kernel, Program], name: Optional[str] = None, backward: Optional[Union[Kernel, str]] = None) -> Callable[..., Any]: ...
