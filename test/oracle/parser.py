# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text to tree. Right-hand sides are Python expressions, with Python's precedences."""
from . import tree
from .lexer import tokenize
from .element_types import TYPES, KcError, Unsupported

_FORMS = ("pad", "edge", "reflect", "wrap", "assume_inbounds")
_LEVELS = (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%"))  # from loose to tight
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_ASSIGN = ("=", "+=", "*=", "min=", "max=", "and=", "or=", "xor=")


class Parser:
    def __init__(self, text):
        self.tokens, self.at = tokenize(text), 0

    # Tokens.
    def peek(self, ahead=0):
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def accept(self, text):
        if self.peek().kind in ("op", "name") and self.peek().text == text:
            self.at += 1
            return True
        return False

    def expect(self, text):
        if not self.accept(text):
            raise KcError(f"expected '{text}', got '{self.peek().text}' at {self.peek().at}")

    def name(self):
        token = self.peek()
        if token.kind != "name":
            raise KcError(f"expected a name, got '{token.text}' at {token.at}")
        self.at += 1
        return token.text

    def listed(self, close, item):
        items = []
        while not self.accept(close):
            items.append(item())
            if not self.accept(","):
                self.expect(close)
                break
        return items

    # Definitions.
    def file(self):
        kernels, functions = {}, {}
        while self.peek().kind != "end":
            if self.accept("def"):
                kernel = self.kernel()
                kernels[kernel.name] = kernel
            else:
                reduces = self.accept("reducer")
                if not reduces:
                    self.expect("fn")
                function = self.reducer() if reduces else self.function()
                functions[function.name] = function
        return kernels, functions

    def kernel(self):
        name = self.name()
        self.expect("(")
        params = self.listed(")", lambda: self.param("in"))
        if self.accept("->"):
            self.expect("(")
            params += self.listed(")", lambda: self.param("out"))
        self.any_order()
        self.expect("{")
        requires, body = [], []
        while not self.accept("}"):
            if self.accept("require"):
                requires.append(self.expression())
            elif self.peek().text == "assert" and self.peek(1).text not in ("[", "=", "+", "*", "."):
                body.append(self.assertion())
            elif self.peek().text in ("precision", "tolerance") and self.peek(1).text == "(":
                raise Unsupported(f"the policy '{self.peek().text}'")
            else:
                body.append(self.statement())
        return tree.Kernel(name, params, requires, body)

    def assertion(self):
        """assert CONDITION, "TEXT" where .."""
        self.at += 1
        value = self.expression()
        if self.accept(","):
            self.at += 1
        return tree.Assign("", [], "assert", value, self.where())

    def param(self, role):
        if self.peek(1).kind == "name" and self.peek().text in ("inout", "const"):
            role = self.name()
        name = self.name()
        self.expect(":")
        kind = self.type()
        shape = self.listed("]", self.expression) if self.accept("[") else None
        default = self.expression() if self.accept("=") else None
        return tree.Param(name, kind, shape, role, default)

    def formal(self):
        name = self.name()
        kind = self.type() if self.accept(":") else None
        shape = self.listed("]", self.expression) if kind and self.accept("[") else None
        return tree.Param(name, kind, shape, "in", self.expression() if self.accept("=") else None)

    def view(self):
        self.expect("(")
        tensor = self.name()
        self.expect(",")
        pattern = self.peek().text[1:-1]
        self.at += 1
        sizes = self.listed(")", self.argument) if self.accept(",") else self.expect(")") or []
        self.expect("[")
        return tree.View(tensor, pattern, sizes, self.listed("]", self.expression))

    def argument(self):
        """`e`, or `name=e` for a parameter of that name."""
        if self.peek().kind == "name" and self.peek(1).text == "=":
            name = self.name()
            self.expect("=")
            return tree.Named(name, self.expression())
        return self.expression()

    def type(self):
        name = self.name()
        if name not in TYPES:
            raise KcError(f"unknown type '{name}'")
        return name

    def body(self):
        """`{ let .. expression }`."""
        self.expect("{")
        lets = []
        while self.peek().text == "let":
            lets.append(self.statement())
        value = self.expression()
        self.expect("}")
        return lets, value

    def function(self):
        name = self.name()
        indices = self.listed("]", self.name) if self.accept("[") else []
        self.expect("(")
        params = self.listed(")", self.formal)
        result = self.type() if self.accept("->") else None
        lets, value = self.body()
        return tree.Function(name, indices, params, result, lets, value)

    def fields(self):
        """The type of a tuple, behind its parenthesis."""
        def field():
            name = self.name()
            self.expect(":")
            return name, self.type()
        return self.listed(")", field)

    def reducer(self):
        name, fields = self.name(), None

        def param():
            nonlocal fields
            own = self.name()
            if self.accept(":"):
                fields = self.fields() if self.accept("(") else [(None, self.type())]
            return own
        self.expect("(")
        params = self.listed(")", param)
        self.expect("identity")
        identity = self.expression()
        lets, value = self.body()
        return tree.Reducer(name, params, fields, identity, lets, value)

    def any_order(self):
        """`order(any)`, which changes nothing that the oracle tells apart."""
        if self.peek().text == "order" and self.peek(1).text == "(":
            for word in ("order", "(", "any", ")"):
                self.expect(word)

    def statement(self):
        let = self.accept("let")
        name = self.name()
        unique = bool(not let and self.accept("."))
        if unique:
            self.expect("unique")
        subscripts = self.listed("]", self.expression) if self.accept("[") else []
        kind = None
        if let and self.accept(":"):
            kind = self.fields() if self.accept("(") else self.type()
        op = self.peek().text
        own = not let and self.peek().kind == "name" and self.peek(1).text == "="
        if own:
            op = self.name() + "="
            self.at -= 1
        elif self.peek().kind != "op" or op not in (_ASSIGN if not let else ("=",)):
            raise KcError(f"expected an assignment, got '{op}' at {self.peek().at}")
        self.at += 2 if own else 1
        value = self.expression()
        where = self.where()
        self.any_order()
        if let:
            return tree.Let(name, subscripts, kind, value, where)
        return tree.Assign(name, subscripts, op, value, where, unique)

    def where(self):
        entries = []
        if self.accept("where"):
            entries.append(self.entry())
            while self.accept(","):
                entries.append(self.entry())
        return entries

    def entry(self):
        """Of a bracket or a `where`: `k in a:b`, or an expression."""
        if self.peek().kind == "name" and self.peek(1).text == "in":
            name = self.name()
            self.expect("in")
            lo = self.expression()
            self.expect(":")
            return tree.Range(name, lo, self.expression())
        return self.expression()

    # Expressions.
    def expression(self):
        e = self.disjunction()
        if self.accept("if"):
            condition = self.disjunction()
            self.expect("else")
            return tree.Select(e, condition, self.expression())
        return e

    def disjunction(self):
        e = self.conjunction()
        while self.accept("or"):
            e = tree.Binary("or", e, self.conjunction())
        return e

    def conjunction(self):
        e = self.negation()
        while self.accept("and"):
            e = tree.Binary("and", e, self.negation())
        return e

    def negation(self):
        return tree.Unary("not", self.negation()) if self.accept("not") else self.comparison()

    def comparison(self):
        first, rest = self.binary(0), []
        while self.peek().kind == "op" and self.peek().text in _COMPARISONS:
            op = self.peek().text
            self.at += 1
            rest.append((op, self.binary(0)))
        return tree.Compare(first, rest) if rest else first

    def binary(self, level):
        if level == len(_LEVELS):
            return self.unary()
        e = self.binary(level + 1)
        while self.peek().kind == "op" and self.peek().text in _LEVELS[level]:
            op = self.peek().text
            self.at += 1
            e = tree.Binary(op, e, self.binary(level + 1))
        return e

    def unary(self):
        for op in "-+~":
            if self.accept(op):
                return tree.Unary(op, self.unary())
        e = self.primary()
        while self.accept("."):
            e = tree.Member(e, self.name())
        return tree.Binary("**", e, self.unary()) if self.accept("**") else e

    def primary(self):
        token = self.peek()
        if self.accept("("):
            e = self.expression()
            if self.accept(","):
                return tree.Tuple([e, *self.listed(")", self.expression)])
            self.expect(")")
            return e
        if token.kind == "number":
            self.at += 1
            if token.text[:2] in ("0x", "0X"):
                return tree.Number(int(token.text, 16))
            return tree.Number(int(token.text) if token.text.isdigit() else token.text)
        name = self.name()
        if name == "view" and self.peek().text == "(" and self.peek(3).kind == "text":
            return self.view()
        if self.accept("("):
            return tree.Call(name, None, self.listed(")", self.argument))
        if self.peek().text == "." and self.peek(2).text in ("(", "["):
            self.expect(".")
            form = self.name()
            if form not in _FORMS:
                raise KcError(f"unknown bounds form '{form}'")
            value = None
            if form == "pad":
                self.expect("(")
                value = self.expression()
                self.expect(")")
            self.expect("[")
            return tree.Access(name, form, value, self.listed("]", self.expression))
        if self.accept("["):
            entries = self.listed("]", self.entry)
            if self.accept("("):
                return tree.Call(name, entries, self.listed(")", self.argument))
            return tree.Access(name, None, None, entries)
        return tree.Name(name)


def parse(text):
    """The kernels and the functions of a text, each by name."""
    return Parser(text).file()
