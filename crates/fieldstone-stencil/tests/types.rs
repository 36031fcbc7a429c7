//! Types of operations, in the tables that NumPy 2.4 gives for arrays; but a `float32` beside a large integer stays one.

use fieldstone_stencil::DType;
use fieldstone_stencil::text::parse;
use fieldstone_stencil::types::{Precision, TOO_DEEP, promote, resolve};

const NAMES: [(&str, DType); 11] = [
    ("b1", DType::Bool),
    ("i1", DType::Int8),
    ("i2", DType::Int16),
    ("i4", DType::Int32),
    ("i8", DType::Int64),
    ("u1", DType::UInt8),
    ("u2", DType::UInt16),
    ("u4", DType::UInt32),
    ("u8", DType::UInt64),
    ("f4", DType::Float32),
    ("f8", DType::Float64),
];

fn dtype(name: &str) -> Option<DType> {
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, dtype)| *dtype)
}

/// The type of an expression of fields `a` and `b`, `None` where it has none.
fn type_of(expr: &str, a: DType, b: DType, precision: Precision) -> Option<DType> {
    let text = format!(
        "stencil s {{ field a: {a}[IJK] field b: {b}[IJK] temp t
           parallel {{ interval 0..end {{ t = {expr} }} }} }}"
    );
    let stencil = parse("test", &text).unwrap_or_else(|errors| panic!("{expr}: {errors}"));
    let resolved = resolve(stencil, precision).ok()?;
    resolved.temporaries[0].dtype
}

/// `numpy.promote_types`, but for integers of 32 and 64 bits beside `f4`.
const PROMOTION: &str = "
    b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
b1  b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
i1  i1 i1 i2 i4 i8 i2 i4 i8 f8 f4 f8
i2  i2 i2 i2 i4 i8 i2 i4 i8 f8 f4 f8
i4  i4 i4 i4 i4 i8 i4 i4 i8 f8 f4 f8
i8  i8 i8 i8 i8 i8 i8 i8 i8 f8 f4 f8
u1  u1 i2 i2 i4 i8 u1 u2 u4 u8 f4 f8
u2  u2 i4 i4 i4 i8 u2 u2 u4 u8 f4 f8
u4  u4 i8 i8 i8 i8 u4 u4 u4 u8 f4 f8
u8  u8 f8 f8 f8 f8 u8 u8 u8 u8 f4 f8
f4  f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f8
f8  f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
";

#[test]
fn two_types_promote_as_in_the_table() {
    for row in PROMOTION.trim().lines().skip(1) {
        let mut cells = row.split_whitespace();
        let a = dtype(cells.next().unwrap()).unwrap();
        for ((_, b), expected) in NAMES.into_iter().zip(cells) {
            let expected = dtype(expected);
            assert_eq!(Some(promote(a, b)), expected, "{a}, {b}");
            // NumPy adds booleans; here that is an error.
            let expected = expected.filter(|result| *result != DType::Bool);
            assert_eq!(
                type_of("(a + b)", a, b, Precision::default()),
                expected,
                "{a} + {b}"
            );
        }
    }
}

/// Results for operands of one type; `--` is an error.
const OPERATIONS: &str = "
a + 1            i8 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
a + 1.0          f8 f8 f8 f8 f8 f8 f8 f8 f8 f4 f8
1 / a            f8 f8 f8 f8 f8 f8 f8 f8 f8 f4 f8
a - b            -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
a * b            -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
a / b            -- f8 f8 f8 f8 f8 f8 f8 f8 f4 f8
a // b           -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
a % b            -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
a ** b           -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
a ** 2           i8 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
a ** -2          -- -- -- -- -- -- -- -- -- f4 f8
a & b            b1 i1 i2 i4 i8 u1 u2 u4 u8 -- --
a << b           -- i1 i2 i4 i8 u1 u2 u4 u8 -- --
a < b            b1 b1 b1 b1 b1 b1 b1 b1 b1 b1 b1
a and b          b1 -- -- -- -- -- -- -- -- -- --
not(a)           b1 -- -- -- -- -- -- -- -- -- --
~(a)             b1 i1 i2 i4 i8 u1 u2 u4 u8 -- --
-(a)             -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
max(a, b)        b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
max(a, 1)        i8 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
abs(a)           -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
floor(a)         -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
round(a)         -- i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
isnan(a)         -- b1 b1 b1 b1 b1 b1 b1 b1 b1 b1
sqrt(a)          -- f8 f8 f8 f8 f8 f8 f8 f8 f4 f8
sin(2)           f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
float32(a)       f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4
a                b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
select(True, a, 0.5)  f8 f8 f8 f8 f8 f8 f8 f8 f8 f4 f8
select(True, a, 1)    i8 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8
";

#[test]
fn operations_have_the_types_of_numpy() {
    for row in OPERATIONS.trim().lines() {
        let (expr, cells) = row.split_at(row.len() - 32);
        let expr = expr.trim();
        let in_parentheses = format!("({expr})");
        let infix = expr.split(' ').count() == 3 && !expr.contains('(');
        let text = if infix { &in_parentheses } else { expr };
        for ((_, a), expected) in NAMES.into_iter().zip(cells.split_whitespace()) {
            let found = type_of(text, a, a, Precision::default());
            assert_eq!(found, dtype(expected), "{expr} of {a}");
        }
    }
}

#[test]
fn literals_have_the_precision_that_is_asked_for() {
    let none = Precision::default();
    let with = |int, float| Precision { int, float };
    let f4 = DType::Float32;
    for (expr, precision, expected) in [
        ("1", none, DType::Int64),
        ("1.0", none, DType::Float64),
        ("(1 + 1.0)", none, DType::Float64),
        ("(1 / 2)", none, DType::Float64),
        ("(2 ** -1)", none, DType::Float64),
        ("(a + 1.0)", none, DType::Float32),
        ("1", with(Some(16), None), DType::Int16),
        ("1.0", with(None, Some(32)), DType::Float32),
        ("(a + 1.0)", with(None, Some(64)), DType::Float64),
        ("(a + 1)", with(Some(64), None), DType::Float32),
        ("(a + 1)", with(Some(16), None), DType::Float32),
        ("(a ** 2)", with(Some(64), None), DType::Float32),
        ("(1 + 1.0)", with(Some(32), Some(32)), DType::Float32),
    ] {
        assert_eq!(
            type_of(expr, f4, f4, precision),
            Some(expected),
            "{expr} with {precision:?}"
        );
    }
}

#[test]
fn a_precision_that_is_no_type_is_an_error() {
    let stencil = || parse("test", "stencil s { field a: int8[IJK] }").unwrap();
    for (precision, message) in [
        (
            Precision {
                int: Some(24),
                float: None,
            },
            "`literal_int_precision` is 24, but must be 8, 16, 32 or 64",
        ),
        (
            Precision {
                int: None,
                float: Some(16),
            },
            "`literal_float_precision` is 16, but must be 32 or 64",
        ),
    ] {
        let errors = resolve(stencil(), precision).unwrap_err();
        assert_eq!(errors[0].message, message);
    }
}

#[test]
fn a_literal_that_its_precision_cannot_hold_is_an_error_unless_it_becomes_another_type() {
    let precision = Precision {
        int: Some(8),
        float: None,
    };
    let f8 = DType::Float64;
    for (expr, expected) in [
        ("(1 % 300)", None),
        ("~(300)", None),
        ("min(300, 1)", None),
        ("-(128)", Some(DType::Int8)),
        ("(a + 300)", Some(DType::Float64)),
        ("int16(300)", Some(DType::Int16)),
        ("int16(70000)", Some(DType::Int16)),
    ] {
        assert_eq!(type_of(expr, f8, f8, precision), expected, "{expr}");
    }
}

#[test]
fn sums_that_are_too_long_are_an_error_not_an_overflow() {
    use fieldstone_stencil::ir::{BinaryOp, Expr, ExprKind, StmtKind};
    for (terms, fits) in [(400, true), (401, false), (5_000, false)] {
        let text = "stencil s { field a: float64[IJK] parallel { interval 0..end { a = a } } }";
        let mut stencil = parse("test", text).unwrap();
        let stmt = &mut stencil.computations[0].sections[0].body[0];
        let StmtKind::Assign { value, .. } = &mut stmt.kind else {
            unreachable!("it is an assignment");
        };
        let term = value.clone();
        for _ in 1..terms {
            let sum = std::mem::replace(value, term.clone());
            let sum = ExprKind::Binary(BinaryOp::Add, Box::new(sum), Box::new(term.clone()));
            *value = Expr::untyped(sum, term.span);
        }
        match resolve(stencil, Precision::default()) {
            Ok(_) => assert!(fits, "{terms} terms"),
            Err(errors) => {
                assert!(!fits, "{terms} terms");
                assert_eq!(errors[0].code, TOO_DEEP);
            }
        }
    }
}
