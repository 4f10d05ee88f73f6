"""The changes of one expression that people make by mistake."""

import ast
from collections.abc import Iterator
from copy import deepcopy

BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_PAIRS = (
    ("minimum", "maximum"),
    ("min", "max"),
    ("argmin", "argmax"),
    ("cummin", "cummax"),
    ("sum", "mean"),
    ("prod", "sum"),
    ("any", "all"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("sin", "cos"),
    ("sigmoid", "tanh"),
    ("floor", "ceil"),
    ("log", "log1p"),
    ("exp", "expm1"),
    ("logical_and", "logical_or"),
    ("softmax", "log_softmax"),
    ("var", "std"),
)
RENAMED = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])} | {"prod": "sum"}
# A call that is left out, so that its first argument stands alone.
UNWRAPPED = {
    *("stop_gradient", "square", "sqrt", "abs", "log", "exp", "log_softmax", "softmax", "relu"),
    *("sigmoid", "tanh", "clip", "cumsum", "reversed", "sorted", "flip", "transpose"),
}
# An argument that is left out.
OPTIONAL = {"axis", "where", "ddof", "keepdims", "initial", "reverse", "mask"}
BRANCHES = {"where", "select", "cond"}
# What is raised or said: the words may change.
WORDING = {"InputError", "no_such", "warn", "isinstance", "field", "cast", "zip"}


def alternatives(node: ast.expr, is_condition: bool) -> Iterator[ast.AST]:
    """Other expressions to have in the place of this one, one change each.

    Args:
        node: the expression.
        is_condition: whether it is the test of an `if`, `while` or comprehension.
    """
    if is_condition and isinstance(node, ast.Name | ast.Attribute | ast.Call):
        yield ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.BinOp(op=op) if type(op) in BINARY:
            yield _changed(node, op=BINARY[type(op)]())
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield operand
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield _changed(node, ops=[COMPARED[type(op)]()])
        case ast.BoolOp(op=op):
            yield _changed(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.IfExp(body=body, orelse=orelse):
            yield _changed(node, body=orelse, orelse=body)
        case ast.Constant(value=value):
            yield from map(ast.Constant, _other_constants(value))
        case ast.Call():
            yield from _other_calls(node)


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    copy = deepcopy(node)
    for name, value in fields.items():
        setattr(copy, name, value)
    return copy


def _other_constants(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1) if value else (1,)
    if isinstance(value, float):
        return (2 * value,) if value else (1.0,)
    return ()


def _other_calls(call: ast.Call) -> Iterator[ast.AST]:
    name = called(call)
    if name in RENAMED:
        function = deepcopy(call.func)
        setattr(function, "id" if isinstance(function, ast.Name) else "attr", RENAMED[name])
        yield _changed(call, func=function)
    if name in UNWRAPPED and call.args:
        yield call.args[0]
    if name in BRANCHES and len(call.args) > 2:
        test, yes, no, *rest = call.args
        yield _changed(call, args=[test, no, yes, *rest])
    for index, keyword in enumerate(call.keywords):
        if keyword.arg in OPTIONAL:
            kept = [*call.keywords[:index], *call.keywords[index + 1 :]]
            yield _changed(call, keywords=kept)


def called(call: ast.Call) -> str:
    """The last name of what is called, or nothing."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
