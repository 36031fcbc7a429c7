//! Where a program uses its parameters: one that it does not use may be left out of a call.

use std::slice;

use fieldstone_stencil::ir::{ExprKind, FieldId, ScalarId, Stmt, Target};
use fieldstone_stencil::{Program, Span, visit};

/// Where each parameter is used first, if anywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Uses {
    /// By number of the field.
    pub fields: Vec<Option<Span>>,
    /// By number of the scalar.
    pub scalars: Vec<Option<Span>>,
}

impl Uses {
    /// What a program uses.
    pub fn of(program: &Program) -> Uses {
        let stencil = &program.stencil;
        let mut uses = Uses {
            fields: vec![None; stencil.fields.len()],
            scalars: vec![None; stencil.scalars.len()],
        };
        for computation in &stencil.computations {
            for section in &computation.sections {
                section
                    .body
                    .iter()
                    .for_each(|statement| uses.note(statement));
            }
        }
        uses
    }

    /// `file:line` of a use.
    pub fn place(program: &Program, used: Span) -> String {
        match program.stencil.sources.locate(used) {
            Some((file, location)) => format!("{file}:{}", location.line),
            None => program.stencil.name.clone(),
        }
    }

    fn note(&mut self, statement: &Stmt) {
        visit::accesses(slice::from_ref(statement), &mut |access| {
            if let Target::Field(FieldId(id)) = access.target {
                self.fields[id as usize].get_or_insert(access.span);
            }
        });
        statement.walk(&mut |inner| {
            for expression in inner.expressions() {
                expression.walk(|part| {
                    if let ExprKind::Scalar(ScalarId(id)) = part.kind {
                        self.scalars[id as usize].get_or_insert(part.span);
                    }
                });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(body: &str) -> (Vec<bool>, Vec<bool>) {
        let text = format!(
            "stencil s {{ field a: float64[IJK] field b: float64[IJK] scalar x: float64 scalar y: float64 \
             parallel {{ interval 0..end {{ {body} }} }} }}"
        );
        let stencil = fieldstone_stencil::text::parse("s", &text).expect("the text is valid");
        let program = Program::new(stencil, Default::default()).expect("the stencil is valid");
        let uses = Uses::of(&program);
        (
            uses.fields.iter().map(Option::is_some).collect(),
            uses.scalars.iter().map(Option::is_some).collect(),
        )
    }

    #[test]
    fn reads_and_writes_are_uses_in_conditions_too() {
        for (body, fields, scalars) in [
            ("a = 1.0", [true, false], [false, false]),
            ("a = b[1, 0, 0]", [true, true], [false, false]),
            ("a = (x * 2.0)", [true, false], [true, false]),
            ("if (y > 0.0) { a = 1.0 }", [true, false], [false, true]),
            (
                "if (b > 0.0) { if (x > 0.0) { a = y } }",
                [true, true],
                [true, true],
            ),
        ] {
            assert_eq!(used(body), (fields.to_vec(), scalars.to_vec()), "{body}");
        }
    }
}
