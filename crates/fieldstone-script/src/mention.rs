//! Names that are read in code which was not chosen.
//!
//! Conditions on externals choose code. What only the other code reads is not used in this stencil, but it is in another
//! one of the same text, so that nobody can leave it out.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::analysis::{UNREAD_TEMPORARY, UNUSED_PARAMETER};
use fieldstone_stencil::{Diagnostic, SourceId, SourceMap, Span};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprName, ExprSubscript};

use crate::syntax;

/// Leaves out the warnings of names that are not used, where the text reads them.
pub fn keep_unmentioned(warnings: &mut Vec<Diagnostic>, sources: &SourceMap) {
    let mut texts: HashMap<SourceId, HashSet<String>> = HashMap::new();
    warnings.retain(|warning| {
        if ![UNUSED_PARAMETER, UNREAD_TEMPORARY].contains(&warning.code) {
            return true;
        }
        let span = warning.primary.span;
        let Some((text, name)) = name(span, sources) else {
            return true;
        };
        let mentioned = texts
            .entry(sources.place(span).source)
            .or_insert_with(|| reads(text));
        !mentioned.contains(name)
    });
}

/// The text that a place is in, and the name there.
fn name(span: Span, sources: &SourceMap) -> Option<(&str, &str)> {
    let text = sources.get(span.source)?.text.as_str();
    let name = text.get(span.start as usize..span.end as usize)?;
    let end = name.find(|character: char| !character.is_alphanumeric() && character != '_');
    Some((text, &name[..end.unwrap_or(name.len())]))
}

/// The names that a definition reads.
fn reads(text: &str) -> HashSet<String> {
    struct Reads(HashSet<String>);

    impl<'a> Visitor<'a> for Reads {
        fn visit_expr(&mut self, expression: &'a Expr) {
            match expression {
                Expr::Name(ExprName { id, ctx, .. }) if ctx.is_load() => {
                    self.0.insert(id.to_string());
                }
                // The name of what is assigned at an index is no target of Python's.
                Expr::Subscript(place) if place.ctx.is_store() => self.visit_place(place),
                _ => visitor::walk_expr(self, expression),
            }
        }
    }

    impl Reads {
        fn visit_place(&mut self, place: &ExprSubscript) {
            self.visit_expr(&place.slice);
            if let Expr::Subscript(inner) = place.value.as_ref() {
                self.visit_place(inner);
            }
        }
    }

    let mut found = Reads(HashSet::new());
    if let Ok(function) = syntax::parse(text, SourceId::default()) {
        visitor::walk_body(&mut found, &function.body);
    }
    found.0
}
