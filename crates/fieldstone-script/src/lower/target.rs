//! What is assigned, and the types of temporaries.

use fieldstone_stencil::ir::{self, Literal, Target};
use fieldstone_stencil::{Axes, Axis, DType, Offset, Span};
use ruff_python_ast::{Expr, ExprTuple};
use ruff_text_size::Ranged;

use super::data::{Parts, Place};
use super::name::Meaning;
use super::{Binding, Lowering, Reported};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::{constant, rule, suggest};

/// What an annotation says of a temporary.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Type {
    /// `None` where the annotation names no axes.
    axes: Option<Axes>,
    dtype: DType,
    data_dims: Vec<u32>,
}

impl From<DType> for Type {
    fn from(dtype: DType) -> Type {
        Type {
            axes: None,
            dtype,
            data_dims: Vec::new(),
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(axes) = self.axes {
            write!(f, "{axes}, ")?;
        }
        write!(f, "{}", self.dtype)?;
        if !self.data_dims.is_empty() {
            write!(f, " with data dimensions {:?}", self.data_dims)?;
        }
        Ok(())
    }
}

/// Whether a pair in an annotation is an element type and sizes, not axes and a type.
fn is_vector(tuple: &ExprTuple) -> bool {
    match tuple.elts.as_slice() {
        [_, Expr::Tuple(sizes)] => !sizes.elts.iter().any(Expr::is_tuple_expr),
        // One size is written without parentheses, too.
        [first, _] => named_axes(first).is_none(),
        _ => false,
    }
}

/// The axes that a name stands for: `IJ`, `gtscript.IJ`.
fn named_axes(expr: &Expr) -> Option<Axes> {
    let (path, _) = crate::names::path(expr)?;
    let name = path.rsplit('.').next()?;
    let found = Axes(Axis::ALL.map(|axis| name.contains(&axis.to_string())));
    (!name.is_empty() && found.to_string() == name).then_some(found)
}

impl Lowering<'_> {
    /// The annotation of a temporary: `float32`, `Field[float32]`, `Field[(float, (3,))]`, a name of `dtypes=`.
    pub(super) fn annotation(&mut self, annotation: &Expr) -> Result<Type, Reported> {
        let span = self.span(annotation);
        let unknown = |lowering: &mut Self| {
            Err(lowering.report(
                rule::ANNOTATION
                    .at(span, "this is no type of a temporary")
                    .with_help(
                        "write `Field[float]`, `float32`, `int`, … or leave the annotation out",
                    ),
            ))
        };
        match annotation {
            Expr::Name(_) | Expr::Attribute(_) => match self.resolve(annotation)? {
                Meaning::Value(Value::Keyword(Keyword::Type(dtype))) => Ok(dtype.into()),
                _ => unknown(self),
            },
            Expr::StringLiteral(string) => {
                let name = string.value.to_str();
                match self.definition.dtypes.get(name).copied().or_else(
                    || match Keyword::from_name(name)? {
                        Keyword::Type(dtype) => Some(dtype),
                        _ => None,
                    },
                ) {
                    Some(dtype) => Ok(dtype.into()),
                    None => {
                        let known = self.definition.dtypes.keys().map(String::as_str);
                        match suggest::closest(name, known.chain(Keyword::suggestions())) {
                            Some(close) => {
                                let diagnostic = rule::ANNOTATION
                                    .at(span, "this is no type of a temporary")
                                    .with_help(format!("did you mean `{close}`?"));
                                Err(self.report(diagnostic))
                            }
                            None => unknown(self),
                        }
                    }
                }
            }
            Expr::Subscript(subscript) => {
                let Meaning::Value(Value::Keyword(Keyword::Field)) =
                    self.resolve(&subscript.value)?
                else {
                    return unknown(self);
                };
                match subscript.slice.as_ref() {
                    pair @ Expr::Tuple(tuple) if is_vector(tuple) => self.vector_type(pair, tuple),
                    Expr::Tuple(tuple) if tuple.elts.len() == 2 => {
                        let axes = Some(self.axes(&tuple.elts[0])?);
                        let ty = match &tuple.elts[1] {
                            pair @ Expr::Tuple(tuple) => self.vector_type(pair, tuple)?,
                            dtype => self.annotation(dtype)?,
                        };
                        Ok(Type { axes, ..ty })
                    }
                    dtype => self.annotation(dtype),
                }
            }
            _ => unknown(self),
        }
    }

    /// `IJ`, `gtscript.IJ`
    fn axes(&mut self, axes: &Expr) -> Result<Axes, Reported> {
        let span = self.span(axes.range());
        if let Some(found) = named_axes(axes) {
            return Ok(found);
        }
        Err(self.report(
            rule::ANNOTATION.at(span, "these are no axes").with_help(
                "write `Field[IJ, float]` for a temporary with one value for each column",
            ),
        ))
    }

    /// `(float, (3,))`
    fn vector_type(&mut self, pair: &Expr, tuple: &ExprTuple) -> Result<Type, Reported> {
        let [element, sizes] = tuple.elts.as_slice() else {
            let span = self.span(pair);
            let diagnostic = rule::ANNOTATION
                .at(span, "this is no type of a temporary")
                .with_help("write the element type and the sizes, `Field[(float, (3,))]`");
            return Err(self.report(diagnostic));
        };
        let ty = self.annotation(element)?;
        let sizes = match sizes {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut data_dims = Vec::with_capacity(sizes.len());
        for size in sizes {
            let value = self.expression(size)?;
            match constant::value(&value) {
                Some(Literal::Int(size @ 1..=0x7fff_ffff)) => data_dims.push(size as u32),
                _ => {
                    let span = self.span(size);
                    return Err(self.report(
                        rule::ANNOTATION
                            .at(span, "this is no size of a data dimension")
                            .with_help("a size is a positive integer or an external"),
                    ));
                }
            }
        }
        Ok(Type { data_dims, ..ty })
    }

    /// What is written; a name that is new becomes a temporary.
    pub(super) fn target(&mut self, target: &Expr, ty: Option<Type>) -> Result<Place, Reported> {
        let span = self.span(target);
        match target {
            Expr::Name(name) => Ok(Place {
                target: self.named_target(&name.id, ty, span)?,
                offset: Offset::ZERO,
                subscript: None,
                span,
            }),
            Expr::Subscript(subscript) => {
                let parts = Parts::of(subscript);
                if parts.absolute {
                    let name = self.text_of(parts.base);
                    let table = match self.subscripted(&parts)? {
                        Binding::Field(id) => self.stencil.field(id).axes.is_empty(),
                        _ => false,
                    };
                    let help = match table {
                        true => "a table cannot be assigned".to_string(),
                        false => format!("write `{name}[0, 0, 0][…] = …`"),
                    };
                    return Err(
                        self.report(rule::TARGET.at(span, "`.A` is read only").with_help(help))
                    );
                }
                let place = match self.subscripted(&parts)? {
                    Binding::Field(id) => Target::Field(id),
                    Binding::Temp(id) => Target::Temp(id),
                    Binding::Scalar(_)
                    | Binding::Argument { .. }
                    | Binding::Value(_)
                    | Binding::Broken => {
                        let name = self.text_of(parts.base);
                        return Err(self.report(
                            rule::ASSIGNED_CONSTANT
                                .at(span, format!("`{name}` cannot be assigned")),
                        ));
                    }
                };
                let (mut offset, mut level) = (Offset::ZERO, None);
                if let Some(subscript) = parts.offset {
                    self.index_in_place(place, subscript)?;
                    (offset, level) = self.offset(self.stencil.target_axes(place), subscript)?;
                    self.no_write_offset(offset, self.span(subscript.slice.as_ref()))?;
                }
                let mut subscript = level.map(super::subscript::level);
                if !parts.indices.is_empty() {
                    let name = self.text_of(parts.base);
                    let sizes = self.stencil.data_dims(place).to_vec();
                    let operands = self.indices(&name, &sizes, &parts.indices, span)?;
                    let all = subscript.get_or_insert_default();
                    all.operands.extend(operands);
                }
                Ok(Place {
                    target: place,
                    offset,
                    subscript,
                    span,
                })
            }
            Expr::Attribute(_) => {
                Err(self
                    .report(rule::TARGET.at(span, "an attribute cannot be assigned in a stencil")))
            }
            other => {
                let span = self.span(other);
                Err(self.report(
                    rule::TARGET.at(span, "this cannot be assigned").with_help(
                        "left of `=` stands a name, `name[0, 0, 0]`, or several of these",
                    ),
                ))
            }
        }
    }

    fn no_write_offset(&mut self, offset: Offset, span: Span) -> Result<(), Reported> {
        if !offset.is_vertical() {
            return Err(self.report(
                rule::WRITE_OFFSET
                    .at(span, "a write at a horizontal offset")
                    .with_help("write the point itself and read its neighbours: turn the offsets of the right side round"),
            ));
        }
        Ok(())
    }

    fn named_target(
        &mut self,
        name: &str,
        ty: Option<Type>,
        span: Span,
    ) -> Result<Target, Reported> {
        let refused = |what: &str| {
            rule::ASSIGNED_CONSTANT.at(span, format!("{what} `{name}` cannot be assigned"))
        };
        let diagnostic = match self.frame().locals.get(name) {
            Some(Binding::Field(id)) => return Ok(Target::Field(*id)),
            Some(Binding::Temp(id)) => {
                let id = *id;
                self.same_type(id, ty, span)?;
                return Ok(Target::Temp(id));
            }
            Some(Binding::Broken) => return Err(Reported),
            Some(Binding::Scalar(id)) => refused("scalar parameter")
                .with_secondary(
                    self.stencil.scalar(*id).span,
                    "a number that is given with the call",
                )
                .with_help(format!(
                    "assign to a new name, or make it an array: `{name}: Field[…]`"
                )),
            Some(Binding::Argument { .. } | Binding::Value(_)) => refused("argument"),
            None => match self.frame().environment.values.get(name) {
                Some(Value::Function(_)) => refused("function"),
                Some(Value::Keyword(_)) => refused("the gtscript name"),
                _ if self.imports(name) => refused("external").with_help(
                    "externals are fixed when the stencil is compiled; assign to another name",
                ),
                _ if Keyword::from_name(name).is_some_and(Keyword::is_structural) => {
                    refused("the gtscript name").with_help("assign to another name")
                }
                _ => {
                    let dtype = ty.as_ref().map(|ty| ty.dtype);
                    let temp = self.temporary(name, dtype, span);
                    if let Some(ty) = ty {
                        self.unshaped.remove(&temp);
                        self.data |= !ty.data_dims.is_empty();
                        let temporary = &mut self.stencil.temporaries[temp.0 as usize];
                        temporary.data_dims = ty.data_dims;
                        temporary.axes = ty.axes.unwrap_or(Axes::IJK);
                    }
                    self.frame_mut()
                        .locals
                        .insert(name.to_string(), Binding::Temp(temp));
                    return Ok(Target::Temp(temp));
                }
            },
        };
        Err(self.report(diagnostic))
    }

    /// Whether the text imports an external of this name.
    fn imports(&self, name: &str) -> bool {
        self.frame().imported.contains(name)
    }

    fn same_type(&mut self, id: ir::TempId, ty: Option<Type>, span: Span) -> Result<(), Reported> {
        let Some(ty) = ty else { return Ok(()) };
        let temporary = &mut self.stencil.temporaries[id.0 as usize];
        let first = Type {
            axes: ty.axes.map(|_| temporary.axes),
            dtype: temporary.dtype.unwrap_or(ty.dtype),
            data_dims: temporary.data_dims.clone(),
        };
        match (first, ty) {
            (first, second) if first != second => {
                let diagnostic = rule::ANNOTATION
                    .at(
                        span,
                        format!("`{}` is annotated with two types", temporary.name),
                    )
                    .with_label(second.to_string())
                    .with_secondary(temporary.span, first.to_string());
                Err(self.report(diagnostic))
            }
            (_, second) => {
                temporary.dtype = Some(second.dtype);
                Ok(())
            }
        }
    }
}
