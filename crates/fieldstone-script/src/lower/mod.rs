//! Syntax tree to IR: names are resolved, functions inlined and compile-time conditions decided on the way.
//!
//! | file | what it lowers |
//! |---|---|
//! | `signature` | parameters of the stencil |
//! | `computation`, `interval` | `with computation(…), interval(…)`; the levels of an interval |
//! | `run_time_levels` | intervals whose bounds show at run time |
//! | `region` | `with horizontal(region[…])` |
//! | `statement`, `target` | assignments, `return`; what is assigned |
//! | `branch`, `condition`, `repeat` | `if`; conditions that decide nothing; `while` |
//! | `expression` | operators and reads |
//! | `subscript`, `offset` | reads at other points, also at levels that are computed |
//! | `data` | indices of data dimensions, vectors and matrices |
//! | `call`, `inlined` | functions, maths builtins, casts; how much functions come to |
//! | `name` | what a name means |
//!
//! Every error is recorded and lowering goes on behind it, so that one run reports them all; [`Reported`] is what is handed up
//! in place of a result whose error is recorded already.
mod branch;
mod call;
mod computation;
mod condition;
mod data;
mod expression;
mod inlined;
mod interval;
mod name;
mod offset;
mod region;
mod repeat;
mod run_time_levels;
mod signature;
mod statement;
mod subscript;
mod target;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use fieldstone_stencil::analysis::SELF_ASSIGNMENT;
use fieldstone_stencil::diagnostic::{Code, Diagnostic, Diagnostics};
use fieldstone_stencil::elements::{self, Indices};
use fieldstone_stencil::ir::{
    Expr, ExprKind, FieldId, ScalarId, Stencil, Stmt, Target, TempId, Temporary,
};
use fieldstone_stencil::visit::{Access, accesses, reads};
use fieldstone_stencil::{DType, Offset, Source, SourceId, SourceMap, Span};
use ruff_python_ast::StmtFunctionDef;
use ruff_text_size::Ranged;

pub use self::call::PYTHON_FUNCTION;
use self::data::Place;
use self::inlined::Inlined;
use crate::definition::{Definition, Environment, FunctionId, Value};
use crate::prune::prune;
use crate::{check, further, names, rule, syntax};

/// Compiles a definition to untyped IR, or to every error in it.
pub fn compile(definition: &Definition) -> Result<Stencil, Diagnostics> {
    compile_with_warnings(definition).map(|(stencil, _)| stencil)
}

/// Compiles a definition to untyped IR and what is probably not meant, or to every error in it.
pub fn compile_with_warnings(
    definition: &Definition,
) -> Result<(Stencil, Vec<Diagnostic>), Diagnostics> {
    let mut sources = SourceMap::default();
    let text = match Text::new(&definition.source, &mut sources) {
        Ok(text) => text,
        Err(diagnostics) => {
            return Err(Diagnostics {
                diagnostics,
                sources,
            });
        }
    };
    let mut lowering = Lowering {
        definition,
        stencil: Stencil {
            name: definition.name.clone(),
            params: Vec::new(),
            fields: Vec::new(),
            scalars: Vec::new(),
            temporaries: Vec::new(),
            computations: Vec::new(),
            fast_math: Default::default(),
            sources,
        },
        functions: vec![None; definition.functions.len()],
        diagnostics: Vec::new(),
        warnings: Vec::new(),
        seen: HashSet::new(),
        calls: 0,
        inlined: Inlined::default(),
        frames: vec![Frame::new(text.source, &definition.environment, &text)],
        block: Vec::new(),
        mask: Mask::default(),
        stored: HashSet::new(),
        unshaped: HashSet::new(),
        data: false,
        is_sweep: false,
        entered: Vec::new(),
        depth: 0,
    };
    lowering.signature(&text.function);
    lowering.stencil_body(&text.function);
    // Elements of data dimensions are different values.
    let (apart, _) = elements::of_everything(lowering.stencil.clone(), Indices::Constant);
    check::check(&apart, &mut lowering.diagnostics);
    lowering.finish()
}

/// An error that is recorded already.
#[derive(Clone, Copy, Debug)]
struct Reported;

/// A parsed `def`.
#[derive(Debug)]
struct Text {
    source: SourceId,
    function: StmtFunctionDef,
    /// Names it assigns, with the place of the first assignment.
    assigned: HashMap<String, Span>,
}

impl Text {
    fn new(source: &Source, sources: &mut SourceMap) -> Result<Text, Vec<Diagnostic>> {
        let id = sources.add(source.clone());
        let function = syntax::parse(&source.text, id)?;
        let assigned = names::assigned(&function)
            .into_iter()
            .map(|(name, range)| (name, syntax::span(id, range)))
            .collect();
        Ok(Text {
            source: id,
            function,
            assigned,
        })
    }
}

/// What a local name stands for.
#[derive(Clone, Debug)]
enum Binding {
    Field(FieldId),
    Scalar(ScalarId),
    Temp(TempId),
    /// An argument of the function that is inlined, as an expression of the caller.
    Argument {
        value: Expr,
        /// Where its value is kept when it is more than a plain access.
        stored: Option<TempId>,
    },
    /// An argument or an external that is no number at run time.
    Value(Value),
    /// Something whose error is reported already.
    Broken,
}

/// The definition, or a function while it is inlined.
#[derive(Debug)]
struct Frame<'d> {
    source: SourceId,
    environment: &'d Environment,
    function: Option<FunctionId>,
    /// Prefix of the names of temporaries.
    prefix: String,
    locals: HashMap<String, Binding>,
    assigned: HashMap<String, Span>,
    /// Names it imports from `__externals__`.
    imported: HashSet<String>,
    /// Temporaries that hold results of branches that return.
    returns: Vec<TempId>,
    result: Option<Result<Vec<Expr>, Reported>>,
}

impl<'d> Frame<'d> {
    fn new(source: SourceId, environment: &'d Environment, text: &Text) -> Frame<'d> {
        Frame {
            source,
            environment,
            function: None,
            prefix: String::new(),
            locals: HashMap::new(),
            assigned: text.assigned.clone(),
            imported: HashSet::new(),
            returns: Vec::new(),
            result: None,
        }
    }
}

/// Why a call stays under a condition.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// What it needs, and where that is written under the condition.
    needed: Target,
    written: Span,
}

/// The run-time conditions a statement is under.
#[derive(Debug, Default)]
struct Mask {
    /// How many there are.
    depth: usize,
    /// What was written since the outermost one, and where.
    written: HashMap<Target, Span>,
    /// Statements of the functions that the current statement calls.
    called: Vec<Stmt>,
    /// Such statements that go before the outermost condition: what a function computes must be there at neighbours where
    /// the condition does not hold.
    hoisted: Vec<Stmt>,
    /// Temporaries of functions that could not go there.
    partial: HashMap<Target, Kept>,
}

struct Lowering<'d> {
    definition: &'d Definition,
    stencil: Stencil,
    functions: Vec<Option<Result<Rc<Text>, Reported>>>,
    diagnostics: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    seen: HashSet<(Code, Span)>,
    /// How many functions were inlined so far; numbers their temporaries.
    calls: usize,
    /// What these calls came to.
    inlined: Inlined,
    frames: Vec<Frame<'d>>,
    /// The statements of the innermost block so far.
    block: Vec<Stmt>,
    mask: Mask,
    /// Temporaries that hold arguments of functions.
    stored: HashSet<TempId>,
    /// Temporaries whose data dimensions follow from what is assigned first.
    unshaped: HashSet<TempId>,
    /// Whether anything has data dimensions.
    data: bool,
    /// Whether the computation is a vertical sweep.
    is_sweep: bool,
    /// The intervals of the computation so far.
    entered: Vec<run_time_levels::Entered>,
    /// How deeply the expression that is lowered now is nested.
    depth: usize,
}

impl<'d> Lowering<'d> {
    fn finish(mut self) -> Result<(Stencil, Vec<Diagnostic>), Diagnostics> {
        if self.diagnostics.is_empty() {
            prune(&mut self.stencil, &self.stored);
            return Ok((self.stencil, self.warnings));
        }
        let further = further::errors(&self.stencil);
        for error in further {
            // Levels that wait for each other are the better reason.
            let place = self.stencil.sources.place(error.primary.span);
            let raced = self.diagnostics.iter().any(|known| {
                known.code == rule::PARALLEL_K_RACE.code
                    && self.stencil.sources.place(known.primary.span) == place
            });
            if !(raced && error.code == SELF_ASSIGNMENT) {
                self.report(error);
            }
        }
        self.diagnostics.sort_by_key(|diagnostic| {
            (
                diagnostic.primary.span.source,
                diagnostic.primary.span.start,
                diagnostic.code,
            )
        });
        Err(Diagnostics {
            diagnostics: self.diagnostics,
            sources: self.stencil.sources,
        })
    }

    fn frame(&self) -> &Frame<'d> {
        self.frames
            .last()
            .expect("the definition is the first frame")
    }

    fn frame_mut(&mut self) -> &mut Frame<'d> {
        self.frames
            .last_mut()
            .expect("the definition is the first frame")
    }

    /// A place in the text that is lowered now.
    fn span(&self, node: impl Ranged) -> Span {
        syntax::span(self.frame().source, node.range())
    }

    /// Records an error. The same error of the same place is recorded once, however often the function it stands in is
    /// called.
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        let place = self.stencil.sources.place(diagnostic.primary.span);
        if self.seen.insert((diagnostic.code, place)) {
            self.diagnostics.push(diagnostic);
        }
        Reported
    }

    /// Records a warning, once for each place.
    fn warn(&mut self, diagnostic: Diagnostic) {
        let place = self.stencil.sources.place(diagnostic.primary.span);
        if self.seen.insert((diagnostic.code, place)) {
            self.warnings.push(diagnostic);
        }
    }

    /// Runs `lower` with an empty block and returns what it put there.
    fn collect(&mut self, lower: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        let outer = std::mem::take(&mut self.block);
        lower(self);
        std::mem::replace(&mut self.block, outer)
    }

    /// A new temporary of the frame.
    fn temporary(&mut self, name: &str, dtype: Option<DType>, span: Span) -> TempId {
        let name = format!("{}{name}", self.frame().prefix);
        self.stencil
            .temporaries
            .push(Temporary::at_every_point(name, dtype, span));
        let id = TempId(self.stencil.temporaries.len() as u32 - 1);
        self.unshaped.insert(id);
        id
    }

    /// Appends an assignment.
    fn assign(&mut self, place: Place, value: Expr, span: Span) {
        if self.mask.depth > 0 {
            self.place_called();
            reads(&value, &mut |access| self.check_partial(access));
            self.mask.written.insert(place.target, place.span);
        }
        if self.frame().function.is_some() {
            self.inlined.count(&value);
        }
        // The error is recorded; nothing is assigned.
        if let Ok(statements) = self.assignments(place, value, span) {
            self.block.extend(statements);
        }
    }

    /// Appends an assignment to a temporary.
    fn assign_temporary(&mut self, temp: TempId, value: Expr, span: Span) {
        let place = Place {
            target: Target::Temp(temp),
            offset: Offset::ZERO,
            subscript: None,
            span,
        };
        self.assign(place, value, span);
    }
}

impl Lowering<'_> {
    /// Puts the statements of functions that were called under a condition before the outermost condition, unless they
    /// need something that is written under it.
    fn place_called(&mut self) {
        let called = std::mem::take(&mut self.mask.called);
        let mut written = HashMap::new();
        let mut kept = None;
        accesses(&called, &mut |access| {
            if access.write {
                written.insert(access.target, access.span);
            } else if let Some(write) = self.mask.written.get(&access.target) {
                kept.get_or_insert(Kept {
                    needed: access.target,
                    written: *write,
                });
            }
        });
        let Some(kept) = kept else {
            self.mask.hoisted.extend(called);
            return;
        };
        self.mask
            .partial
            .extend(written.keys().map(|target| (*target, kept)));
        accesses(&called, &mut |access| self.check_partial(access));
        self.mask.written.extend(written);
        self.block.extend(called);
    }

    /// Refuses to read a neighbour of what a function computes under a condition only.
    fn check_partial(&mut self, access: Access) {
        if access.write || access.offset == Offset::ZERO {
            return;
        }
        let Some(kept) = self.mask.partial.get(&access.target).copied() else {
            return;
        };
        let local = self.stencil.source_name(access.target);
        let needed = self.stencil.source_name(kept.needed);
        let diagnostic = rule::MASKED_OFFSET_READ
            .at(
                access.span,
                format!(
                    "`{local}` is read at neighbours, but computed only where a condition holds"
                ),
            )
            .with_secondary(
                kept.written,
                format!("`{needed}`, which the call needs, is assigned under the condition"),
            )
            .with_help(format!(
                "assign `{needed}` or call the function outside of the `if`"
            ));
        self.report(diagnostic);
    }
}

/// A read of a temporary at the point itself.
fn read(temp: TempId, span: Span) -> Expr {
    Expr::untyped(ExprKind::read(Target::Temp(temp), Offset::ZERO), span)
}
