//! Operators and reads.

use fieldstone_stencil::ir::{self, BinaryOp, CompareOp, ExprKind, Literal, Target, UnaryOp};
use fieldstone_stencil::{Axis, DType, Offset, Span};
use ruff_python_ast as ast;
use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::name::{Meaning, OF_MATH};
use super::{Binding, Lowering, Reported, read};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::{constant, rule};

/// Expressions inside of expressions.
const DEEPEST: usize = 100;

/// Operations in a row, and inside of each other once functions are inlined; what types take.
const LONGEST: usize = fieldstone_stencil::types::MAX_DEPTH;

impl Lowering<'_> {
    /// Lowers an expression with one value.
    pub(super) fn expression(&mut self, expression: &Expr) -> Result<ir::Expr, Reported> {
        let mut values = self.values(expression)?;
        if values.len() == 1 {
            return Ok(values.remove(0));
        }
        let span = self.span(expression);
        Err(self.report(
            rule::UNPACK
                .at(
                    span,
                    format!("one value is expected here, but there are {}", values.len()),
                )
                .with_help("assign the results to names first, `a, b = f(…)`"),
        ))
    }

    /// Lowers an expression with any number of values: a tuple, or a call of a function that returns several.
    pub(super) fn values(&mut self, expression: &Expr) -> Result<Vec<ir::Expr>, Reported> {
        let span = self.span(expression);
        if self.depth >= DEEPEST {
            return Err(self.too_deep(span));
        }
        self.depth += 1;
        let values = self.values_below(expression);
        self.depth -= 1;
        let values = values?;
        // Functions can add to what is nested in the text; what passes here may be walked with recursion.
        if values.iter().any(|value| value.depth() > LONGEST) {
            return Err(self.too_deep(span));
        }
        Ok(values)
    }

    fn too_deep(&mut self, span: Span) -> Reported {
        self.report(
            rule::TOO_DEEP
                .at(span, "the expression is nested too deeply")
                .with_help("split it, and give the parts names"),
        )
    }

    /// Refuses more operations in a row than an expression may have.
    pub(super) fn no_long_row(&mut self, operations: usize, span: Span) -> Result<(), Reported> {
        if operations <= LONGEST {
            return Ok(());
        }
        Err(self.report(
            rule::TOO_DEEP
                .at(span, "the expression is too long")
                .with_help("split it, and give the parts names"),
        ))
    }

    fn values_below(&mut self, expression: &Expr) -> Result<Vec<ir::Expr>, Reported> {
        match expression {
            Expr::Tuple(tuple) => {
                // Every element is lowered before the first error ends it.
                let values: Vec<_> = tuple
                    .elts
                    .iter()
                    .map(|element| self.expression(element))
                    .collect();
                values.into_iter().collect()
            }
            Expr::Call(call) => self.call(call),
            other => Ok(vec![self.single(other)?]),
        }
    }

    fn single(&mut self, expression: &Expr) -> Result<ir::Expr, Reported> {
        let span = self.span(expression);
        match expression {
            Expr::NumberLiteral(number) => self.number(&number.value, span),
            Expr::BooleanLiteral(boolean) => Ok(literal(Literal::Bool(boolean.value), span)),
            Expr::Attribute(attribute)
                if attribute.attr.as_str() == "T" && self.is_value(&attribute.value) =>
            {
                let value = self.expression(&attribute.value)?;
                self.transposed(value, span)
            }
            Expr::Name(_) | Expr::Attribute(_) => self.named(expression, span),
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::UnaryOp(operation) => self.unary(operation, span),
            Expr::BinOp(operation) => self.binary(operation),
            Expr::BoolOp(operation) => self.logical(operation),
            Expr::Compare(comparison) => self.comparison(comparison, span),
            Expr::If(conditional) => self.conditional(conditional, span),
            other => Err(self.foreign(other, span)),
        }
    }

    fn number(&mut self, number: &ast::Number, span: Span) -> Result<ir::Expr, Reported> {
        match number {
            ast::Number::Int(value) => match value.as_i64() {
                Some(value) => Ok(literal(Literal::Int(value), span)),
                None => {
                    Err(self.report(rule::NUMBER.at(span, "the integer does not fit into 64 bits")))
                }
            },
            ast::Number::Float(value) => Ok(literal(Literal::Float(*value), span)),
            ast::Number::Complex { .. } => {
                Err(self
                    .report(rule::EXPRESSION.at(span, "complex numbers are not part of gtscript")))
            }
        }
    }

    fn named(&mut self, expression: &Expr, span: Span) -> Result<ir::Expr, Reported> {
        let access = |target| ir::Expr::untyped(ExprKind::read(target, Offset::ZERO), span);
        match self.resolve(expression)? {
            Meaning::Local(Binding::Field(id)) => Ok(access(Target::Field(id))),
            Meaning::Local(Binding::Temp(id)) => Ok(access(Target::Temp(id))),
            Meaning::Local(Binding::Scalar(id)) => {
                Ok(ir::Expr::untyped(ExprKind::Scalar(id), span))
            }
            Meaning::Local(Binding::Argument {
                stored: Some(temp), ..
            }) => Ok(read(temp, span)),
            Meaning::Local(Binding::Argument {
                mut value,
                stored: None,
            }) => {
                value.span = span;
                Ok(value)
            }
            Meaning::Local(Binding::Value(value)) | Meaning::Value(value) => {
                self.value(expression, &value, span)
            }
            Meaning::Local(Binding::Broken) => Err(Reported),
        }
    }

    /// A value from outside as an expression.
    pub(super) fn value(
        &mut self,
        expression: &Expr,
        value: &Value,
        span: Span,
    ) -> Result<ir::Expr, Reported> {
        let name = self.text()[expression.range()].to_string();
        let diagnostic = match value {
            Value::Literal(value) => return Ok(literal(*value, span)),
            Value::Typed(value, dtype) => return Ok(cast(literal(*value, span), *dtype, span)),
            Value::Function(_) | Value::Keyword(Keyword::Builtin(_)) => rule::WRONG_KIND
                .at(span, format!("`{name}` is a function, not a value"))
                .with_help(format!("call it: `{name}(…)`")),
            Value::Keyword(Keyword::Axis(Axis::K)) => {
                return Ok(ir::Expr::untyped(ExprKind::Position(Axis::K), span));
            }
            Value::Keyword(Keyword::Axis(axis)) => rule::AXIS_VALUE
                .at(span, format!("the index along {axis} is no value"))
                .with_help("only `K`, the index of the level, is one"),
            Value::Keyword(Keyword::Type(_)) => rule::WRONG_KIND
                .at(span, format!("`{name}` is a type, not a value"))
                .with_help(format!("convert a value: `{name}(…)`")),
            Value::Keyword(_) => {
                rule::WRONG_KIND.at(span, format!("`{name}` is a word of gtscript, not a value"))
            }
            Value::Point(..) => rule::WRONG_KIND
                .at(
                    span,
                    format!("`{name}` is a point along an axis, not a value"),
                )
                .with_help("such points are bounds of regions, `horizontal(region[…])`"),
            Value::Namespace {
                description,
                members,
            } => {
                let help = match members.first() {
                    Some(member) => {
                        format!("name one of its attributes, such as `{name}.{member}`")
                    }
                    None => "name one of its attributes".to_string(),
                };
                rule::WRONG_KIND
                    .at(span, format!("{description} is not a value"))
                    .with_help(help)
            }
            Value::Unsupported { description } => {
                let help = match description.as_str() {
                    "a NumPy array" | "a `list`" | "a `tuple`" => {
                        "numbers that belong together are a parameter, `Field[K, float]` or `GlobalTable[float, (10,)]`"
                    }
                    _ => {
                        "a stencil can use numbers, NumPy scalars, enum members, `gtscript.function`s and namespaces of these"
                    }
                };
                rule::UNSUPPORTED_OBJECT
                    .at(
                        span,
                        format!("`{name}` is {description}, which means nothing in a stencil"),
                    )
                    .with_help(help)
            }
        };
        Err(self.report(diagnostic))
    }

    fn unary(&mut self, operation: &ast::ExprUnaryOp, span: Span) -> Result<ir::Expr, Reported> {
        // The smallest integer is a negated literal that does not fit by itself.
        if let (ast::UnaryOp::USub, Expr::NumberLiteral(number)) =
            (operation.op, operation.operand.as_ref())
            && let ast::Number::Int(value) = &number.value
            && value.to_string() == i64::MIN.unsigned_abs().to_string()
        {
            return Ok(literal(Literal::Int(i64::MIN), span));
        }
        let operand = self.expression(&operation.operand)?;
        let operator = match operation.op {
            ast::UnaryOp::UAdd => return Ok(operand),
            ast::UnaryOp::USub => UnaryOp::Neg,
            ast::UnaryOp::Not => UnaryOp::Not,
            ast::UnaryOp::Invert => UnaryOp::Invert,
        };
        if let Some(value) =
            constant::value(&operand).and_then(|value| constant::unary(operator, value))
        {
            return Ok(literal(value, span));
        }
        if let (Some(value), Some(dtype)) = (constant::known(&operand), operand.dtype)
            && let Some(value) = constant::unary(operator, value)
        {
            let of_type = operator != UnaryOp::Not;
            let value = literal(value, span);
            return Ok(if of_type {
                cast(value, dtype, span)
            } else {
                value
            });
        }
        Ok(ir::Expr::untyped(
            ExprKind::Unary(operator, Box::new(operand)),
            span,
        ))
    }

    /// A chain such as `a + b + c` is gone through from left to right, without recursion: sums are long.
    fn binary(&mut self, operation: &ast::ExprBinOp) -> Result<ir::Expr, Reported> {
        let mut chain = vec![operation];
        let mut first = operation.left.as_ref();
        while let Expr::BinOp(operation) = first {
            chain.push(operation);
            first = &operation.left;
        }
        self.no_long_row(chain.len(), self.span(operation))?;
        let mut result = self.expression(first);
        for operation in chain.into_iter().rev() {
            let span = self.span(operation);
            let right = self.expression(&operation.right);
            if operation.op == ast::Operator::MatMult {
                result = match (result, right) {
                    (Ok(left), Ok(right)) => self.product(left, right, span),
                    _ => Err(Reported),
                };
                continue;
            }
            let operator = self.operator(operation.op, span);
            result = match (result, operator, right) {
                (Ok(left), Ok(operator), Ok(right)) => self.combine(operator, left, right, span),
                _ => Err(Reported),
            };
        }
        result
    }

    /// `left operator right`, computed at once where both are known. Python's integers have no end, those of a stencil do.
    pub(super) fn combine(
        &mut self,
        operator: BinaryOp,
        left: ir::Expr,
        right: ir::Expr,
        span: Span,
    ) -> Result<ir::Expr, Reported> {
        if let (Some(left), Some(right)) = (constant::value(&left), constant::value(&right)) {
            if constant::overflows(operator, left, right) {
                return Err(self.report(
                    rule::NUMBER
                        .at(
                            span,
                            "the result of these integers does not fit into 64 bits",
                        )
                        .with_help("write one of them as a real number, as in `10.0**23`"),
                ));
            }
            if let Some(value) = constant::binary(operator, left, right) {
                return Ok(literal(value, span));
            }
        } else if let Some(value) = whole(operator, &left, &right) {
            return Ok(cast(literal(value, span), DType::Int64, span));
        }
        Ok(ir::Expr::untyped(
            ExprKind::Binary(operator, Box::new(left), Box::new(right)),
            span,
        ))
    }

    /// The operator of the IR.
    pub(super) fn operator(
        &mut self,
        operator: ast::Operator,
        span: Span,
    ) -> Result<BinaryOp, Reported> {
        Ok(match operator {
            ast::Operator::Add => BinaryOp::Add,
            ast::Operator::Sub => BinaryOp::Sub,
            ast::Operator::Mult => BinaryOp::Mul,
            ast::Operator::Div => BinaryOp::Div,
            ast::Operator::FloorDiv => BinaryOp::FloorDiv,
            ast::Operator::Mod => BinaryOp::Mod,
            ast::Operator::Pow => BinaryOp::Pow,
            ast::Operator::LShift => BinaryOp::ShiftLeft,
            ast::Operator::RShift => BinaryOp::ShiftRight,
            ast::Operator::BitOr => BinaryOp::BitOr,
            ast::Operator::BitXor => BinaryOp::BitXor,
            ast::Operator::BitAnd => BinaryOp::BitAnd,
            ast::Operator::MatMult => {
                // Callers that allow it have dealt with it.
                return Err(self.report(rule::EXPRESSION.at(span, "`@` is not an operator here")));
            }
        })
    }

    fn logical(&mut self, operation: &ast::ExprBoolOp) -> Result<ir::Expr, Reported> {
        self.no_long_row(operation.values.len(), self.span(operation))?;
        let operator = match operation.op {
            ast::BoolOp::And => BinaryOp::And,
            ast::BoolOp::Or => BinaryOp::Or,
        };
        let mut result: Option<ir::Expr> = None;
        for value in &operation.values {
            let value = self.expression(value)?;
            result = Some(match result {
                None => value,
                Some(left) => match constant::known(&left).map(constant::truth) {
                    // A condition known at compile time decides, or leaves the decision to the other.
                    Some(truth) if truth == (operator == BinaryOp::Or) => left,
                    Some(_) => value,
                    None => {
                        let span = left.span.to(value.span);
                        self.combine(operator, left, value, span)?
                    }
                },
            });
        }
        result.ok_or(Reported)
    }

    fn comparison(
        &mut self,
        comparison: &ast::ExprCompare,
        span: Span,
    ) -> Result<ir::Expr, Reported> {
        self.no_long_row(comparison.ops.len(), span)?;
        self.suspect_comparison(comparison);
        let mut left = self.expression(&comparison.left)?;
        let mut result: Option<ir::Expr> = None;
        for (operator, right) in comparison.ops.iter().zip(&comparison.comparators) {
            let operator = match operator {
                ast::CmpOp::Eq => CompareOp::Eq,
                ast::CmpOp::NotEq => CompareOp::Ne,
                ast::CmpOp::Lt => CompareOp::Lt,
                ast::CmpOp::LtE => CompareOp::Le,
                ast::CmpOp::Gt => CompareOp::Gt,
                ast::CmpOp::GtE => CompareOp::Ge,
                other => {
                    let help = match right {
                        Expr::NoneLiteral(_) => {
                            "let an external say whether an argument is given: `if __INLINED(GIVEN):`"
                        }
                        _ => "compare numbers with `==`, `!=`, `<`, `<=`, `>`, `>=`",
                    };
                    return Err(self.report(
                        rule::EXPRESSION
                            .at(
                                span,
                                format!("`{}` is not part of gtscript", other.as_str()),
                            )
                            .with_help(help),
                    ));
                }
            };
            let right = self.expression(right)?;
            let span = left.span.to(right.span);
            let compared = match (constant::known(&left), constant::known(&right)) {
                (Some(left), Some(right)) => literal(
                    Literal::Bool(constant::compare(operator, left, right)),
                    span,
                ),
                _ => ir::Expr::untyped(
                    ExprKind::Compare(operator, Box::new(left.clone()), Box::new(right.clone())),
                    span,
                ),
            };
            result = Some(match result {
                None => compared,
                Some(before) => self.combine(BinaryOp::And, before, compared, span)?,
            });
            left = right;
        }
        result.ok_or(Reported)
    }

    fn conditional(&mut self, conditional: &ast::ExprIf, span: Span) -> Result<ir::Expr, Reported> {
        self.suspect(&conditional.test);
        let condition = self.expression(&conditional.test)?;
        if let Some(value) = constant::known(&condition) {
            let chosen = if constant::truth(value) {
                &conditional.body
            } else {
                &conditional.orelse
            };
            return self.expression(chosen);
        }
        let then = self.expression(&conditional.body);
        let orelse = self.expression(&conditional.orelse);
        Ok(ir::Expr::untyped(
            ExprKind::Select(Box::new(condition), Box::new(then?), Box::new(orelse?)),
            span,
        ))
    }

    /// Reports an expression that gtscript does not have.
    fn foreign(&mut self, expression: &Expr, span: Span) -> Reported {
        let (what, help) = match expression {
            Expr::StringLiteral(text) if OF_MATH.0.contains(&text.value.to_str()) => {
                ("a string", Some(OF_MATH.1))
            }
            Expr::StringLiteral(_) | Expr::BytesLiteral(_) | Expr::FString(_) => ("a string", None),
            Expr::NoneLiteral(_) => (
                "`None`",
                Some("every value is a number; let an external say whether an argument is given"),
            ),
            Expr::EllipsisLiteral(_) => ("`...`", None),
            Expr::Lambda(_) => ("`lambda`", Some("define a `gtscript.function`")),
            Expr::List(_) | Expr::Set(_) | Expr::Dict(_) => (
                "a collection",
                Some("assign elements one by one: `vector[0, 0, 0][1] = …`"),
            ),
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                ("a comprehension", Some("write the terms one by one"))
            }
            Expr::Named(_) => ("`:=`", Some("assign in a statement of its own")),
            Expr::Starred(_) => ("`*`", Some("write the arguments one by one")),
            Expr::Slice(_) => (
                "a slice",
                Some("a stencil reads single neighbours, never slices"),
            ),
            _ => ("this expression", None),
        };
        let mut diagnostic = rule::EXPRESSION.at(span, format!("{what} is not part of gtscript"));
        if let Some(help) = help {
            diagnostic = diagnostic.with_help(help);
        }
        self.report(diagnostic)
    }
}

/// A number.
pub(super) fn literal(value: Literal, span: Span) -> ir::Expr {
    ir::Expr::untyped(ExprKind::Literal(value), span)
}

/// A conversion the user wrote.
/// What follows from integers of which NumPy says that they have 64 bits, and from literals.
fn whole(operator: BinaryOp, left: &ir::Expr, right: &ir::Expr) -> Option<Literal> {
    let of_64_bits = |side: &ir::Expr| side.dtype.is_none_or(|dtype| dtype == DType::Int64);
    match (constant::known(left)?, constant::known(right)?) {
        (left_value @ Literal::Int(_), right_value @ Literal::Int(_))
            if of_64_bits(left) && of_64_bits(right) =>
        {
            constant::binary(operator, left_value, right_value)
                .filter(|value| matches!(value, Literal::Int(_)))
        }
        _ => None,
    }
}

pub(super) fn cast(value: ir::Expr, dtype: DType, span: Span) -> ir::Expr {
    ir::Expr {
        kind: ExprKind::Cast(Box::new(value)),
        dtype: Some(dtype),
        span,
    }
}
