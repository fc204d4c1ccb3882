# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same language in Python's spelling, for `@kernelc.kernel`. The function's source becomes a text of the language, in
which every statement stands in the line and column of the Python file, so that messages point there. The function is
never run. docs/python.md has the table of pairs."""
import ast
import inspect
import itertools
import textwrap

from ._decorator import Function

_REDUCING = {ast.Add: "+=", ast.Mult: "*=", ast.BitXor: "xor=", ast.BitAnd: "and=", ast.BitOr: "or="}
# What stands before what there is, where a statement of Python has another form here.
_LOOPS = "there are no loops: 'y[i] = ..' defines y for every i, and 'sum[k](..)' runs over k; "
_STATEMENTS = {ast.For: _LOOPS, ast.While: _LOOPS, ast.Return: "nothing is returned: outputs are parameters behind a '*', which are assigned; ",
               ast.If: "a choice is part of an expression, 'a if c else b', or 'with where(..):'; ",
               ast.AugAssign: "the reducing assignments are +=, *=, ^=, &= and |=; "}
_CLAUSES = ("order", "precision", "tolerance", "strict", "fastmath")


class _Writer:
    """Text at the lines and columns of a Python file. `used`: the functions that the text calls, in order."""

    def __init__(self, function, is_kernel):
        if not inspect.isfunction(function) or function.__name__ == "<lambda>":
            raise TypeError(f"kernels are spelled by functions that 'def' defines, not by {getattr(function, '__name__', function)}")
        lines, self.first = inspect.getsourcelines(function)
        self.file = inspect.getsourcefile(function) or "<string>"
        source = "".join(lines)
        text = textwrap.dedent(source)
        self.indent = len(lines[0]) - len(lines[0].lstrip())
        self.source = text
        self.tree = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
        self.function, self.is_kernel = function, is_kernel
        self.out, self.column, self.line = [], 0, 1
        self.defined = set()

    def refuse(self, node, why):
        line = self.source.split("\n")[node.lineno - 1]
        raise SyntaxError(why, (self.file, self.first + node.lineno - 1, node.col_offset + self.indent + 1, line))

    def put(self, line, column, text):
        """Puts a text there, or behind what was put last, if that is later."""
        if line > self.line:
            self.out.append("\n" * (line - self.line))
            self.line, self.column = line, 0
        if column < self.column:
            column = self.column + 1
        self.out.append(" " * (column - self.column) + text)
        last = text.split("\n")[-1]
        self.line += text.count("\n")
        self.column = len(last) if "\n" in text else column + len(text)

    def segment(self, node):
        """What stands in the file, in the language's spelling of empty subscripts and of line ends."""
        text = ast.get_source_segment(self.source, node)
        return text.replace("\\\n", " \n").replace("[()]", "[]")

    def at(self, node):
        return self.first + node.lineno - 1, node.col_offset + self.indent

    # ---- the head

    def head(self):
        a = self.tree.args
        if a.vararg or a.kwarg:
            self.refuse(self.tree, "a kernel takes no * or ** parameters; parameters behind a bare '*' are its outputs")
        plain = a.posonlyargs + a.args
        defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults
        if not self.is_kernel:
            indices = ", ".join(p.arg for p in a.kwonlyargs)
            return f"fn {self.tree.name}{f'[{indices}]' if indices else ''}({', '.join(self.untyped(p) for p in plain)}) {{"
        inputs = [self.parameter(p, d) for p, d in zip(plain, defaults)]
        if self.tree.returns is not None or not a.kwonlyargs and not any(p.startswith("inout ") for p in inputs):
            self.refuse(self.tree.returns or self.tree, "a kernel's outputs are parameters behind a '*', as in "
                        f"'def {self.tree.name}(x: f32[N], *, y: f32[N]):', or its inputs, as in 'y: inout[f32[N]]'")
        outputs = [self.parameter(p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
        self.defined |= {p.arg for p in plain + a.kwonlyargs}
        arrow = f" -> ({', '.join(outputs)})" if outputs else ""
        return f"def {self.tree.name}({', '.join(inputs)}){arrow} {{"

    def untyped(self, p):
        return p.arg + (f": {self.annotation(p.annotation)}" if p.annotation else "")

    def annotation(self, node):
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node).replace("[()]", "[]")

    def parameter(self, p, default):
        if p.annotation is None:
            self.refuse(p, f"parameter '{p.arg}' has no type; write {p.arg}: f32[N]")
        text, prefix = self.annotation(p.annotation), ""
        for word in ("inout", "const"):
            if text.startswith(word + "[") and text.endswith("]"):
                prefix, text = word + " ", text[len(word) + 1:-1]
        if default and prefix != "const ":
            self.refuse(default, f"only constants have defaults; write {p.arg}: const[{text}] = {ast.unparse(default)}")
        return f"{prefix}{p.arg}: {text}" + (f" = {ast.unparse(default)}" if default else "")

    @staticmethod
    def is_clause(s):
        return isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and isinstance(s.value.func, ast.Name) and s.value.func.id in _CLAUSES

    # ---- statements

    def statement(self, s, where=()):
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) or isinstance(s, ast.Pass):
            return
        line, column = self.at(s)
        if self.is_clause(s):  # precision(contract=tf32)
            return self.put(line, column, self.segment(s.value))
        if isinstance(s, ast.With):
            return self.where(s, where)
        if isinstance(s, ast.Assert):
            word = "assert " if s.msg is not None else "require "  # of values, with what to say; of sizes
            self.put(line, column - 1, word + self.segment(s.test) + (", " + self.segment(s.msg) if s.msg is not None else ""))
        elif isinstance(s, ast.Return) and not self.is_kernel and s.value is not None:
            self.put(line, column, self.segment(s.value))
        elif isinstance(s, ast.AnnAssign) and s.value is not None:
            self.put(line, column - 4, f"let {self.target(s.target)}: {self.annotation(s.annotation)} = ")
            self.put(*self.at(s.value), self.value(s.value))
        elif isinstance(s, ast.AugAssign) and type(s.op) in _REDUCING:
            self.put(line, column, f"{self.target(s.target)} {_REDUCING[type(s.op)]} ")
            self.put(*self.at(s.value), self.value(s.value))
        elif isinstance(s, ast.Assign) and len(s.targets) == 1:
            self.assign(s, s.targets[0], line, column)
        else:
            why = _STATEMENTS.get(type(s), "") + "a kernel has assignments, assert, and 'with where(..):'"
            if not self.is_kernel:
                why = "a function has assignments and at its end one 'return'; a choice is part of an expression, 'a if c else b'"
            self.refuse(s, why)
        if where:
            self.put(self.line, self.column + 1, "where " + ", ".join(where))

    def assign(self, s, target, line, column):
        name = self.name_of(target)
        reduced = self.reduction(target, s.value)
        if reduced:
            self.put(line, column, f"{self.target(target)} {reduced[0]} ")
            return self.put(*self.at(reduced[1]), self.value(reduced[1]))
        new = name not in self.defined
        self.put(line, column - 4 if new else column, f"{'let ' if new else ''}{self.target(target)} = ")
        self.put(*self.at(s.value), self.value(s.value))

    def reduction(self, target, value):
        """min=, e of `y[i] = min(y[i], e)`; also of max, and, or."""
        same = lambda e: ast.dump(e).replace("Load()", "Store()") == ast.dump(target).replace("Load()", "Store()")
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max") and len(value.args) == 2 \
                and same(value.args[0]):
            return value.func.id + "=", value.args[1]
        if isinstance(value, ast.BoolOp) and len(value.values) == 2 and same(value.values[0]):
            return "and=" if isinstance(value.op, ast.And) else "or=", value.values[1]
        return None

    def name_of(self, target):
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if not isinstance(target, ast.Name):
            self.refuse(target, "a kernel assigns to tensors and to names, one at a time")
        return target.id

    def target(self, node):
        self.name_of(node)
        return self.segment(node)

    def value(self, node):
        return self.segment(node) if not isinstance(node, (ast.Tuple, ast.List)) else self.refuse(node, "a statement defines one tensor")

    def where(self, s, outer):
        conditions = list(outer)
        for item in s.items:
            call = item.context_expr
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "where" and not call.keywords):
                self.refuse(s, "'with' takes where(condition, ..) alone")
            conditions += [ast.unparse(c) for c in call.args]
        for inner in s.body:
            self.statement(inner, conditions)

    # ---- the whole

    def write(self):
        self.put(*self.at(self.tree), self.head())
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Subscript):
                for item in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
                    if isinstance(item, ast.Compare) and isinstance(item.ops[0], ast.In):
                        self.refuse(item, f"a range is a chain of comparisons here, as in 'sum[0 <= {ast.unparse(item.left)} < N](..)'")
        for s in self.tree.body:
            self.statement(s)
        self.put(self.line, self.column + 1, "}")
        return "".join(self.out)

    def used(self):
        """Functions that the body names, found as Python finds names."""
        closure = inspect.getclosurevars(self.function)
        names = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)}
        return [f for name in sorted(names) for f in [closure.nonlocals.get(name, self.function.__globals__.get(name))]
                if isinstance(f, Function)]


def _writers(writer, done):
    """The writers of the functions that a text uses, each behind those that it uses."""
    for f in writer.used():
        if f not in done:
            inner = done[f] = _Writer(f.function, is_kernel=False)
            _writers(inner, done)
    return done.values()


def _overlay(texts):
    """Texts that stand in different lines, as one."""
    lines = [text.split("\n") for text in texts]
    return [" ".join(part for part in at if part) for at in itertools.zip_longest(*lines, fillvalue="")]


def text_of(function):
    """(text of the language, file name) of a function written in Python's spelling. Functions of the same file that it
    uses stand in their own lines, too; those of others behind the kernel."""
    writer = _Writer(function, is_kernel=True)
    helpers = list(_writers(writer, {}))
    lines = _overlay([writer.write()] + [h.write() for h in helpers if h.file == writer.file])
    behind = [line.strip() for h in helpers if h.file != writer.file for line in h.write().split("\n")]
    return "\n".join(lines + [" ".join(filter(None, behind)), ""]), writer.file
