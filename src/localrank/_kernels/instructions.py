"""Instructions for kernels that numba has no words for, written by hand as LLVM's operations.

This is the only module that does so. LLVM runs them on any processor, in as many steps as its
registers need. None checks bounds: callers make arrays long enough.

- Text by address: words and lanes instead of single bytes. Reading LETOR files needs them.
- Vectors of numbers, one lane per document, and arithmetic with them. A loop over 64 documents that
  compares, selects and counts is a few instructions on a modern processor. Whether a compiler finds
  them in a loop depends on its version; these functions say them. Where a version of numba cannot
  compile them, trees are scored without them (`trees`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numba.extending
from llvmlite import ir
from numba import types
from numba.extending import register_model, type_callable

# LightGBM takes values this near to zero for zero; the number is that of a float of 32 bits.
ZERO_THRESHOLD = 1.0000000180025095e-35

# The values of so many leaves are looked up in one step.
TABLE = 8

Typed = tuple[Any, Callable[..., Any]]
# Kernels call an intrinsic without its first argument, which a type checker cannot know.
intrinsic: Any = numba.extending.intrinsic
lower_builtin: Any = numba.extending.lower_builtin
PrimitiveModel: Any = numba.extending.models.PrimitiveModel


def _of_number(generate: Any) -> Any:
    """An instruction that turns a whole number of 64 bits into another."""

    def typed(_: Any, number: Any) -> Typed:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return generate(builder, arguments[0])

        return types.int64(types.int64), codegen

    typed.__name__, typed.__doc__ = generate.__name__, generate.__doc__
    return intrinsic(typed)


# Text is known by address: an array handed to a function costs two atomic operations, and there
# are several calls per number.
@_of_number
def byte_at(builder: Any, address: Any) -> Any:
    """The byte at an address."""
    return builder.zext(_load_at(builder, address, ir.IntType(8)), ir.IntType(64))


@intrinsic
def word_at(_: Any, address: Any) -> Typed:
    """Eight bytes as one number, the first byte lowest."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load_at(builder, arguments[0], ir.IntType(64))

    return types.uint64(types.int64), codegen


@_of_number
def blanks_at(builder: Any, address: Any) -> Any:
    """Which of the next 64 bytes are blank or control."""
    return _where(builder, "<=", _bytes_at(builder, address, 64), ord(" "))


@_of_number
def no_digits_at(builder: Any, address: Any) -> Any:
    """Which of the next 32 bytes are no digit."""
    lanes = _bytes_at(builder, address, 32)
    above_zero = builder.sub(lanes, ir.Constant(lanes.type, [ord("0")] * 32))
    return _where(builder, ">", above_zero, 9)


@_of_number
def points_at(builder: Any, address: Any) -> Any:
    """Which of the next 32 bytes are a point."""
    return _where(builder, "==", _bytes_at(builder, address, 32), ord("."))


@_of_number
def line_ends_at(builder: Any, address: Any) -> Any:
    """Which of the next 64 bytes are a newline, a carriage return or NUL."""
    lanes = _bytes_at(builder, address, 64)
    ends = _where(builder, "==", lanes, ord("\n"))
    for other in (ord("\r"), 0):
        ends = builder.or_(ends, _where(builder, "==", lanes, other))
    return ends


@_of_number
def trailing_zeros(builder: Any, value: Any) -> Any:
    """The number of zero bits below the lowest one."""
    return builder.cttz(value, ir.Constant(ir.IntType(1), 0))


@intrinsic
def fma(_: Any, a: Any, b: Any, c: Any) -> Typed:
    """Multiply and add, rounded once."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), codegen


def _load_at(builder: Any, address: Any, content: Any) -> Any:
    return builder.load(builder.inttoptr(address, content.as_pointer()), align=1)


def _bytes_at(builder: Any, address: Any, n: int) -> Any:
    return _load_at(builder, address, ir.VectorType(ir.IntType(8), n))


def _where(builder: Any, relation: str, lanes: Any, value: int) -> Any:
    """A bit for each lane in that relation to the value, the first lane lowest."""
    n = lanes.type.count
    found = builder.icmp_unsigned(relation, lanes, ir.Constant(lanes.type, [value] * n))
    bits = builder.bitcast(found, ir.IntType(n))
    return bits if n == 64 else builder.zext(bits, ir.IntType(64))


class Lanes(types.Type):
    """The type of `n` numbers of one type."""

    def __init__(self, element: Any, n: int) -> None:
        self.element = element
        self.n = n
        super().__init__(name=f"Lanes({element}, {n})")


@register_model(Lanes)
class _LanesModel(PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        is_bit = lanes.element == types.boolean
        element = ir.IntType(1) if is_bit else manager.lookup(lanes.element).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(element, lanes.n))


@intrinsic(prefer_literal=True)
def load(_: Any, array: Any, start: Any, n: Any) -> Typed:
    """The values `array[start : start + n]`, with `n` a constant."""
    lanes = Lanes(array.dtype, n.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        place = _place(context, builder, signature.args[0], arguments[0], arguments[1], vector)
        return builder.load(place, align=1)

    return lanes(array, types.intp, n), generate


@intrinsic
def store(_: Any, array: Any, start: Any, lanes: Any) -> Typed:
    """Write the lanes to `array` from `start` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = arguments[2]
        place = _place(context, builder, signature.args[0], arguments[0], arguments[1], values.type)
        builder.store(values, place, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic(prefer_literal=True)
def all_bits(_: Any, array: Any, n: Any) -> Typed:
    """Lanes of the array's type with every bit set."""
    return _filled(array, n, -1)


@intrinsic(prefer_literal=True)
def zeros(_: Any, array: Any, n: Any) -> Typed:
    """Lanes of the array's type with no bit set."""
    return _filled(array, n, 0)


@intrinsic
def above(_: Any, lanes: Any, value: Any) -> Typed:
    """Which lanes are larger than a value, both without sign where they are whole numbers."""
    bits = Lanes(types.boolean, lanes.n)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        values, bound = arguments[0], _splat(builder, arguments[1], lanes.n)
        if isinstance(lanes.element, types.Float):
            return builder.fcmp_ordered(">", values, bound)
        return builder.icmp_unsigned(">", values, bound)

    return bits(lanes, lanes.element), generate


@intrinsic
def count(_: Any, counts: Any, which: Any) -> Typed:
    """The counts, one more in those lanes."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        counts, which = arguments
        return builder.sub(counts, builder.sext(which, counts.type))

    return counts(counts, which), generate


@intrinsic
def rule_out(_: Any, leaves: Any, which: Any, mask: Any) -> Typed:
    """The sets of leaves, in those lanes without the leaves that the mask leaves out."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        sets, which, mask = arguments
        masks = _splat(builder, mask, leaves.n)
        return builder.and_(sets, builder.select(which, masks, _constant(sets.type, -1)))

    return leaves(leaves, which, leaves.element), generate


@intrinsic
def settle(_: Any, lanes: Any, at_zero: Any, at_missing: Any) -> Typed:
    """The values, with others in place of those near to zero and of NaN."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        values, at_zero, at_missing = arguments
        small = builder.and_(
            builder.fcmp_ordered(">=", values, _constant(values.type, -ZERO_THRESHOLD)),
            builder.fcmp_ordered("<=", values, _constant(values.type, ZERO_THRESHOLD)),
        )
        missing = builder.fcmp_unordered("uno", values, values)
        values = builder.select(small, _splat(builder, at_zero, lanes.n), values)
        return builder.select(missing, _splat(builder, at_missing, lanes.n), values)

    return lanes(lanes, lanes.element, lanes.element), generate


@intrinsic
def add_products(_: Any, totals: Any, lanes: Any, factor: Any) -> Typed:
    """The totals plus the lanes times one number; rounded once where the processor can."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        totals, values, factor = arguments
        return _plus_product(builder, totals, values, _splat(builder, factor, lanes.n))

    return totals(totals, lanes, lanes.element), generate


@intrinsic
def add_positive(_: Any, totals: Any, lanes: Any, factors: Any) -> Typed:
    """The totals plus the lanes times factors, lane by lane, for lanes that are positive."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        totals, values, factors = arguments
        zero = _constant(values.type, 0.0)
        positive = builder.select(builder.fcmp_ordered(">", values, zero), values, zero)
        return _plus_product(builder, totals, positive, factors)

    return totals(totals, lanes, factors), generate


def _plus_product(builder: Any, totals: Any, values: Any, factors: Any) -> Any:
    # Processors without an instruction for both round twice.
    both = ("contract",)
    return builder.fadd(totals, builder.fmul(values, factors, flags=both), flags=both)


@intrinsic
def first_leaf(_: Any, leaves: Any, row: Any, base: Any) -> Typed:
    """The number of each lane's first leaf in a row of eight, or what it was where none is left.

    The rows are sets whose bit `i` stands for leaf `base + i`.
    """

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        before, sets, base = arguments
        first = builder.add(_splat(builder, base, leaves.n), _trailing_zeros(builder, sets))
        any_left = builder.icmp_unsigned("!=", sets, _constant(sets.type, 0))
        return builder.select(any_left, first, before)

    return leaves(leaves, row, leaves.element), generate


@intrinsic(prefer_literal=True)
def look_up(_: Any, numbers: Any, values: Any, start: Any, n_tables: Any) -> Typed:
    """The value at `values[start + number]` for the number in each lane.

    There are `n_tables` times eight values, with `n_tables` a constant: a power of two. A place
    in a table is a few bits of the number, so that no number reads anything else.
    """
    lanes = Lanes(values.dtype, numbers.n)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, values, start, _ = arguments
        table = ir.VectorType(ir.DoubleType(), TABLE)
        tables = []
        for i in range(n_tables.literal_value):
            index = builder.add(start, ir.Constant(start.type, TABLE * i))
            place = _place(context, builder, signature.args[1], values, index, table)
            tables.append(builder.load(place, align=1))
        parts = [
            _looked_up(builder, tables, _part(builder, numbers, lane))
            for lane in range(0, lanes.n, TABLE)
        ]
        return _joined(builder, parts)

    return lanes(numbers, values, types.intp, n_tables), generate


def _arithmetic(sign: Any, name: str) -> None:
    """Let a sign of arithmetic stand between two lanes of floats, lane by lane."""

    @type_callable(sign)
    def typed(_: Any) -> Any:
        def result(one: Any, other: Any) -> Any:
            return one if isinstance(one, Lanes) and one == other else None

        return result

    @lower_builtin(sign, Lanes, Lanes)
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return getattr(builder, name)(*arguments)


for _sign, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_sign, _name)


@intrinsic(prefer_literal=True)
def spread(_: Any, value: Any, n: Any) -> Typed:
    """The same number in `n` lanes, with `n` a constant."""
    lanes = Lanes(value, n.literal_value)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0], lanes.n)

    return lanes(value, n), generate


def _chosen(name: str, relation: str) -> Any:
    def typed(_: Any, one: Any, other: Any) -> Typed:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.select(builder.fcmp_ordered(relation, *arguments), *arguments)

        return one(one, other), generate

    typed.__name__ = name
    typed.__doc__ = f"The {name} numbers, lane by lane; those of the second where one is NaN."
    return intrinsic(typed)


larger, smaller = _chosen("larger", ">"), _chosen("smaller", "<")


@intrinsic
def size(_: Any, lanes: Any) -> Typed:
    """The numbers without their signs, lane by lane."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _called(builder, "fabs", *arguments)

    return lanes(lanes), generate


@intrinsic
def times_plus(_: Any, one: Any, other: Any, more: Any) -> Typed:
    """Multiply and add, lane by lane, rounded once."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _called(builder, "fma", *arguments)

    return one(one, other, more), generate


@intrinsic
def narrowed(_: Any, lanes: Any) -> Typed:
    """The numbers with 32 bits."""
    narrow = Lanes(types.float32, lanes.n)

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fptrunc(arguments[0], context.get_value_type(narrow))

    return narrow(lanes), generate


@intrinsic
def times_power_of_two(_: Any, lanes: Any, exponents: Any) -> Typed:
    """Floats of 32 bits times 2^k, with k the lowest bits of the exponents' own bits.

    A float plus 1.5 * 2^23 has its rounded value there. No number may leave the normal range.
    """

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        whole = ir.VectorType(ir.IntType(32), lanes.n)
        numbers, exponents = (builder.bitcast(argument, whole) for argument in arguments)
        more = builder.shl(exponents, _constant(whole, 23))
        return builder.bitcast(builder.add(numbers, more), arguments[0].type)

    return lanes(lanes, exponents), generate


@intrinsic
def total(_: Any, lanes: Any) -> Typed:
    """The sum of all lanes: of halves, of halves of halves, and so on."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        values = arguments[0]
        while values.type.count > 1:
            half = values.type.count // 2
            undefined = ir.Constant(values.type, ir.Undefined)
            numbers = ir.VectorType(ir.IntType(32), half)
            values = builder.fadd(
                builder.shuffle_vector(values, undefined, ir.Constant(numbers, list(range(half)))),
                builder.shuffle_vector(
                    values, undefined, ir.Constant(numbers, list(range(half, 2 * half)))
                ),
            )
        return builder.extract_element(values, ir.Constant(ir.IntType(32), 0))

    return lanes.element(lanes), generate


def _filled(array: Any, n: Any, value: int) -> Typed:
    lanes = Lanes(array.dtype, n.literal_value)

    def generate(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return _constant(context.get_value_type(lanes), value)

    return lanes(array, n), generate


def _looked_up(builder: Any, tables: list[Any], numbers: Any) -> Any:
    """For each number the value in the tables, of which each holds the next eight values."""
    places = builder.and_(numbers, _constant(numbers.type, TABLE - 1))
    values = [_permuted(builder, table, places) for table in tables]
    if len(values) == 1:
        # Numbers beyond the table count as zero. Testing them also keeps LLVM from taking the
        # places for eight single numbers, which it would look up one by one.
        values.append(_constant(values[0].type, 0.0))
    bit = TABLE
    while len(values) > 1:
        is_set = builder.icmp_unsigned(
            "!=",
            builder.and_(numbers, _constant(numbers.type, bit)),
            _constant(numbers.type, 0),
        )
        values = [
            builder.select(is_set, values[i + 1], values[i]) for i in range(0, len(values), 2)
        ]
        bit *= 2
    return values[0]


def _permuted(builder: Any, table: Any, places: Any) -> Any:
    """The table's value at each place; LLVM knows this form as one instruction where there is."""
    values = ir.Constant(table.type, ir.Undefined)
    for lane in range(TABLE):
        number = ir.Constant(ir.IntType(32), lane)
        value = builder.extract_element(table, builder.extract_element(places, number))
        values = builder.insert_element(values, value, number)
    return values


def _trailing_zeros(builder: Any, values: Any) -> Any:
    return _called(builder, "cttz", values, ir.Constant(ir.IntType(1), 0))


def _called(builder: Any, operation: str, values: Any, *arguments: Any) -> Any:
    """An operation of LLVM on lanes."""
    element = values.type.element
    kind = f"i{element.width}" if isinstance(element, ir.IntType) else f"f{_WIDTHS[element]}"
    name = f"llvm.{operation}.v{values.type.count}{kind}"
    types_of_arguments = [values.type, *(argument.type for argument in arguments)]
    function = builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(values.type, types_of_arguments), name
    )
    return builder.call(function, [values, *arguments])


_WIDTHS = {ir.FloatType(): 32, ir.DoubleType(): 64}


def _part(builder: Any, numbers: Any, lane: int) -> Any:
    """Eight lanes, as numbers of 64 bits."""
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), TABLE), list(range(lane, lane + TABLE)))
    part = builder.shuffle_vector(numbers, ir.Constant(numbers.type, ir.Undefined), lanes)
    return builder.zext(part, ir.VectorType(ir.IntType(64), TABLE))


def _joined(builder: Any, parts: list[Any]) -> Any:
    """One vector of a power of two of equal parts."""
    while len(parts) > 1:
        n = 2 * parts[0].type.count
        order = ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(n)))
        parts = [
            builder.shuffle_vector(parts[i], parts[i + 1], order) for i in range(0, len(parts), 2)
        ]
    return parts[0]


def _splat(builder: Any, value: Any, n: int) -> Any:
    undefined = ir.Constant(ir.VectorType(value.type, n), ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
    )


def _constant(vector: Any, value: float) -> Any:
    return ir.Constant(vector, [ir.Constant(vector.element, value)] * vector.count)


def _place(context: Any, builder: Any, array_type: Any, array: Any, start: Any, vector: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), vector.as_pointer())
