//! Which names a text reads without defining them, so that whoever holds the objects can look them up.

use std::collections::{BTreeSet, HashMap};

use fieldstone_stencil::SourceId;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprContext, Stmt, StmtFunctionDef, StmtImportFrom};
use ruff_text_size::{Ranged, TextRange};

use crate::syntax;

/// The free names of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Paths as written, `dt` or `constants.g`; sorted.
    pub paths: BTreeSet<String>,
    /// Roots of paths that the text imports from `__externals__`: local name and the external's name.
    pub externals: BTreeSet<(String, String)>,
}

/// The free names of a definition's text; none where it is not valid Python.
pub fn scan(text: &str) -> Names {
    let Ok(function) = syntax::parse(text, SourceId::default()) else {
        return Names::default();
    };
    let mut scan = Scan {
        local: assigned(&function).into_keys().collect(),
        names: Names::default(),
    };
    scan.local.extend(
        function
            .parameters
            .iter()
            .map(|parameter| parameter.name().to_string()),
    );
    function
        .body
        .iter()
        .for_each(|statement| scan.visit_stmt(statement));
    scan.names
}

/// The last part of a module that definitions import from: `__externals__` of `gt4py.cartesian.__externals__`.
pub(crate) fn imported_module(import: &StmtImportFrom) -> Option<&str> {
    let module = import.module.as_deref()?;
    let place = ["gt4py.cartesian.", "gt4py.", "fieldstone.gtscript."];
    let name = place
        .iter()
        .find_map(|place| module.strip_prefix(place))
        .unwrap_or(module);
    ["__externals__", "__gtscript__"]
        .contains(&name)
        .then_some(name)
}

struct Scan {
    local: BTreeSet<String>,
    names: Names,
}

impl<'a> Visitor<'a> for Scan {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::ImportFrom(import) = statement {
            if imported_module(import) == Some("__externals__") {
                for alias in &import.names {
                    let local = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.names
                        .externals
                        .insert((local.to_string(), alias.name.to_string()));
                    self.names.paths.insert(local.to_string());
                }
            }
        } else {
            visitor::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match path(expression) {
            Some((path, root)) if !self.local.contains(root) => {
                self.names.paths.insert(path);
            }
            Some(_) => {}
            None => visitor::walk_expr(self, expression),
        }
    }
}

/// The dotted path an expression spells, and its first name.
pub(crate) fn path(expression: &Expr) -> Option<(String, &str)> {
    match expression {
        Expr::Name(name) => Some((name.id.to_string(), &name.id)),
        Expr::Attribute(attribute) => {
            let (mut path, root) = path(&attribute.value)?;
            path.push('.');
            path.push_str(&attribute.attr);
            Some((path, root))
        }
        _ => None,
    }
}

/// Names that are assigned in statements, as a whole or in part, with the place of the first assignment.
pub(crate) fn assigned_in(statements: &[Stmt]) -> HashMap<String, TextRange> {
    struct Assigned(HashMap<String, TextRange>);
    impl<'a> Visitor<'a> for Assigned {
        fn visit_expr(&mut self, expression: &'a Expr) {
            let target = match expression {
                Expr::Name(name) if name.ctx == ExprContext::Store => Some(name),
                Expr::Subscript(part) if part.ctx == ExprContext::Store => {
                    let mut whole = part.value.as_ref();
                    while let Expr::Subscript(part) = whole {
                        whole = &part.value;
                    }
                    whole.as_name_expr()
                }
                _ => return visitor::walk_expr(self, expression),
            };
            if let Some(name) = target {
                self.0.entry(name.id.to_string()).or_insert(name.range());
            }
        }
    }
    let mut assigned = Assigned(HashMap::new());
    (statements.iter()).for_each(|statement| assigned.visit_stmt(statement));
    assigned.0
}

/// Names that a function assigns, with the place of the first assignment.
pub(crate) fn assigned(function: &StmtFunctionDef) -> HashMap<String, TextRange> {
    struct Assigned(HashMap<String, TextRange>);
    impl<'a> Visitor<'a> for Assigned {
        fn visit_expr(&mut self, expression: &'a Expr) {
            match expression {
                Expr::Name(name) if name.ctx == ExprContext::Store => {
                    self.0.entry(name.id.to_string()).or_insert(name.range());
                }
                // `field[...] = value` assigns the field, which is no name of its own.
                _ => visitor::walk_expr(self, expression),
            }
        }
    }
    let mut assigned = Assigned(HashMap::new());
    function
        .body
        .iter()
        .for_each(|statement| assigned.visit_stmt(statement));
    assigned.0
}
