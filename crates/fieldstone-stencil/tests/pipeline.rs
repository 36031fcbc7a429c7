//! One small stencil through the whole pipeline.

use fieldstone_stencil::analysis::Access;
use fieldstone_stencil::ir::*;
use fieldstone_stencil::types::Precision;
use fieldstone_stencil::{Axes, DType, Extent, Interval, Offset, Program, Span};

fn at(target: Target, offset: [i32; 3]) -> Expr {
    Expr::untyped(
        ExprKind::Access {
            target,
            offset: Offset(offset),
        },
        Span::default(),
    )
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::untyped(
        ExprKind::Binary(op, Box::new(a), Box::new(b)),
        Span::default(),
    )
}

fn assign(target: Target, value: Expr) -> Stmt {
    Stmt {
        kind: StmtKind::Assign {
            target,
            target_span: Span::default(),
            value,
        },
        span: Span::default(),
    }
}

#[test]
fn a_laplacian_of_a_laplacian() {
    let field = |name: &str| Field {
        name: name.to_string(),
        dtype: DType::Float32,
        axes: Axes::IJK,
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
        temporaries: vec![Temporary {
            name: "lap".to_string(),
            dtype: None,
            span: Span::default(),
        }],
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
