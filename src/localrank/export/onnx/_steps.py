"""Builds an ONNX graph from steps that are written as formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Array

if TYPE_CHECKING:
    import onnx

# The oldest versions that have all the operators in double precision.
OPSET, ML_OPSET, IR_VERSION = 17, 5, 10
ML_DOMAIN = "ai.onnx.ml"


class Steps:
    """The steps of a graph, in the order in which they are computed.

    Numbers become constants: whole numbers have 64 bits, others double precision. A step that is
    applied twice to the same values is computed once.

    Examples
    --------
    >>> steps = Steps()
    >>> x = steps.given("x")
    >>> y = steps.apply("Sqrt", x * x + 1.0)
    >>> [node.op_type for node in steps.nodes]
    ['Mul', 'Add', 'Sqrt']
    """

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._made: dict[tuple[str, ...], list[Value]] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def given(self, name: str) -> Value:
        """An input of the graph."""
        return Value(self, name)

    def apply(self, operator: str, *inputs: Operand, **attributes: Any) -> Value:
        """The output of an operator."""
        return self.apply_for(1, operator, *inputs, **attributes)[0]

    def apply_for(
        self, n_outputs: int, operator: str, *inputs: Operand, domain: str = "", **attributes: Any
    ) -> list[Value]:
        """The outputs of an operator with several outputs."""
        from onnx import helper

        names = [self.value(operand).name for operand in inputs]
        key = (operator, domain, *names, repr(attributes))
        if key not in self._made:
            begin = f"step{len(self.nodes)}"
            outputs = [f"{begin}_{number}" for number in range(n_outputs)]
            node = helper.make_node(operator, names, outputs, domain=domain, **attributes)
            self.nodes.append(node)
            self._made[key] = [Value(self, output) for output in outputs]
        return self._made[key]

    def value(self, operand: Operand) -> Value:
        """The operand as a value. A number or an array becomes a constant."""
        if isinstance(operand, Value):
            return operand
        array = np.ascontiguousarray(operand).reshape(np.shape(operand))
        if array.dtype.kind == "f":
            array = array.astype(np.float64, copy=False)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._names:
            from onnx import numpy_helper

            name = f"constant{len(self._names)}"
            self._names[key] = name
            self.constants.append(numpy_helper.from_array(array, name))
        return Value(self, self._names[key])

    def where(self, condition: Value, one: Operand, other: Operand) -> Value:
        """`one` where the condition holds, else `other`."""
        return self.apply("Where", condition, one, other)


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor that a step computes."""

    steps: Steps
    name: str

    def __add__(self, other: Operand) -> Value:
        return self.steps.apply("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.steps.apply("Sub", self, other)

    def __mul__(self, other: Operand) -> Value:
        return self.steps.apply("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.steps.apply("Div", self, other)

    def __matmul__(self, other: Operand) -> Value:
        return self.steps.apply("MatMul", self, other)

    def __neg__(self) -> Value:
        return self.steps.apply("Neg", self)

    def __le__(self, other: Operand) -> Value:
        return self.steps.apply("LessOrEqual", self, other)

    def __lt__(self, other: Operand) -> Value:
        return self.steps.apply("Less", self, other)

    def __or__(self, other: Operand) -> Value:
        return self.steps.apply("Or", self, other)

    def __and__(self, other: Operand) -> Value:
        return self.steps.apply("And", self, other)

    def __invert__(self) -> Value:
        return self.steps.apply("Not", self)

    @property
    def transposed(self) -> Value:
        """The transposed matrix."""
        return self.steps.apply("Transpose", self, perm=[1, 0])

    @property
    def magnitude(self) -> Value:
        """The absolute values."""
        return self.steps.apply("Abs", self)

    def sqrt(self) -> Value:
        return self.steps.apply("Sqrt", self)

    def is_nan(self) -> Value:
        return self.steps.apply("IsNaN", self)

    def sum(self, axis: int) -> Value:
        return self.steps.apply("ReduceSum", self, np.array([axis]), keepdims=1)

    def min(self, axis: int) -> Value:
        return self.steps.apply("ReduceMin", self, axes=[axis], keepdims=1)

    def max(self, axis: int) -> Value:
        return self.steps.apply("ReduceMax", self, axes=[axis], keepdims=1)

    def as_floats(self) -> Value:
        from onnx import TensorProto

        return self.steps.apply("Cast", self, to=TensorProto.DOUBLE)

    def as_integers(self) -> Value:
        from onnx import TensorProto

        return self.steps.apply("Cast", self, to=TensorProto.INT64)

    def size(self, axis: int) -> Value:
        """The number of entries along an axis, of shape (1,)."""
        return self.steps.apply("Gather", self.steps.apply("Shape", self), np.array([axis]))


Operand = Value | Array | float | int | bool
