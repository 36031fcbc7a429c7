//! One small stencil through the whole pipeline.

use fieldstone_stencil::analysis::Access;
use fieldstone_stencil::ir::*;
use fieldstone_stencil::types::Precision;
use fieldstone_stencil::{Axes, DType, Extent, Interval, Offset, Program, Span};

fn at(target: Target, offset: [i32; 3]) -> Expr {
    Expr::untyped(ExprKind::read(target, Offset(offset)), Span::default())
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::untyped(
        ExprKind::Binary(op, Box::new(a), Box::new(b)),
        Span::default(),
    )
}

fn assign(target: Target, value: Expr) -> Stmt {
    Stmt::assign(target, Span::default(), value, Span::default())
}

#[test]
fn a_laplacian_of_a_laplacian() {
    let field = |name: &str| Field {
        name: name.to_string(),
        dtype: DType::Float32,
        axes: Axes::IJK,
        data_dims: Vec::new(),
        span: Span::default(),
    };
    let (input, output) = (Target::Field(FieldId(0)), Target::Field(FieldId(1)));
    let lap = Target::Temp(TempId(0));
    let two = Expr::untyped(ExprKind::Literal(Literal::Int(2)), Span::default());
    let second_difference = |of| {
        binary(
            BinaryOp::Sub,
            binary(BinaryOp::Add, at(of, [-1, 0, 0]), at(of, [1, 0, 0])),
            binary(BinaryOp::Mul, two.clone(), at(of, [0, 0, 0])),
        )
    };
    let stencil = Stencil {
        name: "lap2".to_string(),
        params: vec![Param::Field(FieldId(0)), Param::Field(FieldId(1))],
        fields: vec![field("input"), field("output")],
        scalars: Vec::new(),
        temporaries: vec![Temporary::at_every_point(
            "lap".to_string(),
            None,
            Span::default(),
        )],
        computations: vec![Computation {
            order: Order::Parallel,
            sections: vec![Section {
                interval: Interval::FULL,
                body: vec![
                    assign(lap, second_difference(input)),
                    assign(output, second_difference(lap)),
                ],
                span: Span::default(),
            }],
            span: Span::default(),
        }],
        fast_math: Default::default(),
        sources: Default::default(),
    };
    let program = Program::new(stencil, Precision::default()).unwrap();
    assert_eq!(program.stencil.temporaries[0].dtype, Some(DType::Float32));
    let analysis = &program.analysis;
    let one = Extent([(1, 1), (0, 0), (0, 0)]);
    let two = Extent([(2, 2), (0, 0), (0, 0)]);
    assert_eq!(analysis.extents, [[[one, Extent::ZERO]]]);
    assert_eq!(analysis.fields[0].access, Access::Read);
    assert_eq!(analysis.fields[0].extent, two);
    assert_eq!(analysis.fields[1].access, Access::Write);
    assert_eq!(analysis.fields[1].extent, Extent::ZERO);
    assert_eq!(analysis.temporaries[0].extent, one);
    assert!(!analysis.temporaries[0].maybe_uninitialised);
    assert_eq!(analysis.warnings, []);
}

/// The error to expect, and how to bring it about.
type Breakage = (&'static str, fn(&mut Stencil));

#[test]
fn broken_ids_are_an_error_not_a_panic() {
    use fieldstone_stencil::text::parse;
    let good = "stencil s { field a: float64[IJK] field b: float64[IJK] temp t
        parallel { interval 0..end { t = b a = t } } }";
    let good = parse("test", good).unwrap();
    let broken: [Breakage; 5] = [
        ("fields and scalars must each be one parameter", |s| {
            s.params[1] = Param::Field(FieldId(0));
        }),
        ("the parameter Scalar(ScalarId(7)) does not exist", |s| {
            s.params[1] = Param::Scalar(ScalarId(7));
        }),
        ("there is no Temp(TempId(0))", |s| s.temporaries.clear()),
        ("the name `a` is used twice", |s| {
            s.fields[1].name = "a".to_string()
        }),
        ("there is no Field(FieldId(9))", |s| {
            let target = Target::Field(FieldId(9));
            s.computations[0].sections[0].body[1] = assign(target, at(target, [0; 3]));
        }),
    ];
    for (expected, breaks) in broken {
        let mut stencil = good.clone();
        breaks(&mut stencil);
        let errors = Program::new(stencil, Precision::default()).unwrap_err();
        let message = &errors.diagnostics[0].message;
        assert!(message.contains(expected), "{message}");
    }
}
