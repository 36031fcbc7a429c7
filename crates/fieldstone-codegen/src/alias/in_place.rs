//! Whether a field may be the same memory as another one: what follows from the order in which a program accesses them.

use fieldstone_stencil::ir::{FieldId, LevelIndex, Stmt, StmtKind, Target};
use fieldstone_stencil::{Extent, Offset, Program, elements, visit};

use crate::error::Reader;

/// For each pair of fields whether the first may be written in place of the second: the same memory as both.
#[derive(Clone, Debug)]
pub struct InPlace {
    pairs: Vec<Option<Reader>>,
    fields: usize,
}

impl InPlace {
    /// What follows from the accesses of a program.
    pub fn of(program: &Program) -> InPlace {
        let fields = program.stencil.fields.len();
        let accesses = in_order(program);
        let pair = |n| in_place(&accesses, n / fields, n % fields);
        InPlace {
            pairs: (0..fields * fields).map(pair).collect(),
            fields,
        }
    }

    /// Why field `written` must not be the same memory as field `other`; `None` if it may.
    pub fn obstacle(&self, written: usize, other: usize) -> Option<Reader> {
        self.pairs[written * self.fields + other]
    }
}

struct Access {
    field: usize,
    /// Which element of the data dimensions; empty where it may be any.
    element: Vec<u32>,
    kind: Kind,
    /// Number of the computation, and of the section in it.
    computation: usize,
    section: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Write,
    /// To another level than the one that is computed.
    WriteElsewhere,
    /// Of the point that is computed, in a statement that is computed on the domain only.
    ReadPoint,
    ReadElsewhere,
}

/// Whether there is a `while` in a statement.
fn repeats(statement: &Stmt) -> bool {
    let mut found = false;
    statement.walk(&mut |inner| found |= matches!(inner.kind, StmtKind::While { .. }));
    found
}

/// Every access to a field, in the order in which it happens at one point.
fn in_order(program: &Program) -> Vec<Access> {
    let mut accesses = Vec::new();
    let (apart, elements) =
        elements::of_everything(program.stencil.clone(), elements::Indices::Constant);
    let computations = (apart.computations.iter()).zip(&program.analysis.extents);
    for (c, (computation, extents)) in computations.enumerate() {
        for (s, (section, extents)) in computation.sections.iter().zip(extents).enumerate() {
            for (statement, extent) in section.body.iter().zip(extents) {
                // What a round of a loop writes the next one may read.
                let rounds = vec![statement.clone(); 1 + usize::from(repeats(statement))];
                visit::accesses(&rounds, &mut |access| {
                    let Target::Field(FieldId(id)) = access.target else {
                        return;
                    };
                    let here =
                        access.offset == Offset::ZERO && access.level == LevelIndex::Constant;
                    let kind = if access.write && here {
                        Kind::Write
                    } else if access.write {
                        Kind::WriteElsewhere
                    } else if here && *extent == Extent::ZERO {
                        Kind::ReadPoint
                    } else {
                        Kind::ReadElsewhere
                    };
                    accesses.push(Access {
                        field: elements[id as usize].field.0 as usize,
                        element: elements[id as usize].indices.clone(),
                        kind,
                        computation: c,
                        section: s,
                    });
                });
            }
        }
    }
    accesses
}

/// Whether two accesses may be to the same element of the data dimensions.
fn may_be_same(a: &[u32], b: &[u32]) -> bool {
    a.is_empty() || b.is_empty() || a == b
}

fn in_place(accesses: &[Access], written: usize, other: usize) -> Option<Reader> {
    let moved =
        |access: &Access| access.field == written && matches!(access.kind, Kind::WriteElsewhere);
    let mut obstacle = accesses.iter().any(moved).then_some(Reader::Level);
    for (n, access) in accesses
        .iter()
        .enumerate()
        .filter(|(_, access)| access.field == other)
    {
        let found = match access.kind {
            Kind::Write | Kind::WriteElsewhere => return Some(Reader::Written),
            Kind::ReadElsewhere => Some(Reader::Offset),
            // Sections of one computation have no level in common, so that none sees what another writes to the point.
            Kind::ReadPoint => accesses[..n]
                .iter()
                .filter(|before| before.field == written && matches!(before.kind, Kind::Write))
                .filter(|before| may_be_same(&before.element, &access.element))
                .any(|before| {
                    before.computation != access.computation || before.section == access.section
                })
                .then_some(Reader::Later),
        };
        obstacle = obstacle.or(found);
    }
    obstacle
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `out` may be written in place of `inp`, in a stencil of these statements.
    fn obstacle(computations: &str) -> Option<Reader> {
        let text = format!(
            "stencil s {{ field inp: float64[IJK] field out: float64[IJK] field more: float64[IJK] temp t {computations} }}"
        );
        let stencil = fieldstone_stencil::text::parse("s", &text).expect("the text is valid");
        let program = Program::new(stencil, Default::default()).expect("the stencil is valid");
        InPlace::of(&program).obstacle(1, 0)
    }

    #[test]
    fn what_may_be_written_in_place_follows_from_the_order_of_accesses() {
        let cases = [
            ("parallel { interval 0..end { out = inp } }", None),
            (
                "parallel { interval 0..end { t = inp out = t more = t } }",
                None,
            ),
            (
                "parallel { interval 0..end { out = inp[1, 0, 0] } }",
                Some(Reader::Offset),
            ),
            (
                "parallel { interval 0..end { t = inp out = t[0, 1, 0] } }",
                Some(Reader::Offset),
            ),
            (
                "parallel { interval 1..end { out = inp[0, 0, -1] } }",
                Some(Reader::Offset),
            ),
            (
                "parallel { interval 0..end { out = inp more = inp } }",
                Some(Reader::Later),
            ),
            (
                "parallel { interval 0..end { more = inp out = inp } }",
                None,
            ),
            (
                "parallel { interval 0..end { out = 1.0 } } parallel { interval 0..end { more = inp } }",
                Some(Reader::Later),
            ),
            (
                "parallel { interval 0..end { out = 1.0 } } parallel { interval 0..end { inp = 1.0 } }",
                Some(Reader::Written),
            ),
            (
                "forward { interval 0..1 { out = inp } interval 1..end { out = (out[0, 0, -1] + inp) } }",
                None,
            ),
            (
                "parallel { interval 0..end { if (inp > 0.0) { out = inp } } }",
                None,
            ),
            (
                "parallel { interval 0..end { if (inp > 0.0) { out = 1.0 } else { more = inp } } }",
                Some(Reader::Later),
            ),
        ];
        for (computations, expected) in cases {
            assert_eq!(obstacle(computations), expected, "{computations}");
        }
    }
}
