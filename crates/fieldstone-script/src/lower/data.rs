//! Data dimensions: indices, and values that have an element for each.
//!
//! A read of a whole vector is an access without indices. It stands in an expression like a number, and is taken apart where
//! the value is assigned: one assignment for each element. So the IR has numbers only.

use fieldstone_stencil::elements::every_index;
use fieldstone_stencil::ir::{
    self, BinaryOp, ExprKind, LevelIndex, Literal, Stmt, StmtKind, Subscript, Target,
};
use fieldstone_stencil::{Offset, Span};
use ruff_python_ast::{Expr, ExprSubscript};
use ruff_text_size::Ranged;

use super::expression::literal;
use super::{Binding, Lowering, Reported, read};
use crate::{constant, rule};

/// What is written.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub target: Target,
    /// At which level, from the one that is computed.
    pub offset: Offset,
    /// The level, if it is computed, and which element of the data dimensions; all of them where there is none.
    pub subscript: Option<Box<Subscript>>,
    pub span: Span,
}

/// The parts of `name[offsets][indices]` and of `name.A[indices]`.
pub(super) struct Parts<'a> {
    /// The name.
    pub base: &'a Expr,
    /// The bracket of offsets.
    pub offset: Option<&'a ExprSubscript>,
    /// What stands in the brackets behind it.
    pub indices: Vec<&'a Expr>,
    /// Whether it is `name.A[…]`.
    pub absolute: bool,
}

impl<'a> Parts<'a> {
    pub fn of(subscript: &'a ExprSubscript) -> Parts<'a> {
        let mut brackets = vec![subscript];
        while let Expr::Subscript(inner) = brackets[brackets.len() - 1].value.as_ref() {
            brackets.push(inner);
        }
        let first = brackets[brackets.len() - 1];
        let (base, absolute) = match first.value.as_ref() {
            Expr::Attribute(attribute) if attribute.attr.as_str() == "A" => {
                (attribute.value.as_ref(), true)
            }
            other => (other, false),
        };
        let offset = (!absolute).then(|| brackets.pop()).flatten();
        let indices = (brackets.into_iter().rev())
            .flat_map(|bracket| match bracket.slice.as_ref() {
                Expr::Tuple(tuple) => tuple.elts.iter().collect(),
                single => vec![single],
            })
            .collect();
        Parts {
            base,
            offset,
            indices,
            absolute,
        }
    }
}

/// Terms of a product that are summed in one statement: each reads two fields.
const TERMS: u32 = 32;

/// Terms of all sums of a product, at most. Each is code of its own up to the point at which rows that are alike are found,
/// and in a vertical sweep, which is one loop over levels, up to the end.
const MOST_TERMS: u64 = 1 << 14;
const MOST_TERMS_OF_SWEEP: u64 = 1 << 12;

impl Lowering<'_> {
    /// Whether an attribute is one of a value, as in `matrix.T`, and not one of something outside of the text.
    pub(super) fn is_value(&self, expression: &Expr) -> bool {
        match crate::names::path(expression) {
            Some((_, root)) => matches!(
                self.frame().locals.get(root),
                Some(Binding::Field(_) | Binding::Temp(_) | Binding::Argument { .. })
            ),
            None => true,
        }
    }

    /// The indices of an element of `name`, checked against the sizes of its data dimensions.
    pub(super) fn indices(
        &mut self,
        name: &str,
        sizes: &[u32],
        elements: &[&Expr],
        span: Span,
    ) -> Result<Vec<ir::Expr>, Reported> {
        if elements.len() != sizes.len() {
            let count = |n: usize, one: &str, more: &str| match n {
                0 => format!("no {more}"),
                1 => format!("1 {one}"),
                n => format!("{n} {more}"),
            };
            let message = format!(
                "`{name}` has {}, but {} given",
                count(sizes.len(), "data dimension", "data dimensions"),
                count(elements.len(), "index is", "indices are"),
            );
            let help = match sizes.len() {
                0 => format!(
                    "declare it with data dimensions, `{name}: Field[(float, (3,))]`, or leave the index out"
                ),
                _ => format!(
                    "its sizes are {}; give one index for each",
                    sizes_text(sizes)
                ),
            };
            return Err(self.report(rule::DATA_INDEX_COUNT.at(span, message).with_help(help)));
        }
        let indices: Vec<_> = (elements.iter().zip(sizes))
            .map(|(element, size)| self.index(name, element, *size))
            .collect();
        indices.into_iter().collect()
    }

    fn index(&mut self, name: &str, element: &Expr, size: u32) -> Result<ir::Expr, Reported> {
        let span = self.span(element);
        if matches!(element, Expr::Slice(_) | Expr::EllipsisLiteral(_)) {
            let help = format!("write `{name}` without an index for all elements");
            return Err(self.report(
                rule::DATA_INDEX_VALUE
                    .at(span, "an index of a data dimension is one integer")
                    .with_help(help),
            ));
        }
        let value = self.expression(element)?;
        self.number_only(&value)?;
        match constant::known(&value) {
            Some(Literal::Int(index)) if (0..i64::from(size)).contains(&index) => Ok(value),
            Some(Literal::Int(index)) => {
                let mut diagnostic = rule::DATA_INDEX_RANGE.at(
                    span,
                    format!("the index {index} is outside of a data dimension of {size} elements"),
                );
                if index < 0 && -index <= i64::from(size) {
                    diagnostic = diagnostic.with_help(format!(
                        "indices do not count from the end: write {}",
                        i64::from(size) + index
                    ));
                } else {
                    diagnostic =
                        diagnostic.with_help(format!("they are numbered from 0 to {}", size - 1));
                }
                Err(self.report(diagnostic))
            }
            Some(value) => Err(self.report(
                rule::DATA_INDEX_VALUE
                    .at(span, "an index of a data dimension is an integer")
                    .with_label(format!("this is {}", constant::text(value))),
            )),
            None => Ok(value),
        }
    }

    /// Refuses a value with data dimensions where a number is meant.
    pub(super) fn number_only(&mut self, value: &ir::Expr) -> Result<(), Reported> {
        let shape = self.shape(value)?;
        if shape.is_empty() {
            return Ok(());
        }
        Err(self.report(
            rule::NUMBER_EXPECTED
                .at(
                    value.span,
                    format!("a number is expected here, but this has {}", words(&shape)),
                )
                .with_help("say which element is meant, as in `name[0, 0, 0][1]`"),
        ))
    }

    /// The sizes of the data dimensions of a value; none for a number.
    pub(super) fn shape(&mut self, value: &ir::Expr) -> Result<Vec<u32>, Reported> {
        if !self.data {
            return Ok(Vec::new());
        }
        if let ExprKind::Access {
            target, subscript, ..
        } = &value.kind
        {
            let element = subscript.as_ref().is_some_and(|s| !s.indices().is_empty());
            return Ok(match element {
                true => Vec::new(),
                false => self.stencil.data_dims(*target).to_vec(),
            });
        }
        let mut first: Option<(Vec<u32>, Span)> = None;
        for operand in value.operands() {
            let shape = self.shape(operand)?;
            match &first {
                _ if shape.is_empty() => {}
                None => first = Some((shape, operand.span)),
                Some((known, _)) if *known == shape => {}
                Some((known, place)) => {
                    let diagnostic = rule::DATA_SIZES
                        .at(
                            value.span,
                            format!(
                                "data dimensions of the sizes {} and {} do not fit together",
                                sizes_text(known),
                                sizes_text(&shape)
                            ),
                        )
                        .with_secondary(*place, sizes_text(known))
                        .with_secondary(operand.span, sizes_text(&shape))
                        .with_help("operations are between elements with the same index; `@` is the product of a matrix and a vector");
                    return Err(self.report(diagnostic));
                }
            }
        }
        Ok(first.map_or(Vec::new(), |(shape, _)| shape))
    }

    /// Assignments of a value: one, or one for each element. A temporary without annotation gets the data dimensions of the
    /// first value that is assigned to it.
    pub(super) fn assignments(
        &mut self,
        place: Place,
        mut value: ir::Expr,
        span: Span,
    ) -> Result<Vec<Stmt>, Reported> {
        let shape = self.shape(&value)?;
        let element = place
            .subscript
            .as_ref()
            .is_some_and(|s| !s.indices().is_empty());
        if let Target::Temp(temp) = place.target
            && self.unshaped.remove(&temp)
        {
            self.data |= !shape.is_empty();
            self.stencil.temporaries[temp.0 as usize].data_dims = shape.clone();
        }
        let sizes = match element {
            true => Vec::new(),
            false => self.stencil.data_dims(place.target).to_vec(),
        };
        if !shape.is_empty() && shape != sizes {
            return Err(self.misfit(&place, element, &sizes, &value, &shape));
        }
        let mut statements = Vec::new();
        if !sizes.is_empty() && reads_element(&value, place.target) {
            // Every element of the value is computed before the first is written.
            let kept = self.fresh("value", value.span);
            let at = Place {
                target: Target::Temp(kept),
                offset: Offset::ZERO,
                subscript: None,
                span: value.span,
            };
            let read = read(kept, value.span);
            self.unshaped.remove(&kept);
            self.stencil.temporaries[kept.0 as usize].data_dims = shape;
            statements = self.assignments(at, std::mem::replace(&mut value, read), span)?;
        }
        for index in every_index(&sizes) {
            statements.push(Stmt {
                kind: StmtKind::Assign {
                    target: place.target,
                    target_span: place.span,
                    offset: place.offset,
                    subscript: with_indices(place.subscript.as_deref(), &index, place.span),
                    value: self.element(&value, &index),
                },
                span,
            });
        }
        Ok(statements)
    }

    fn misfit(
        &mut self,
        place: &Place,
        element: bool,
        sizes: &[u32],
        value: &ir::Expr,
        shape: &[u32],
    ) -> Reported {
        let name = self.stencil.source_name(place.target).to_string();
        let what = match (element, sizes) {
            (true, _) => format!("an element of `{name}` is a number"),
            (false, []) => format!("`{name}` has no data dimensions"),
            (false, sizes) => format!("`{name}` has {}", words(sizes)),
        };
        let declared = match place.target {
            Target::Field(id) => self.stencil.field(id).span,
            Target::Temp(id) => self.stencil.temporary(id).span,
        };
        let mut diagnostic = rule::DATA_SIZES
            .at(
                value.span,
                format!("{what}, but what is assigned has {}", words(shape)),
            )
            .with_label(words(shape));
        if !element && declared != place.span {
            let label = match sizes {
                [] => "without data dimensions".to_string(),
                sizes => words(sizes),
            };
            diagnostic = diagnostic.with_secondary(declared, label);
        }
        if element || sizes.is_empty() {
            let text = &self.text_of_span(value.span);
            let whole = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
            let source = if whole { text.as_str() } else { "name" };
            let index = vec!["0"; shape.len()].join(", ");
            diagnostic = diagnostic.with_help(format!(
                "say which element is meant, as in `{source}[0, 0, 0][{index}]`"
            ));
        }
        self.report(diagnostic)
    }

    /// One element of a value; a number is the same in all.
    pub(super) fn element(&self, value: &ir::Expr, index: &[u32]) -> ir::Expr {
        let mut element = value.clone();
        if index.is_empty() {
            return element;
        }
        element.walk_mut(|node| {
            let span = node.span;
            if let ExprKind::Access {
                target, subscript, ..
            } = &mut node.kind
                && !self.stencil.data_dims(*target).is_empty()
                && subscript.as_ref().is_none_or(|s| s.indices().is_empty())
            {
                *subscript = with_indices(subscript.as_deref(), index, span);
            }
        });
        element
    }

    /// The element of a value at indices that may be computed.
    pub(super) fn element_at(
        &mut self,
        value: ir::Expr,
        indices: Vec<ir::Expr>,
        span: Span,
    ) -> ir::Expr {
        let known: Option<Vec<u32>> =
            (indices.iter().map(fieldstone_stencil::elements::constant)).collect();
        let mut value = match known {
            Some(known) => {
                return ir::Expr {
                    span,
                    ..self.element(&value, &known)
                };
            }
            None if matches!(value.kind, ExprKind::Access { .. }) => value,
            None => self.store("value", value),
        };
        value.span = span;
        if let ExprKind::Access { subscript, .. } = &mut value.kind {
            let mut all = subscript.take().unwrap_or_default();
            all.operands.extend(indices);
            *subscript = Some(all);
        }
        value
    }

    /// `matrix.T`
    pub(super) fn transposed(&mut self, value: ir::Expr, span: Span) -> Result<ir::Expr, Reported> {
        let shape = self.shape(&value)?;
        match shape.as_slice() {
            [_] => Ok(value),
            [rows, columns] => {
                let elements = every_index(&[*columns, *rows]).into_iter();
                let elements = elements.map(|index| self.element(&value, &[index[1], index[0]]));
                let elements = elements.collect();
                Ok(self.keep("transposed", &[*columns, *rows], elements, span))
            }
            _ => {
                let what = match shape.is_empty() {
                    true => "a number".to_string(),
                    false => words(&shape),
                };
                Err(self.report(
                    rule::DATA_SIZES
                        .at(span, format!("`.T` turns a matrix, this is {what}"))
                        .with_help("a matrix has two data dimensions, `Field[(float, (2, 3))]`"),
                ))
            }
        }
    }

    /// `left @ right`: the products of vectors and matrices, summed over the last index of the left and the first of the
    /// right.
    pub(super) fn product(
        &mut self,
        left: ir::Expr,
        right: ir::Expr,
        span: Span,
    ) -> Result<ir::Expr, Reported> {
        let (a, b) = (self.shape(&left)?, self.shape(&right)?);
        let fits = matches!(a.len(), 1 | 2) && matches!(b.len(), 1 | 2);
        if !fits || a.last() != b.first() {
            let (first, second) = (operand_text(&a), operand_text(&b));
            let diagnostic = rule::DATA_SIZES
                .at(span, format!("`@` has no meaning for {first} and {second}"))
                .with_secondary(left.span, first)
                .with_secondary(right.span, second)
                .with_help("the last size on the left must be the first on the right, as in a matrix of (2, 3) and a vector of (3)");
            return Err(self.report(diagnostic));
        }
        self.few_terms(&a, &b, span)?;
        // Each element is used once for every row or column on the other side.
        let kept = |lowering: &mut Self, value: ir::Expr, often: bool| match value.kind {
            ExprKind::Access { .. } => value,
            _ if often => lowering.store("value", value),
            _ => value,
        };
        let left = kept(self, left, b.len() == 2);
        let right = kept(self, right, a.len() == 2);
        let (rows, columns) = (&a[..a.len() - 1], &b[1..]);
        let sizes: Vec<u32> = rows.iter().chain(columns).copied().collect();
        let mut elements = Vec::new();
        for index in every_index(&sizes) {
            let (row, column) = index.split_at(rows.len());
            let mut sum: Option<ir::Expr> = None;
            for n in 0..b[0] {
                let first: Vec<u32> = row.iter().copied().chain([n]).collect();
                let second: Vec<u32> = [n].iter().chain(column).copied().collect();
                let (first, second) = (self.element(&left, &first), self.element(&right, &second));
                let term = binary(BinaryOp::Mul, first, second, span);
                sum = Some(match sum {
                    None => term,
                    Some(sum) if n.is_multiple_of(TERMS) => {
                        let sum = self.store("sum", sum);
                        binary(BinaryOp::Add, sum, term, span)
                    }
                    Some(sum) => binary(BinaryOp::Add, sum, term, span),
                });
            }
            elements.extend(sum);
        }
        if sizes.is_empty() {
            return elements.pop().ok_or(Reported);
        }
        Ok(self.keep("product", &sizes, elements, span))
    }

    /// Refuses a product of more terms than can be compiled.
    fn few_terms(&mut self, left: &[u32], right: &[u32], span: Span) -> Result<(), Reported> {
        let (most, place) = match self.is_sweep {
            true => (MOST_TERMS_OF_SWEEP, " in a vertical sweep"),
            false => (MOST_TERMS, ""),
        };
        let sizes = left.iter().chain(&right[1..]).map(|size| u64::from(*size));
        let terms = sizes.fold(1, u64::saturating_mul);
        if terms <= most {
            return Ok(());
        }
        let (left, right) = (operand_text(left), operand_text(right));
        let message = format!("this product of {left} and {right} has {terms} terms");
        Err(self.report(
            rule::TOO_MANY_TERMS
                .at(span, message)
                .with_label(format!("{most} can be compiled{place}"))
                .with_help("add them up in a loop: `while n < size:` with `total += matrix[0, 0, 0][m, n] * vector[0, 0, 0][n]` and `n += 1`"),
        ))
    }

    /// A temporary of these elements, as a value.
    fn keep(&mut self, name: &str, sizes: &[u32], elements: Vec<ir::Expr>, span: Span) -> ir::Expr {
        let temp = self.fresh(name, span);
        self.unshaped.remove(&temp);
        self.data |= !sizes.is_empty();
        self.stencil.temporaries[temp.0 as usize].data_dims = sizes.to_vec();
        for (index, element) in every_index(sizes).into_iter().zip(elements) {
            let place = Place {
                target: Target::Temp(temp),
                offset: Offset::ZERO,
                subscript: with_indices(None, &index, span),
                span,
            };
            self.assign(place, element, span);
        }
        read(temp, span)
    }

    /// A temporary that the source does not name.
    pub(super) fn fresh(&mut self, name: &str, span: Span) -> ir::TempId {
        self.calls += 1;
        let number = self.calls;
        self.temporary(&format!("{name}@{number}"), None, span)
    }

    /// The text of an expression.
    pub(super) fn text_of(&self, expression: &Expr) -> String {
        self.text()[expression.range()].to_string()
    }
}

/// A subscript with these indices, and the level of another.
fn with_indices(level: Option<&Subscript>, index: &[u32], span: Span) -> Option<Box<Subscript>> {
    let mut subscript = level.cloned().unwrap_or(Subscript {
        level: LevelIndex::Constant,
        operands: Vec::new(),
    });
    let index = index.iter();
    (subscript.operands).extend(index.map(|n| literal(Literal::Int(i64::from(*n)), span)));
    (!subscript.operands.is_empty()).then(|| Box::new(subscript))
}

fn binary(operator: BinaryOp, left: ir::Expr, right: ir::Expr, span: Span) -> ir::Expr {
    let kind = ExprKind::Binary(operator, Box::new(left), Box::new(right));
    ir::Expr::untyped(kind, span)
}

/// Whether an expression reads single elements of a target.
fn reads_element(value: &ir::Expr, of: Target) -> bool {
    let mut found = false;
    value.walk(|node| {
        if let ExprKind::Access {
            target,
            subscript: Some(subscript),
            ..
        } = &node.kind
        {
            found |= *target == of && !subscript.indices().is_empty();
        }
    });
    found
}

/// `(3)`, `(2, 3)`
fn sizes_text(sizes: &[u32]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    format!("({})", sizes.join(", "))
}

fn words(sizes: &[u32]) -> String {
    let plural = if sizes.len() == 1 { "" } else { "s" };
    format!("data dimension{plural} {}", sizes_text(sizes))
}

fn operand_text(sizes: &[u32]) -> String {
    match sizes.len() {
        0 => "a number".to_string(),
        1 => format!("a vector of {}", sizes_text(sizes)),
        2 => format!("a matrix of {}", sizes_text(sizes)),
        _ => words(sizes),
    }
}
