//! More errors of a text that has some: those of types and accesses, in the statements that could be lowered.
//!
//! What could not be lowered is missing. So statements that read a temporary that nothing assigns are left aside, and so are
//! rules about what the whole stencil assigns: nothing is reported that would go away with the errors there are.

use std::collections::HashSet;

use fieldstone_stencil::analysis::access;
use fieldstone_stencil::diagnostic::{Category, Diagnostic};
use fieldstone_stencil::ir::{Stencil, Stmt, Target};
use fieldstone_stencil::types::{Precision, UNKNOWN_TYPE, resolve};
use fieldstone_stencil::verify::verify_ids;
use fieldstone_stencil::visit::accesses;

/// What is wrong with the statements of a stencil some of which are missing.
pub fn errors(stencil: &Stencil) -> Vec<Diagnostic> {
    let mut whole = stencil.clone();
    while leave_aside(&mut whole) {}
    if verify_ids(&whole).is_err() {
        return Vec::new();
    }
    match resolve(whole, Precision::default()) {
        Ok(typed) => access::check(&typed)
            .into_iter()
            .filter(|error| error.category == Category::Definition)
            .collect(),
        Err(errors) => errors
            .into_iter()
            .filter(|error| error.category == Category::DataType && error.code != UNKNOWN_TYPE)
            .collect(),
    }
}

/// Removes the statements that read what nothing assigns; whether there were any.
fn leave_aside(stencil: &mut Stencil) -> bool {
    let mut written: HashSet<Target> = HashSet::new();
    for section in stencil.computations.iter().flat_map(|c| &c.sections) {
        accesses(&section.body, &mut |access| {
            if access.write {
                written.insert(access.target);
            }
        });
    }
    let is_whole = |stmt: &Stmt| {
        let mut whole = true;
        accesses(std::slice::from_ref(stmt), &mut |access| {
            let is_temporary = matches!(access.target, Target::Temp(_));
            whole &= access.write || !is_temporary || written.contains(&access.target);
        });
        whole
    };
    let mut found = false;
    for section in stencil
        .computations
        .iter_mut()
        .flat_map(|c| &mut c.sections)
    {
        let before = section.body.len();
        section.body.retain(is_whole);
        found |= section.body.len() < before;
    }
    found
}
