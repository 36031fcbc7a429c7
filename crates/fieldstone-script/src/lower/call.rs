//! Calls: functions are inlined; maths builtins and casts become operations.

use std::collections::HashMap;
use std::rc::Rc;

use fieldstone_stencil::ir::{self, BinaryOp, Builtin, ExprKind, Literal};
use fieldstone_stencil::{Call, DType, Span};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Parameters};
use ruff_text_size::Ranged;

use super::expression::{cast, literal};
use super::name::Meaning;
use super::{Binding, Frame, Lowering, Reported, Text};
use crate::definition::{FunctionId, Value};
use crate::keyword::Keyword;
use crate::{constant, rule, suggest};

/// What [`Value::Unsupported`] says of a function that is no `gtscript.function`.
pub const PYTHON_FUNCTION: &str = "a Python function";

/// Functions of NumPy and `math` that gtscript does not have, and what to write instead.
const INSTEAD: [(&str, &str); 8] = [
    ("where", "a if condition else b"),
    ("select", "a if condition else b"),
    ("clip", "min(max(x, low), high)"),
    ("hypot", "sqrt(x * x + y * y)"),
    ("square", "x * x"),
    ("reciprocal", "1.0 / x"),
    ("sign", "1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0"),
    ("heaviside", "1.0 if x > 0.0 else 0.0"),
];

/// Functions inside of functions.
const DEEPEST: usize = 40;

impl Lowering<'_> {
    /// Lowers a call to its results.
    pub(super) fn call(&mut self, call: &ExprCall) -> Result<Vec<ir::Expr>, Reported> {
        let span = self.span(call);
        if let Some(value) = self.at_level(call) {
            return Ok(vec![value?]);
        }
        if crate::names::path(&call.func).is_none() {
            let span = self.span(call.func.as_ref());
            return Err(self.report(rule::WRONG_KIND.at(span, "only a function can be called")));
        }
        match self.resolve(&call.func)? {
            Meaning::Value(Value::Function(id)) => self.inline(id, call, span),
            Meaning::Value(Value::Keyword(Keyword::Builtin(builtin))) => {
                Ok(vec![self.builtin(builtin, call, span)?])
            }
            Meaning::Value(Value::Keyword(Keyword::Type(dtype))) => {
                Ok(vec![self.cast(dtype, call, span)?])
            }
            Meaning::Value(Value::Keyword(Keyword::Inlined)) => Ok(vec![self.inlined(call, span)?]),
            Meaning::Value(Value::Unsupported { description }) => {
                let name = &self.text()[call.func.range()];
                let last = name.rsplit('.').next().unwrap_or(name);
                let help = match INSTEAD.iter().find(|(name, _)| *name == last) {
                    Some((_, instead)) => format!("write `{instead}`"),
                    None if description == PYTHON_FUNCTION => {
                        format!("decorate `{last}` with `@gtscript.function`")
                    }
                    None => {
                        "a stencil calls `gtscript.function`s and the maths functions of gtscript"
                            .to_string()
                    }
                };
                let diagnostic = rule::UNSUPPORTED_OBJECT
                    .at(
                        self.span(call.func.as_ref()),
                        format!("`{name}` is {description}, which a stencil cannot call"),
                    )
                    .with_help(help);
                Err(self.report(diagnostic))
            }
            _ => {
                let name = self.text()[call.func.range()].to_string();
                let span = self.span(call.func.as_ref());
                let mut diagnostic =
                    rule::WRONG_KIND.at(span, format!("`{name}` is not a function"));
                if matches!(
                    call.arguments.args.first(),
                    Some(Expr::NumberLiteral(_) | Expr::UnaryOp(_))
                ) {
                    diagnostic = diagnostic
                        .with_help(format!("offsets of fields stand in brackets: `{name}[…]`"));
                }
                let frame = self.frame();
                if let Some(assigned) = frame.assigned.get(&name) {
                    diagnostic = diagnostic
                        .with_secondary(*assigned, format!("`{name}` is a temporary from here on"))
                        .with_help("give the temporary another name");
                }
                Err(self.report(diagnostic))
            }
        }
    }

    /// `compile_assert(condition)`; false where the call is of something else.
    pub(super) fn compile_assert(&mut self, call: &ExprCall) -> bool {
        let is_assert = crate::names::path(&call.func).is_some()
            && matches!(
                self.callee(call),
                Some(Value::Keyword(Keyword::CompileAssert))
            );
        if !is_assert {
            return false;
        }
        let span = self.span(call);
        if let Ok(condition) = self.inlined(call, span)
            && let Some(value) = constant::value(&condition)
            && !constant::truth(value)
        {
            let mut diagnostic =
                rule::COMPILE_ASSERT.at(span, "a compile-time condition does not hold");
            if let Some(values) = self.values_of(&call.arguments.args) {
                diagnostic = diagnostic.with_label(values);
            }
            self.report(diagnostic);
        }
        true
    }

    /// The numbers that the names in some expressions stand for: "`order` is 3".
    fn values_of(&self, expressions: &[Expr]) -> Option<String> {
        struct Names(Vec<String>);
        impl<'a> Visitor<'a> for Names {
            fn visit_expr(&mut self, expression: &'a Expr) {
                match crate::names::path(expression) {
                    Some((path, _)) if !self.0.contains(&path) => self.0.push(path),
                    Some(_) => {}
                    None => visitor::walk_expr(self, expression),
                }
            }
        }
        let mut names = Names(Vec::new());
        expressions
            .iter()
            .for_each(|expression| names.visit_expr(expression));
        let values: Vec<String> = (names.0.iter())
            .filter_map(|path| match self.frame().environment.values.get(path)? {
                Value::Literal(value) | Value::Typed(value, _) => {
                    Some(format!("`{path}` is {}", constant::text(*value)))
                }
                _ => None,
            })
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// What is called, without a complaint where it means nothing.
    pub(super) fn callee(&self, call: &ExprCall) -> Option<Value> {
        let (path, root) = crate::names::path(&call.func)?;
        let frame = self.frame();
        if frame.locals.contains_key(root) {
            return None;
        }
        frame
            .environment
            .values
            .get(&path)
            .cloned()
            .or_else(|| Keyword::from_name(&path).map(Value::Keyword))
    }

    /// `__INLINED(condition)`: the value, which must be known.
    fn inlined(&mut self, call: &ExprCall, span: Span) -> Result<ir::Expr, Reported> {
        let name = self.text()[call.func.range()].to_string();
        let [argument] = self.positional::<1>(call, &name, span)?;
        let value = self.expression(argument)?;
        match constant::known(&value) {
            Some(value) => Ok(literal(value, span)),
            None => {
                let span = self.span(argument);
                Err(self.report(
                    rule::NOT_CONSTANT
                        .at(span, format!("the argument of `{name}` must be known at compile time"))
                        .with_help("use externals and numbers; fields and scalar parameters are known at run time only"),
                ))
            }
        }
    }

    fn cast(&mut self, dtype: DType, call: &ExprCall, span: Span) -> Result<ir::Expr, Reported> {
        let name = self.text()[call.func.range()].to_string();
        let [argument] = self.positional::<1>(call, &name, span)?;
        Ok(cast(self.expression(argument)?, dtype, span))
    }

    fn builtin(
        &mut self,
        builtin: Builtin,
        call: &ExprCall,
        span: Span,
    ) -> Result<ir::Expr, Reported> {
        if matches!(builtin, Builtin::Min | Builtin::Max) {
            return self.extremum(builtin, call, span);
        }
        let operands = match builtin.arity() {
            1 => self.positional::<1>(call, builtin.name(), span)?.to_vec(),
            _ => self.positional::<2>(call, builtin.name(), span)?.to_vec(),
        };
        let operands: Vec<_> = operands
            .into_iter()
            .map(|operand| self.expression(operand))
            .collect();
        let operands: Vec<_> = operands.into_iter().collect::<Result<_, _>>()?;
        if let (Builtin::Abs, [operand]) = (builtin, operands.as_slice())
            && let Some(value) = constant::value(operand)
        {
            match value {
                Literal::Float(value) => return Ok(literal(Literal::Float(value.abs()), span)),
                Literal::Int(value) if value != i64::MIN => {
                    return Ok(literal(Literal::Int(value.abs()), span));
                }
                _ => {}
            }
        }
        if builtin == Builtin::Pow
            && let [base, exponent] = operands.as_slice()
            && constant::value(base).is_some()
            && constant::value(exponent).is_some()
        {
            return self.combine(BinaryOp::Pow, base.clone(), exponent.clone(), span);
        }
        Ok(ir::Expr::untyped(ExprKind::Call(builtin, operands), span))
    }

    /// `min` and `max` of two or more, from left to right.
    fn extremum(
        &mut self,
        builtin: Builtin,
        call: &ExprCall,
        span: Span,
    ) -> Result<ir::Expr, Reported> {
        let name = builtin.name();
        self.no_keywords(call, name)?;
        self.no_star(call)?;
        if call.arguments.args.len() < 2 {
            return Err(self.report(
                rule::ARGUMENTS
                    .at(
                        span,
                        format!(
                            "`{name}` takes two or more arguments, {} given",
                            call.arguments.args.len()
                        ),
                    )
                    .with_help("it compares values at one point; it does not reduce a field"),
            ));
        }
        self.no_long_row(call.arguments.args.len(), span)?;
        let operands: Vec<_> = call
            .arguments
            .args
            .iter()
            .map(|operand| self.expression(operand))
            .collect();
        let operands: Vec<_> = operands.into_iter().collect::<Result<_, Reported>>()?;
        let folded = operands.into_iter().reduce(|left, right| {
            let span = left.span.to(right.span);
            ir::Expr::untyped(ExprKind::Call(builtin, vec![left, right]), span)
        });
        let mut folded = folded.ok_or(Reported)?;
        folded.span = span;
        Ok(folded)
    }

    /// Exactly `N` positional arguments.
    fn positional<'a, const N: usize>(
        &mut self,
        call: &'a ExprCall,
        name: &str,
        span: Span,
    ) -> Result<[&'a Expr; N], Reported> {
        self.no_keywords(call, name)?;
        self.no_star(call)?;
        let arguments: Vec<&Expr> = call.arguments.args.iter().collect();
        let given = arguments.len();
        arguments.try_into().map_err(|_| {
            let plural = if N == 1 { "argument" } else { "arguments" };
            self.report(
                rule::ARGUMENTS.at(span, format!("`{name}` takes {N} {plural}, {given} given")),
            )
        })
    }

    fn no_star(&mut self, call: &ExprCall) -> Result<(), Reported> {
        match call
            .arguments
            .args
            .iter()
            .find(|argument| matches!(argument, Expr::Starred(_)))
        {
            None => Ok(()),
            Some(starred) => self.expression(starred).map(|_| ()),
        }
    }

    fn no_keywords(&mut self, call: &ExprCall, name: &str) -> Result<(), Reported> {
        match call.arguments.keywords.first() {
            None => Ok(()),
            Some(keyword) => {
                let span = self.span(keyword);
                Err(self.report(
                    rule::ARGUMENTS.at(span, format!("`{name}` takes no keyword arguments")),
                ))
            }
        }
    }

    /// Inlines a function: its statements go in front of the current one, its results are returned.
    fn inline(
        &mut self,
        id: FunctionId,
        call: &ExprCall,
        span: Span,
    ) -> Result<Vec<ir::Expr>, Reported> {
        let definition = self.definition;
        let function = &definition.functions[id.0];
        self.no_recursion(id, &function.name, span)?;
        if self.frames.len() > DEEPEST {
            return Err(self.report(
                rule::TOO_DEEP
                    .at(span, "functions call functions too deeply")
                    .with_help(format!(
                        "at most {DEEPEST} calls may be inside of each other"
                    )),
            ));
        }
        self.within_limits(id, span)?;
        let text = self.function_text(id, span)?;
        let arguments = self.arguments(id, &text, call, span)?;
        self.calls += 1;
        let call = Call {
            function: function.name.clone(),
            span,
        };
        let source = self.stencil.sources.add_call(text.source, call);
        self.frames.push(Frame {
            function: Some(id),
            prefix: format!("{}@{}.", function.name, self.calls),
            ..Frame::new(source, &function.environment, &text)
        });
        // Inside of the function no condition of the caller applies.
        let mask = std::mem::take(&mut self.mask);
        let body = self.collect(|lowering| {
            lowering.variadic(&text.function);
            lowering.bind(&text, arguments);
            lowering.statements(&text.function.body);
        });
        self.mask = mask;
        if self.mask.depth > 0 {
            self.mask.called.extend(body);
        } else {
            self.block.extend(body);
        }
        let result = match self.frame_mut().result.take() {
            Some(result) => {
                let values = result.iter().flatten();
                values.for_each(|value| self.inlined.count(value));
                result
            }
            None => {
                let span = self.span(&text.function.name);
                let diagnostic = rule::MISSING_RETURN
                    .at(
                        span,
                        format!("function `{}` returns nothing", function.name),
                    )
                    .with_help("end it with `return value`, or `return a, b` for several results");
                Err(self.report(diagnostic))
            }
        };
        self.frames.pop();
        result
    }

    fn no_recursion(&mut self, id: FunctionId, name: &str, span: Span) -> Result<(), Reported> {
        if self.frames.iter().all(|frame| frame.function != Some(id)) {
            return Ok(());
        }
        Err(self.report(
            rule::RECURSION
                .at(span, format!("function `{name}` calls itself"))
                .with_help("functions are inlined, so they cannot be recursive"),
        ))
    }

    /// The parsed text of a function, parsed on the first call.
    fn function_text(&mut self, id: FunctionId, call: Span) -> Result<Rc<Text>, Reported> {
        if let Some(text) = &self.functions[id.0] {
            return text.clone();
        }
        let definition = self.definition;
        let text = Text::new(
            &definition.functions[id.0].source,
            &mut self.stencil.sources,
        )
        .map(Rc::new)
        .map_err(|diagnostics| {
            for diagnostic in diagnostics {
                self.report(diagnostic.with_secondary(call, "called here"));
            }
            Reported
        });
        self.functions[id.0] = Some(text.clone());
        text
    }

    /// The arguments of a call by parameter name, lowered in the caller.
    fn arguments(
        &mut self,
        id: FunctionId,
        text: &Text,
        call: &ExprCall,
        span: Span,
    ) -> Result<HashMap<String, Binding>, Reported> {
        let definition = self.definition;
        let function = &definition.functions[id.0];
        let parameters = &text.function.parameters;
        let declared = crate::syntax::span(text.source, text.function.name.range());
        let mut bound: HashMap<String, Binding> = HashMap::new();
        let mut failed = None;
        let mut positional = parameters.posonlyargs.iter().chain(&parameters.args);
        let mut surplus = Vec::new();
        for argument in &call.arguments.args {
            match positional.next() {
                Some(parameter) => {
                    let binding = self.argument(argument);
                    bound.insert(parameter.name().to_string(), binding);
                }
                None => surplus.push(self.span(argument)),
            }
        }
        if let (Some(first), Some(last)) = (surplus.first(), surplus.last()) {
            let takes = parameters.posonlyargs.len() + parameters.args.len();
            let diagnostic = rule::ARGUMENTS
                .at(
                    first.to(*last),
                    format!(
                        "`{}` takes {takes} positional {}, {} given",
                        function.name,
                        if takes == 1 { "argument" } else { "arguments" },
                        call.arguments.args.len()
                    ),
                )
                .with_secondary(declared, "defined here");
            failed = Some(self.report(diagnostic));
        }
        for keyword in &call.arguments.keywords {
            let span = self.span(keyword);
            let Some(name) = keyword.arg.as_ref().map(|name| name.as_str()) else {
                failed = Some(
                    self.report(rule::ARGUMENTS.at(span, "`**` in a call is not part of gtscript")),
                );
                continue;
            };
            let binding = self.argument(&keyword.value);
            if let Err(diagnostic) = keyword_fits(parameters, &bound, name, &function.name, span) {
                failed = Some(self.report(diagnostic.with_secondary(declared, "defined here")));
                continue;
            }
            bound.insert(name.to_string(), binding);
        }
        let mut missing = Vec::new();
        for parameter in parameters.iter_non_variadic_params() {
            let name = parameter.name().as_str();
            if bound.contains_key(name) {
                continue;
            }
            match function.defaults.get(name) {
                Some(value) => {
                    bound.insert(name.to_string(), default(value, parameter.range(), text));
                }
                None => missing.push(format!("`{name}`")),
            }
        }
        if !missing.is_empty() && failed.is_none() {
            let plural = if missing.len() == 1 {
                "argument is"
            } else {
                "arguments are"
            };
            let diagnostic = rule::ARGUMENTS
                .at(
                    span,
                    format!(
                        "the {plural} missing in this call of `{}`: {}",
                        function.name,
                        missing.join(", ")
                    ),
                )
                .with_secondary(declared, "defined here");
            failed = Some(self.report(diagnostic));
        }
        failed.map_or(Ok(bound), Err)
    }

    /// One argument: a number at run time, or a function or namespace.
    fn argument(&mut self, argument: &Expr) -> Binding {
        if crate::names::path(argument).is_some() {
            match self.resolve(argument) {
                Err(Reported) => return Binding::Broken,
                Ok(Meaning::Value(
                    value @ (Value::Function(_)
                    | Value::Namespace { .. }
                    | Value::Keyword(_)
                    | Value::Point(..)),
                )) => {
                    return Binding::Value(value);
                }
                Ok(Meaning::Local(Binding::Argument {
                    value,
                    stored: Some(temp),
                })) => {
                    // The stored value is what the inner function reads as well.
                    return Binding::Argument {
                        value: super::read(temp, value.span),
                        stored: None,
                    };
                }
                Ok(_) => {}
            }
        }
        match self.expression(argument) {
            Ok(value) => Binding::Argument {
                value,
                stored: None,
            },
            Err(Reported) => Binding::Broken,
        }
    }

    /// Makes the arguments the locals of the function. What is more than a plain read is stored in a temporary once; so is
    /// an argument that the function assigns.
    fn bind(&mut self, text: &Text, arguments: HashMap<String, Binding>) {
        // In the order of the signature, so that the same call always gives the same statements.
        for parameter in text.function.parameters.iter_non_variadic_params() {
            let name = parameter.name().as_str();
            let Some(argument) = arguments.get(name) else {
                continue;
            };
            let assigned = self.frame().assigned.contains_key(name);
            let binding = match argument.clone() {
                Binding::Argument { value, .. } if assigned || !is_plain(&value) => {
                    let span = value.span;
                    let temp = self.temporary(name, None, span);
                    self.stored.insert(temp);
                    self.assign_temporary(temp, value.clone(), span);
                    if assigned {
                        Binding::Temp(temp)
                    } else {
                        Binding::Argument {
                            value,
                            stored: Some(temp),
                        }
                    }
                }
                other => other,
            };
            self.frame_mut().locals.insert(name.to_string(), binding);
        }
    }
}

fn keyword_fits(
    parameters: &Parameters,
    bound: &HashMap<String, Binding>,
    name: &str,
    function: &str,
    span: Span,
) -> Result<(), fieldstone_stencil::Diagnostic> {
    let named = || {
        parameters
            .args
            .iter()
            .chain(&parameters.kwonlyargs)
            .map(|parameter| parameter.name().as_str())
    };
    if !named().any(|known| known == name) {
        let diagnostic =
            rule::ARGUMENTS.at(span, format!("`{function}` has no parameter `{name}`"));
        return Err(match suggest::closest(name, named()) {
            Some(close) => diagnostic.with_help(format!("did you mean `{close}`?")),
            None => diagnostic,
        });
    }
    if bound.contains_key(name) {
        return Err(rule::ARGUMENTS.at(span, format!("`{name}` is given twice")));
    }
    Ok(())
}

/// The value of a parameter that a call does not give.
fn default(value: &Value, range: ruff_text_size::TextRange, text: &Text) -> Binding {
    let span = crate::syntax::span(text.source, range);
    match value {
        Value::Literal(value) => Binding::Argument {
            value: literal(*value, span),
            stored: None,
        },
        Value::Typed(value, dtype) => Binding::Argument {
            value: cast(literal(*value, span), *dtype, span),
            stored: None,
        },
        other => Binding::Value(other.clone()),
    }
}

/// Whether reading a value twice costs nothing, so that it need not be stored.
fn is_plain(value: &ir::Expr) -> bool {
    match &value.kind {
        ExprKind::Literal(_) | ExprKind::Scalar(_) | ExprKind::Access { .. } => true,
        ExprKind::Cast(operand) => matches!(operand.kind, ExprKind::Literal(_)),
        _ => false,
    }
}
