//! One temporary for each value: a name that is assigned again and again becomes several temporaries.
//!
//! ```text
//! flux = a[1, 0, 0] - a            flux = a[1, 0, 0] - a
//! out = flux             becomes   out = flux
//! flux = b[1, 0, 0] - b            flux#1 = b[1, 0, 0] - b
//! other = flux                     other = flux#1
//! ```
//!
//! Values that never meet can live in different places, most of them in registers.

use crate::grid::{Axes, Axis};
use crate::ir::{Expr, Stencil, Stmt, StmtKind, Target, TempId, Temporary};
use crate::visit::Accesses;

/// Gives every value of a temporary a temporary of its own, where no value is carried from one section to another.
pub fn split(mut stencil: Stencil) -> Stencil {
    let mut names = Names {
        inside: stay_inside(&stencil),
        defined: vec![false; stencil.temporaries.len()],
        current: Vec::new(),
        temporaries: std::mem::take(&mut stencil.temporaries),
    };
    // A value that no other level reads can as well have one for each.
    for (temporary, inside) in names.temporaries.iter_mut().zip(&names.inside) {
        if *inside && !temporary.axes.contains(Axis::K) {
            temporary.axes = temporary.axes.union(Axes::K);
        }
    }
    let sections = stencil
        .computations
        .iter_mut()
        .flat_map(|computation| &mut computation.sections);
    for section in sections {
        names.current = (0..names.inside.len() as u32).map(TempId).collect();
        for statement in &mut section.body {
            names.rename(statement, true);
        }
    }
    stencil.temporaries = names.temporaries;
    stencil
}

/// Which temporaries have all their reads behind an assignment at the same level of the same section.
fn stay_inside(stencil: &Stencil) -> Vec<bool> {
    let mut inside = vec![true; stencil.temporaries.len()];
    let sections = stencil
        .computations
        .iter()
        .flat_map(|computation| &computation.sections);
    for section in sections {
        let mut assigned = vec![false; stencil.temporaries.len()];
        for statement in &section.body {
            let accesses = Accesses::of(statement);
            for target in &accesses.afar {
                if let Target::Temp(id) = target {
                    inside[id.0 as usize] = false;
                }
            }
            for (target, offset) in &accesses.reads {
                if let Target::Temp(id) = target {
                    let id = id.0 as usize;
                    inside[id] &= assigned[id] && offset.along(Axis::K) == 0;
                }
            }
            for (target, conditional) in &accesses.writes {
                if let Target::Temp(id) = target {
                    assigned[id.0 as usize] |= !conditional;
                }
            }
        }
    }
    inside
}

struct Names {
    /// Whether a temporary of the original stencil may be split.
    inside: Vec<bool>,
    /// Whether the temporary itself was given to a value.
    defined: Vec<bool>,
    /// Which temporary holds the latest value, per temporary of the original stencil.
    current: Vec<TempId>,
    temporaries: Vec<Temporary>,
}

impl Names {
    fn rename(&mut self, statement: &mut Stmt, always: bool) {
        for expr in statement.expressions_mut() {
            self.rename_reads(expr);
        }
        if let StmtKind::Assign {
            target: Target::Temp(id),
            ..
        } = &mut statement.kind
        {
            if always {
                self.define(*id);
            }
            *id = self.current[id.0 as usize];
        }
        for inner in statement.inner_mut() {
            self.rename(inner, false);
        }
    }

    fn define(&mut self, id: TempId) {
        let index = id.0 as usize;
        if !self.inside[index] {
            return;
        }
        if !self.defined[index] {
            self.defined[index] = true;
            self.current[index] = id;
            return;
        }
        let fresh = TempId(self.temporaries.len() as u32);
        let mut temporary = self.temporaries[index].clone();
        temporary.name = format!("{}#{}", temporary.name, fresh.0);
        self.temporaries.push(temporary);
        self.current[index] = fresh;
    }

    fn rename_reads(&self, expr: &mut Expr) {
        expr.each_target(&mut |target| {
            if let Target::Temp(id) = target {
                *id = self.current[id.0 as usize];
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::split;
    use crate::Program;
    use crate::text::{parse, print};

    /// The temporaries and computations of a stencil afterwards, in one line.
    fn after(computations: &str) -> String {
        let text = format!(
            "stencil s {{ field a: float64[IJK] field b: float64[IJK] field out: float64[IJK] temp t {computations} }}"
        );
        let stencil = parse("test", &text).expect("the text is valid");
        let program = Program::new(stencil, Default::default()).expect("the stencil is valid");
        let text = print(&split(program.stencil));
        let start = text.find("\n  temp").expect("it has a temporary");
        let words: Vec<&str> = text[start..].split_whitespace().collect();
        words[..words.len() - 1].join(" ")
    }

    #[test]
    fn a_name_that_is_assigned_again_becomes_another_temporary_where_no_value_is_carried() {
        for (what, computations, expected) in [
            (
                "one value",
                "parallel { interval 0..end { t = a out = t } }",
                r#"temp t: float64 parallel { interval 0..end { t = a out = t } }"#,
            ),
            (
                "two values",
                "parallel { interval 0..end { t = a out = t t = b out = (out + t) } }",
                r#"temp t: float64 temp "t#1": float64 parallel { interval 0..end { t = a out = t "t#1" = b out = (out + "t#1") } }"#,
            ),
            (
                "a value computed from the one before",
                "parallel { interval 0..end { t = a t = (t + b) out = t } }",
                r#"temp t: float64 temp "t#1": float64 parallel { interval 0..end { t = a "t#1" = (t + b) out = "t#1" } }"#,
            ),
            (
                "a value that is changed under a condition",
                "parallel { interval 0..end { t = a if (b > 0.0) { t = b } out = t t = b out = (out + t) } }",
                r#"temp t: float64 temp "t#1": float64 parallel { interval 0..end { t = a if (b > 0.0:float64) { t = b } out = t "t#1" = b out = (out + "t#1") } }"#,
            ),
            (
                "two sections",
                "parallel { interval 0..1 { t = a out = t } interval 1..end { t = b out = t } }",
                r#"temp t: float64 temp "t#1": float64 parallel { interval 0..1 { t = a out = t } interval 1..end { "t#1" = b out = "t#1" } }"#,
            ),
            (
                "a value of the level before",
                "forward { interval 0..1 { t = a out = t } interval 1..end { t = (t[0, 0, -1] + a) out = t t = b out = (out + t) } }",
                r#"temp t: float64 forward { interval 0..1 { t = a out = t } interval 1..end { t = (t[0, 0, -1] + a) out = t t = b out = (out + t) } }"#,
            ),
            (
                "a value of the computation before",
                "parallel { interval 0..end { t = a t = (t + b) } } parallel { interval 0..end { out = t } }",
                r#"temp t: float64 parallel { interval 0..end { t = a t = (t + b) } } parallel { interval 0..end { out = t } }"#,
            ),
        ] {
            assert_eq!(after(computations), expected, "{what}");
        }
    }
}
