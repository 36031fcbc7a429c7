//! Names that are free in Python for those of the stencil.

use std::collections::{BTreeMap, BTreeSet};

use fieldstone_stencil::ir::{Stencil, Target};

/// What the text itself uses; masks are `mask1`, `then1`, `else1`, `while1` and so on, boxes `whole1`.
const RESERVED: [&str; 23] = [
    "_Box", "_Field", "_at", "_index", "_level", "_pick", "_put", "_put_at", "abs", "box",
    "domain", "iter", "k", "math", "max", "min", "ni", "nj", "nk", "np", "origins", "range",
    "reversed",
];

/// The Python name of every field, scalar and temporary.
pub(super) struct Names {
    parameters: BTreeMap<String, String>,
    fields: Vec<String>,
    temporaries: Vec<String>,
}

impl Names {
    pub(super) fn new(stencil: &Stencil) -> Names {
        let mut taken: BTreeSet<String> = RESERVED.map(str::to_owned).into();
        taken.insert(stencil.name.clone());
        let mut parameters = BTreeMap::new();
        let fields = stencil.fields.iter().map(|field| &field.name);
        for name in fields.chain(stencil.scalars.iter().map(|scalar| &scalar.name)) {
            parameters.insert(name.clone(), free_name(name, &mut taken));
        }
        let fields = stencil
            .fields
            .iter()
            .map(|field| parameters[&field.name].clone())
            .collect();
        let temporaries = stencil
            .temporaries
            .iter()
            .map(|temporary| free_name(&temporary.name, &mut taken))
            .collect();
        Names {
            parameters,
            fields,
            temporaries,
        }
    }

    pub(super) fn of_parameter(&self, name: &str) -> &str {
        &self.parameters[name]
    }

    pub(super) fn of_temporary(&self, index: usize) -> &str {
        &self.temporaries[index]
    }

    pub(super) fn of_target(&self, target: Target) -> &str {
        match target {
            Target::Field(id) => &self.fields[id.0 as usize],
            Target::Temp(id) => self.of_temporary(id.0 as usize),
        }
    }
}

/// An identifier like `name` that nothing else has, which it then has.
fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let part = |c: char| if c.is_alphanumeric() { c } else { '_' };
    let mut free: String = name.chars().map(part).collect();
    let is_mask = |name: &str| {
        ["mask", "then", "else", "while", "whole"]
            .into_iter()
            .any(|mask| {
                name.strip_prefix(mask).is_some_and(|rest| {
                    !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
                })
            })
    };
    while taken.contains(&free) || is_mask(&free) {
        free.push('_');
    }
    taken.insert(free.clone());
    free
}
