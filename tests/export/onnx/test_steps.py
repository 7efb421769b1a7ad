import numpy as np
from onnx import TensorProto, numpy_helper

from localrank.export.onnx._steps import Steps


def test_a_step_that_is_applied_twice_is_computed_once():
    steps = Steps()
    x = steps.given("x")
    assert (x * 2.0 + 1.0).name == (x * 2.0 + 1.0).name
    assert len(steps.nodes) == 2
    assert len(steps.constants) == 2


def test_steps_that_differ_in_a_setting_or_the_order_of_inputs_are_two():
    steps = Steps()
    x, y = steps.given("x"), steps.given("y")
    assert (x - y).name != (y - x).name
    assert x.max(axis=0).name != x.max(axis=1).name


def test_constants_keep_their_kind_and_every_bit():
    steps = Steps()
    for operand in (1, 1.0, True, np.float32(0.1), np.array([[1, 2]]), -0.0):
        steps.value(operand)
    types = [constant.data_type for constant in steps.constants]
    double = TensorProto.DOUBLE
    assert types == [TensorProto.INT64, double, TensorProto.BOOL, double, TensorProto.INT64, double]
    last = numpy_helper.to_array(steps.constants[-1])
    assert last.shape == ()
    assert np.signbit(last)
