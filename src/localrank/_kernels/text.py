"""Text by address, for kernels that read bytes: words and lanes instead of single bytes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types

from localrank._kernels import compilation

NEWLINE, RETURN, HASH, COLON, DOT, MINUS, PLUS, EQUALS = (ord(c) for c in "\n\r#:.-+=")
ZERO, NINE, SPACE = (ord(c) for c in "09 ")

kernel = compilation.kernel(boundscheck=False, error_model="numpy")
inlined = compilation.kernel(boundscheck=False, error_model="numpy", forceinline=True)

# Called with one argument less than it is written with, which its own type does not know.
_intrinsic: Any = extending.intrinsic


def _load(builder: Any, address: Any, content: Any) -> Any:
    return builder.load(builder.inttoptr(address, content.as_pointer()), align=1)


# Text is known by address: an array handed to a function costs two atomic operations, and there
# are several calls per number.
@_intrinsic
def byte_at(typingctx: Any, address: Any) -> Any:
    """The byte at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(_load(builder, args[0], ir.IntType(8)), ir.IntType(64))

    return types.int64(types.int64), codegen


@_intrinsic
def word_at(typingctx: Any, address: Any) -> Any:
    """Eight bytes as one number, the first byte lowest."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _load(builder, args[0], ir.IntType(64))

    return types.uint64(types.int64), codegen


def _lanes(n: int) -> Any:
    return ir.VectorType(ir.IntType(8), n)


def _where(builder: Any, relation: str, lanes: Any, value: int) -> Any:
    """A bit for each lane in that relation to the value, the first lane lowest."""
    n = lanes.type.count
    found = builder.icmp_unsigned(relation, lanes, ir.Constant(lanes.type, [value] * n))
    bits = builder.bitcast(found, ir.IntType(n))
    return bits if n == 64 else builder.zext(bits, ir.IntType(64))


@_intrinsic
def blanks_at(typingctx: Any, address: Any) -> Any:
    """Which of the next 64 bytes are blank or control."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _where(builder, "<=", _load(builder, args[0], _lanes(64)), SPACE)

    return types.int64(types.int64), codegen


@_intrinsic
def no_digits_at(typingctx: Any, address: Any) -> Any:
    """Which of the next 32 bytes are no digit."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _load(builder, args[0], _lanes(32))
        above_zero = builder.sub(lanes, ir.Constant(lanes.type, [ZERO] * 32))
        return _where(builder, ">", above_zero, 9)

    return types.int64(types.int64), codegen


@_intrinsic
def points_at(typingctx: Any, address: Any) -> Any:
    """Which of the next 32 bytes are a point."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _where(builder, "==", _load(builder, args[0], _lanes(32)), DOT)

    return types.int64(types.int64), codegen


@_intrinsic
def line_ends_at(typingctx: Any, address: Any) -> Any:
    """Which of the next 64 bytes are a newline, a carriage return or NUL."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _load(builder, args[0], _lanes(64))
        ends = _where(builder, "==", lanes, NEWLINE)
        for other in (RETURN, 0):
            ends = builder.or_(ends, _where(builder, "==", lanes, other))
        return ends

    return types.int64(types.int64), codegen


@_intrinsic
def trailing_zeros(typingctx: Any, value: Any) -> Any:
    """The number of zero bits below the lowest one."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen


@_intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Multiply and add, rounded once."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen
