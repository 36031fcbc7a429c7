//! A stencil with everything that is known of it: what every backend starts from.

use std::collections::HashSet;

use crate::analysis::{Analysis, analyse, extent};
use crate::branches;
use crate::diagnostic::{Category, Code, Diagnostic, Diagnostics};
use crate::elements::{self, Element, Indices};
use crate::ir::Stencil;
use crate::types::{Precision, resolve};
use crate::verify::verify;

/// The IR breaks a rule of [`verify`]: a bug of whoever made it.
pub const MALFORMED: Code = Code(450);

/// A typed, verified and analysed stencil.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The stencil.
    pub stencil: Stencil,
    /// What follows from it.
    pub analysis: Analysis,
}

impl Program {
    /// Resolves types, splits branches, verifies and analyses.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the stencil, as far as one pass can see it before the next needs it right.
    pub fn new(stencil: Stencil, precision: Precision) -> Result<Program, Diagnostics> {
        let sources = stencil.sources.clone();
        Program::checked(stencil, precision).map_err(|mut diagnostics| {
            // A function that is called often has its errors once.
            let mut seen = HashSet::new();
            diagnostics.retain(|found| {
                let place = sources.place(found.primary.span);
                seen.insert((found.code, place, found.message.clone()))
            });
            Diagnostics {
                diagnostics,
                sources,
            }
        })
    }

    /// The same program as schedules want it: one temporary for each value, also for values carried from level to level.
    ///
    /// # Panics
    ///
    /// Never: the program was analysed before, and does not become wrong.
    ///
    /// The elements of data dimensions are fields of their own; what each field is comes with the program.
    pub fn for_schedule(&self) -> (Program, Vec<Element>) {
        let (stencil, elements) = elements::of_everything(self.stencil.clone(), Indices::Near);
        let analysed = analyse(&stencil).map(|analysis| (stencil, analysis));
        let (stencil, analysis) = analysed.unwrap_or_else(|_| {
            // Which element is read is known at run time only, and may be one that was not written.
            let zeroed = elements::initialised(self.stencil.clone());
            let (stencil, _) = elements::of_everything(zeroed, Indices::Near);
            let analysis = analyse(&stencil).expect("every element is written");
            (stencil, analysis)
        });
        let stencil = crate::carried::in_temporaries(stencil, &analysis);
        let stencil = crate::values::split(stencil);
        let analysis = analyse(&stencil).expect("values of a correct program are split");
        (Program { stencil, analysis }, elements)
    }

    fn checked(stencil: Stencil, precision: Precision) -> Result<Program, Vec<Diagnostic>> {
        // Before and after: a dangling id would not survive type resolution.
        crate::verify::verify_ids(&stencil).map_err(malformed)?;
        let stencil = elements::of_temporaries(resolve(stencil, precision)?, Indices::Constant);
        let stencil = branches::split(stencil);
        verify(&stencil).map_err(malformed)?;
        let analysis = analyse(&stencil)?;
        let uneven = extent::uneven_statements(&stencil, &analysis.extents);
        if uneven.is_empty() {
            return Ok(Program { stencil, analysis });
        }
        let stencil = branches::split_at(stencil, &uneven);
        verify(&stencil).map_err(malformed)?;
        let analysis = analyse(&stencil)?;
        Ok(Program { stencil, analysis })
    }
}

fn malformed(error: crate::verify::VerifyError) -> Vec<Diagnostic> {
    vec![
        Diagnostic::error(
            MALFORMED,
            Category::Unsupported,
            error.span.unwrap_or_default(),
            format!("this stencil's internal form is broken: {error}"),
        )
        .with_help("this is a bug in fieldstone; please report it with the stencil"),
    ]
}
