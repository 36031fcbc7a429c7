"""Every operator and function on every type it takes, on every backend, against NumPy."""

import functools

import numpy as np
import pytest

from fieldstone import gtscript

# Some expressions leave `b` alone, which is worth a warning to a user.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

REALS = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = INTEGERS + REALS


@pytest.fixture(params=["debug", "numpy", "cpu_kfirst"])
def backend(request):
    """The other backend of native code differs in layouts only."""
    return request.param


ONE_OPERATION = """
def definition(a: Field["T"], b: Field["T"], out: Field["R"]):
    with computation(PARALLEL), interval(...):
        out = {expression}
"""


SEVERAL_OPERANDS = """
def definition(a: Field["T"], b: Field["T"], c: Field["T"], d: Field["T"], out: Field["T"]):
    with computation(PARALLEL), interval(...):
        out = {expression}
"""


def operands(dtype):
    """Pairs of values: every special one with every other, and random ones."""
    dtype = np.dtype(dtype)
    generator = np.random.default_rng(7)
    if dtype.kind == "b":
        special = np.array([False, True])
        random = generator.random((2, 60)) > 0.5
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        special = np.array([limits.min, limits.min + 1, 0, 1, 2, 3, 7, limits.max - 1, limits.max], dtype)
        if dtype.kind == "i":
            special = np.append(special, np.array([-1, -2, -3, -7], dtype))
        random = generator.integers(limits.min, limits.max, (2, 60), dtype, endpoint=True)
    else:
        limits = np.finfo(dtype)
        magnitudes = [0, 0.3, 0.5, 1, 1.5, 2, 2.5, 3, 1e-3, 1e4 / 3, limits.max, limits.smallest_subnormal, np.inf]
        special = np.array([*magnitudes, *(-np.array(magnitudes)), np.nan], dtype)
        random = (generator.normal(size=(2, 60)) * np.exp(generator.normal(size=(2, 60)) * 3)).astype(dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(special, special))
    a, b = np.append(a, random[0]), np.append(b, random[1])
    count = len(a) // 4 * 4
    return a[:count].reshape(4, 1, -1), b[:count].reshape(4, 1, -1)


def run(from_text, backend, expression, dtype, result):
    definition = from_text(ONE_OPERATION.format(expression=expression))
    stencil = gtscript.stencil(backend, definition, dtypes={"T": np.dtype(dtype), "R": np.dtype(result)})
    a, b = operands(dtype)
    out = np.zeros(a.shape, result)
    stencil(a, b, out)
    return a, b, out


def assert_same_bits(found, expected, a, b):
    """Equal, signs of zeros included; any NaN is the same as any other."""
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype
    same = found == expected
    if expected.dtype.kind == "f":
        same &= np.signbit(found) == np.signbit(expected)
        same |= np.isnan(found) & np.isnan(expected)
    wrong = np.argwhere(~same)
    assert not len(wrong), "; ".join(
        f"a={a[tuple(at)]!r} b={b[tuple(at)]!r}: {found[tuple(at)]!r}, not {expected[tuple(at)]!r}" for at in wrong[:5]
    )


def width(values):
    return values.dtype.itemsize * 8


EXACT = [
    ("a + b", NUMBERS, np.add),
    ("a - b", NUMBERS, np.subtract),
    ("a * b", NUMBERS, np.multiply),
    ("a / b", REALS, np.divide),
    ("a // b", NUMBERS, np.floor_divide),
    ("a % b", NUMBERS, np.remainder),
    ("mod(a, b)", NUMBERS, np.remainder),
    ("-a", NUMBERS, lambda a, _: np.negative(a)),
    ("abs(a)", NUMBERS, lambda a, _: np.abs(a)),
    ("a ** 2", NUMBERS, lambda a, _: a * a),
    ("a ** 3", NUMBERS, lambda a, _: a * (a * a)),
    ("a ** 6", NUMBERS, lambda a, _: (a * a) * ((a * a) * (a * a))),
    ("a ** -2", REALS, lambda a, _: 1 / (a * a)),
    ("a ** 0", NUMBERS, lambda a, _: np.ones_like(a)),
    ("sqrt(a)", REALS, lambda a, _: np.sqrt(a)),
    ("floor(a)", REALS, lambda a, _: np.floor(a)),
    ("ceil(a)", REALS, lambda a, _: np.ceil(a)),
    ("trunc(a)", REALS, lambda a, _: np.trunc(a)),
    ("round(a)", REALS, lambda a, _: np.rint(a)),
    ("a & b", INTEGERS, np.bitwise_and),
    ("a | b", INTEGERS, np.bitwise_or),
    ("a ^ b", INTEGERS, np.bitwise_xor),
    ("~a", INTEGERS, lambda a, _: np.invert(a)),
    ("a << b", INTEGERS, lambda a, b: np.left_shift(a, b & (width(a) - 1))),
    ("a >> b", INTEGERS, lambda a, b: np.right_shift(a, b & (width(a) - 1))),
    ("min(a, b)", INTEGERS, np.minimum),
    ("max(a, b)", INTEGERS, np.maximum),
    ("a if a < b else b", NUMBERS, lambda a, b: np.where(a < b, a, b)),
]


@pytest.mark.parametrize(
    ("expression", "dtype", "oracle"),
    [(expression, dtype, oracle) for expression, dtypes, oracle in EXACT for dtype in dtypes],
)
def test_operators_give_the_bits_of_numpy(from_text, backend, expression, dtype, oracle):
    a, b, out = run(from_text, backend, expression, dtype, dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(out, oracle(a, b), a, b)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("expression", ["a // b", "a % b"])
def test_remainders_are_exact_beside_multiples(from_text, backend, expression, dtype):
    random = np.random.default_rng(5)
    b = random.normal(0, 3, (40, 4, 3)).astype(dtype)
    multiple = random.integers(-1000, 1000, b.shape).astype(dtype) * b
    for a in [multiple, *(np.nextafter(multiple, b.dtype.type(to)) for to in (-np.inf, np.inf)), b[::-1].copy()]:
        out = np.zeros_like(a)
        types = {"T": np.dtype(dtype), "R": np.dtype(dtype)}
        gtscript.stencil(backend, from_text(ONE_OPERATION.format(expression=expression)), dtypes=types)(a, b, out)
        assert_same_bits(out, {"a // b": np.floor_divide, "a % b": np.remainder}[expression](a, b), a, b)


def extreme(name, a, b):
    """The smaller or the larger number, of two zeros the first. Which one NumPy takes is not the same everywhere."""
    return np.where((a == 0) & (b == 0), a, {"min": np.minimum, "max": np.maximum}[name](a, b))


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("operands", ["a, b", "a, 0.0", "a, -0.0", "a, 1.5", "0.0, b", "-0.0, b", "1.5, b"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_min_and_max_keep_nan_and_the_first_of_two_zeros(from_text, backend, name, operands, dtype):
    a, b, out = run(from_text, backend, f"{name}({operands})", dtype, dtype)
    first, second = (
        {"a": a, "b": b}[text] if text in "ab" else np.full_like(a, float(text)) for text in operands.split(", ")
    )
    assert_same_bits(out, extreme(name, first, second), a, b)


SEVERAL = [
    ("min(min(a, b), c)", ["a", "b", "c"]),
    ("min(a, min(b, c))", ["a", "b", "c"]),
    ("min(a, b, c, d)", ["a", "b", "c", "d"]),
    ("min(min(a, b), min(c, d), 1.5)", ["a", "b", "c", "d", 1.5]),
    ("min(1.5, a, 0.0, b, c)", [1.5, "a", 0.0, "b", "c"]),
    ("min(2.5, 1.5, a)", [2.5, 1.5, "a"]),
    ("min(-0.0, a, b, 0.0)", [-0.0, "a", "b", 0.0]),
]


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize(("expression", "operands"), SEVERAL)
@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_several(from_text, backend, name, expression, operands, dtype):
    definition = from_text(SEVERAL_OPERANDS.format(expression=expression.replace("min", name)))
    special = np.array([0.0, -0.0, 1.0, 1.5, -2.0, np.inf, -np.inf, np.nan], dtype)
    fields = dict(zip("abcd", (grid.reshape(64, 8, 8) for grid in np.meshgrid(*[special] * 4)), strict=True))
    out = np.zeros((64, 8, 8), dtype)
    gtscript.stencil(backend, definition, dtypes={"T": np.dtype(dtype)})(*fields.values(), out)
    values = [fields[operand] if operand in fields else np.full_like(out, operand) for operand in operands]
    assert_same_bits(out, functools.reduce(functools.partial(extreme, name), values), fields["a"], fields["b"])


@pytest.mark.parametrize("expression", ["min(a, NAN)", "max(NAN, a, 1.5)", "min(a, 1.5, NAN, 0.0)"])
def test_a_constant_that_is_nan_is_kept(from_text, backend, expression):
    with_nan = ONE_OPERATION.replace("    with", "    from __externals__ import NAN\n    with")
    definition = from_text(with_nan.format(expression=expression))
    dtypes = {"T": np.dtype("float64"), "R": np.dtype("float64")}
    a, b = operands("float64")
    out = np.zeros_like(a)
    gtscript.stencil(backend, definition, dtypes=dtypes, externals={"NAN": float("nan")})(a, b, out)
    assert np.isnan(out).all()


@pytest.mark.parametrize("dtype", REALS)
def test_round_away_from_zero(from_text, backend, dtype):
    a, b, out = run(from_text, backend, "round_away_from_zero(a)", dtype, dtype)
    whole = np.trunc(a)
    with np.errstate(invalid="ignore"):
        expected = np.where(np.abs(a - whole) == 0.5, whole + np.copysign(whole.dtype.type(1), a), np.rint(a))
    assert_same_bits(out, np.where(np.isinf(a), a, expected), a, b)


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(from_text, backend, sign, dtype):
    a, b, out = run(from_text, backend, f"a {sign} b", dtype, "bool")
    assert_same_bits(out, eval(f"a {sign} b", {"a": a, "b": b}), a, b)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_classes(from_text, backend, name, dtype):
    a, b, out = run(from_text, backend, f"{name}(a)", dtype, "bool")
    assert_same_bits(out, getattr(np, name)(a), a, b)


LOGIC = [
    ("a and b", np.logical_and),
    ("a or b", np.logical_or),
    ("not a", lambda a, _: np.logical_not(a)),
    ("a & b", np.logical_and),
    ("a | b", np.logical_or),
    ("a ^ b", np.logical_xor),
]


@pytest.mark.parametrize(("expression", "oracle"), LOGIC)
def test_logic(from_text, backend, expression, oracle):
    a, b, out = run(from_text, backend, expression, "bool", "bool")
    assert_same_bits(out, oracle(a, b), a, b)


@pytest.mark.parametrize("source", ["bool", *INTEGERS])
@pytest.mark.parametrize("target", ["bool", *NUMBERS])
def test_stores_convert_integers_as_numpy_does(from_text, backend, source, target):
    a, b, out = run(from_text, backend, "a", source, target)
    assert_same_bits(out, a.astype(target), a, b)


@pytest.mark.parametrize("source", REALS)
@pytest.mark.parametrize("target", NUMBERS)
def test_stores_convert_reals_towards_zero_within_the_limits_of_the_type(from_text, backend, source, target):
    a, b, out = run(from_text, backend, "a", source, target)
    with np.errstate(all="ignore"):
        if np.dtype(target).kind == "f":
            expected = a.astype(target)
        else:
            limits = np.iinfo(target)
            exact = [
                0 if np.isnan(x) else limits.max if x >= limits.max else limits.min if x <= limits.min else int(x)
                for x in a.ravel()
            ]
            expected = np.array(exact, target).reshape(a.shape)
    assert_same_bits(out, expected, a, b)


FUNCTIONS = [
    ("sin", np.sin, -10, 10),
    ("cos", np.cos, -10, 10),
    ("tan", np.tan, -1.5, 1.5),
    ("asin", np.arcsin, -1, 1),
    ("acos", np.arccos, -1, 1),
    ("atan", np.arctan, -10, 10),
    ("sinh", np.sinh, -10, 10),
    ("cosh", np.cosh, -10, 10),
    ("tanh", np.tanh, -10, 10),
    ("asinh", np.arcsinh, -10, 10),
    ("acosh", np.arccosh, 1, 10),
    ("atanh", np.arctanh, -0.999, 0.999),
    ("exp", np.exp, -50, 50),
    ("log", np.log, 1e-6, 1e6),
    ("log10", np.log10, 1e-6, 1e6),
    ("cbrt", np.cbrt, -1e6, 1e6),
]

ONE_FUNCTION = """
def definition(a: Field["T"], out: Field["T"]):
    with computation(PARALLEL), interval(...):
        out = {name}(a)
"""


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize(("name", "oracle", "low", "high"), FUNCTIONS)
def test_functions_agree_with_numpy_in_all_but_the_last_bits(from_text, backend, name, oracle, low, high, dtype):
    stencil = gtscript.stencil(backend, from_text(ONE_FUNCTION.format(name=name)), dtypes={"T": np.dtype(dtype)})
    a = np.linspace(low, high, 600, dtype=dtype).reshape(10, 5, 12)
    out = np.zeros_like(a)
    stencil(a, out)
    expected = oracle(a.astype("float64")) if dtype == "float32" else oracle(a)
    np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", ["gamma", "erf", "erfc"])
def test_functions_numpy_does_not_have(from_text, backend, name, dtype):
    import math

    stencil = gtscript.stencil(backend, from_text(ONE_FUNCTION.format(name=name)), dtypes={"T": np.dtype(dtype)})
    a = np.linspace(0.1, 5, 60, dtype=dtype).reshape(3, 4, 5)
    out = np.zeros_like(a)
    stencil(a, out)
    expected = np.vectorize(getattr(math, name))(a.astype("float64"))
    np.testing.assert_allclose(out, expected, rtol=30 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", REALS)
def test_powers_with_a_variable_exponent(from_text, backend, dtype):
    a, b, out = run(from_text, backend, "abs(a) ** b", dtype, dtype)
    with np.errstate(all="ignore"):
        expected = np.power(np.abs(a), b)
        np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers_wrap(from_text, backend, dtype):
    a, b, out = run(from_text, backend, "a ** b", dtype, dtype)
    modulus, limits = 1 << width(a), np.iinfo(dtype)

    def power(base, exponent):
        low_bits = pow(base, abs(exponent), modulus)
        wrapped = low_bits - modulus if low_bits > limits.max else low_bits
        if exponent >= 0:
            return wrapped
        return wrapped if wrapped in (1, -1) else 0

    expected = [power(int(x), int(y)) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    assert_same_bits(out, np.array(expected, dtype).reshape(a.shape), a, b)


ON_SCALARS = """
def definition(out: Field["T"], a: "T", b: "T"):
    with computation(PARALLEL), interval(...):
        out = {expression}
"""

OF_SCALARS = [
    ("a + b", np.add),
    ("a - b", np.subtract),
    ("a * b", np.multiply),
    ("a // b", np.floor_divide),
    ("a % b", np.remainder),
    ("-a", lambda a, _: np.negative(a)),
    ("a ** 3", lambda a, _: a * (a * a)),
    ("7 // b", lambda _, b: np.floor_divide(b.dtype.type(7), b)),
    ("a if a < b else b", lambda a, b: np.where(a < b, a, b)),
]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", *REALS])
@pytest.mark.parametrize(("expression", "oracle"), OF_SCALARS)
def test_scalars_follow_the_same_rules(from_text, backend, expression, oracle, dtype):
    definition = from_text(ON_SCALARS.format(expression=expression))
    stencil = gtscript.stencil(backend, definition, dtypes={"T": np.dtype(dtype)})
    every_a, every_b = (values[0, 0, :40] for values in operands(dtype))
    found = []
    for a, b in zip(every_a, every_b, strict=True):
        out = np.zeros((1, 2, 1), dtype)
        stencil(out, a, b)
        found.append(out[0, 1, 0])
    with np.errstate(all="ignore"):
        assert_same_bits(np.array(found), oracle(every_a, every_b), every_a, every_b)
