//! What a name means.

use fieldstone_stencil::Span;
use ruff_python_ast::{Alias, Expr, StmtImportFrom};
use ruff_text_size::{Ranged, TextRange};

use super::{Binding, Lowering, Reported};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::{names, rule, suggest};

const REPEATED: &str =
    "a stencil visits every point by itself; an order of levels is `computation(FORWARD)`";
const REDUCED: &str = "a stencil computes every point by itself; what sums up along K is carried from level to level in \
                       `computation(FORWARD)`";

/// Errors that get a suggestion.
const MOST_SUGGESTIONS: usize = 100;

/// Members that are listed where one of them is missed.
const FEW: usize = 12;

/// Names of Python that people write in a stencil, and what to write instead, where there is something.
const PYTHON: [(&str, &str); 27] = [
    ("all", REDUCED),
    ("any", REDUCED),
    ("callable", ""),
    ("complex", ""),
    ("dict", ""),
    ("divmod", "write `a // b` and `a % b`"),
    ("enumerate", REPEATED),
    ("filter", ""),
    ("getattr", "attributes are written out: `constants.gravity`"),
    ("hasattr", ""),
    ("isinstance", ""),
    (
        "len",
        "sizes are those of the call; give what is needed as a parameter or an external",
    ),
    ("list", ""),
    ("map", ""),
    ("open", ""),
    (
        "print",
        "the backend 'debug' checks every access; values are seen in fields: assign them to one",
    ),
    ("range", REPEATED),
    ("repr", ""),
    ("reversed", REPEATED),
    ("set", ""),
    ("setattr", ""),
    ("slice", ""),
    ("sorted", ""),
    ("str", ""),
    ("sum", REDUCED),
    ("tuple", ""),
    ("zip", REPEATED),
];

/// Numbers of Python's `math`, and how to get them.
pub(super) const OF_MATH: ([&str; 3], &str) = (
    ["inf", "nan", "pi"],
    "import it above the stencil, as in `from math import inf, nan, pi`",
);

/// What a name means.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A parameter, argument or temporary.
    Local(Binding),
    /// Something from outside of the text, or a word of the language.
    Value(Value),
}

impl Lowering<'_> {
    /// What a name or dotted name means.
    pub(super) fn resolve(&mut self, expression: &Expr) -> Result<Meaning, Reported> {
        let span = self.span(expression.range());
        let Some((path, root)) = names::path(expression) else {
            return Err(self.report(rule::WRONG_KIND.at(span, "a name is expected here")));
        };
        if let Some(binding) = self.frame().locals.get(root) {
            let binding = binding.clone();
            return match expression {
                Expr::Attribute(_) => Err(self.attribute_of_local(&path, root, &binding, span)),
                _ => match binding {
                    Binding::Broken => Err(Reported),
                    Binding::Value(value) => Ok(Meaning::Value(value)),
                    binding => Ok(Meaning::Local(binding)),
                },
            };
        }
        let frame = self.frame();
        // An assignment to what cannot be assigned is an error of its own.
        let fixed = frame.imported.contains(root)
            || Keyword::from_name(root).is_some_and(Keyword::is_structural);
        if let Some(assigned) = frame.assigned.get(root).filter(|_| !fixed) {
            let diagnostic = rule::READ_BEFORE_ASSIGNED
                .at(span, format!("`{root}` is read before it is assigned"))
                .with_secondary(*assigned, "assigned here")
                .with_help("statements run from top to bottom: assign it above");
            return Err(self.report(diagnostic));
        }
        if let Some(value) = self.frame().environment.values.get(&path) {
            return Ok(Meaning::Value(value.clone()));
        }
        match Keyword::from_name(&path) {
            Some(keyword) => Ok(Meaning::Value(Value::Keyword(keyword))),
            None => {
                let rest = &self.text()[expression.range().end().into()..];
                let is_called = rest.trim_start().starts_with('(');
                Err(self.undefined(&path, root, span, is_called))
            }
        }
    }

    /// Whether a name stands for something.
    pub(super) fn is_defined(&self, path: &str, root: &str) -> bool {
        let frame = self.frame();
        frame.locals.contains_key(root)
            || frame.assigned.contains_key(root)
            || frame.environment.values.contains_key(path)
            || Keyword::from_name(path).is_some()
    }

    /// Binds what `from __externals__ import …` imports; the values are in the environment already.
    pub(super) fn import(&mut self, import: &StmtImportFrom) {
        match names::imported_module(import) {
            Some("__gtscript__") => {
                for alias in &import.names {
                    self.misspelt_word(alias);
                }
            }
            Some("__externals__") => {
                for alias in &import.names {
                    let name = alias.name.as_str();
                    let local = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                    self.frame_mut().imported.insert(local.clone());
                    let span = self.span(&alias.name);
                    let externals = &self.definition.externals;
                    if externals.iter().any(|external| external == name) {
                        continue;
                    }
                    let close = suggest::closest(name, externals.iter().map(String::as_str));
                    let help = match close {
                        Some(close) => format!("did you mean `{close}`?"),
                        None => format!("give it to the stencil: `externals={{\"{name}\": …}}`"),
                    };
                    self.report(
                        rule::UNDEFINED_EXTERNAL
                            .at(span, format!("there is no external `{name}`"))
                            .with_help(help),
                    );
                    self.frame_mut().locals.insert(local, Binding::Broken);
                }
            }
            _ => self.foreign_import(import.range(), import.module.as_deref(), &import.names),
        }
    }

    /// Reports the import of what is almost a word of the language.
    fn misspelt_word(&mut self, alias: &Alias) {
        let name = alias.name.as_str();
        if Keyword::from_name(name).is_some() {
            return;
        }
        if let Some(close) = suggest::closest(name, Keyword::suggestions()) {
            let span = self.span(&alias.name);
            self.report(
                rule::IMPORT
                    .at(span, format!("gtscript has no word `{name}`"))
                    .with_help(format!("did you mean `{close}`?")),
            );
            self.frame_mut()
                .locals
                .insert(name.to_string(), Binding::Broken);
        }
    }

    /// Refuses an import; what it would bind is known from here on all the same.
    pub(super) fn foreign_import(
        &mut self,
        range: TextRange,
        module: Option<&str>,
        names: &[Alias],
    ) {
        let span = self.span(range);
        let words: Vec<&str> = names.iter().map(|alias| alias.name.as_str()).collect();
        let modules = ["__externals__", "__gtscript__"];
        let close = |name: &str| {
            let plain = name.trim_matches('_');
            modules
                .into_iter()
                .find(|module| *module == name)
                .or_else(|| {
                    let plain =
                        suggest::closest(plain, ["externals", "gtscript", "external"].into_iter())
                            .unwrap_or(plain);
                    modules.into_iter().find(|module| {
                        let module = module.trim_matches('_');
                        plain == module || format!("{plain}s") == module
                    })
                })
        };
        let meant = match (module, words.as_slice()) {
            (Some(module), _) => {
                close(module).map(|close| format!("from {close} import {}", words.join(", ")))
            }
            (None, [name]) => close(name).map(|close| format!("from {close} import name")),
            (None, _) => None,
        };
        self.report(
            rule::IMPORT
                .at(span, "a stencil cannot import at run time")
                .with_help(match meant {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "import above the definition; externals with `from __externals__ import name`".into(),
                }),
        );
        for alias in names {
            let local = alias.asname.as_ref().unwrap_or(&alias.name);
            let root = local.split('.').next().unwrap_or_default().to_string();
            self.frame_mut()
                .locals
                .entry(root)
                .or_insert(Binding::Broken);
        }
    }

    fn attribute_of_local(
        &mut self,
        path: &str,
        root: &str,
        binding: &Binding,
        span: Span,
    ) -> Reported {
        let attribute = path.rsplit('.').next().unwrap_or_default();
        match binding {
            Binding::Broken => Reported,
            Binding::Scalar(_) | Binding::Value(_) => self.report(
                rule::UNDEFINED_ATTRIBUTE
                    .at(span, format!("`{root}` has no attribute `{attribute}`")),
            ),
            Binding::Field(_) | Binding::Temp(_) | Binding::Argument { .. } => match attribute {
                "at" => self.report(
                    rule::ABSOLUTE_LEVEL
                        .at(span, "`at` is called with a level")
                        .with_help(format!("write `{root}.at(K=level)`")),
                ),
                "A" => self.report(
                    rule::DATA_INDEX_COUNT
                        .at(span, "`.A` is followed by the indices of an element")
                        .with_help(format!("write `{path}[0]`")),
                ),
                _ => self.report(
                    rule::UNDEFINED_ATTRIBUTE
                        .at(span, format!("a field has no attribute `{attribute}`"))
                        .with_help(format!(
                            "a stencil computes every point by itself; a field has `{root}.at(K=…)`, a matrix `{root}.T`, a \
                             table `{root}.A`"
                        )),
                ),
            },
        }
    }

    /// Reports a name that means nothing.
    fn undefined(&mut self, path: &str, root: &str, span: Span, is_called: bool) -> Reported {
        let environment = self.frame().environment;
        // The longest part of the path that exists, and the first attribute that does not.
        let mut end = path.len();
        while let Some(dot) = path[..end].rfind('.') {
            if let Some(value) = environment.values.get(&path[..dot]) {
                let attribute = &path[dot + 1..end];
                let (owner, members) = match value {
                    Value::Namespace {
                        description,
                        members,
                    } => (description.clone(), members.as_slice()),
                    _ => (format!("`{}`", &path[..dot]), [].as_slice()),
                };
                let mut diagnostic = rule::UNDEFINED_ATTRIBUTE
                    .at(span, format!("{owner} has no attribute `{attribute}`"));
                if let Some(close) = suggest::closest(attribute, members.iter().map(String::as_str))
                {
                    diagnostic =
                        diagnostic.with_help(format!("did you mean `{}.{close}`?", &path[..dot]));
                } else if (1..=FEW).contains(&members.len()) {
                    diagnostic = diagnostic.with_help(format!("it has `{}`", members.join("`, `")));
                }
                return self.report(diagnostic);
            }
            end = dot;
        }
        let span = Span {
            end: span.start + root.len() as u32,
            ..span
        };
        let python = PYTHON.iter().find(|(name, _)| *name == root);
        let message = match python {
            Some(_) => format!("Python's `{root}` is not part of gtscript"),
            None => format!("name `{root}` is not defined"),
        };
        let mut diagnostic = rule::UNDEFINED_NAME.at(span, message);
        // Names of the text come first: among equals they are the likelier ones.
        let frame = self.frame();
        let locals = frame
            .locals
            .keys()
            .chain(frame.assigned.keys())
            .map(String::as_str);
        let values = environment
            .values
            .keys()
            .chain(&environment.visible)
            .map(String::as_str);
        // Looking takes long where there are very many errors, of which the first are shown.
        let close = (self.diagnostics.len() < MOST_SUGGESTIONS)
            .then(|| {
                suggest::closest(root, locals)
                    .or_else(|| suggest::closest(root, values.chain(Keyword::suggestions())))
            })
            .flatten()
            .map(str::to_string);
        diagnostic = match (python, close) {
            (Some((_, "")), None) => diagnostic,
            (Some((_, help)), _) if !help.is_empty() => diagnostic.with_help(*help),
            _ if OF_MATH.0.contains(&root) => diagnostic.with_help(OF_MATH.1),
            (_, Some(close)) => diagnostic.with_help(format!("did you mean `{close}`?")),
            (_, None) if is_called && root == path => diagnostic.with_help(format!(
                "define `{root}` above the stencil, decorated with `@gtscript.function`"
            )),
            (_, None) => diagnostic.with_help(format!(
                "make `{root}` a parameter, assign it above, or define it outside of the stencil"
            )),
        };
        self.report(diagnostic)
    }
}
