//! What is assigned, and the types of temporaries.

use fieldstone_stencil::ir::{self, Target};
use fieldstone_stencil::{DType, Offset, Span};
use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::name::Meaning;
use super::{Binding, Lowering, Reported};
use crate::definition::Value;
use crate::keyword::Keyword;
use crate::rule;

impl Lowering<'_> {
    /// The type in the annotation of a temporary: `float32`, `Field[float32]`, a name of `dtypes=`.
    pub(super) fn annotation(&mut self, annotation: &Expr) -> Result<DType, Reported> {
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
                Meaning::Value(Value::Keyword(Keyword::Type(dtype))) => Ok(dtype),
                _ => unknown(self),
            },
            Expr::StringLiteral(string) => {
                let name = string.value.to_str();
                match self
                    .definition
                    .dtypes
                    .get(name)
                    .copied()
                    .or_else(|| DType::from_name(name))
                {
                    Some(dtype) => Ok(dtype),
                    None => unknown(self),
                }
            }
            Expr::Subscript(subscript) => {
                let Meaning::Value(Value::Keyword(Keyword::Field)) =
                    self.resolve(&subscript.value)?
                else {
                    return unknown(self);
                };
                match subscript.slice.as_ref() {
                    Expr::Tuple(tuple) if tuple.elts.len() == 2 => {
                        let axes = self.text()[tuple.elts[0].range()].to_string();
                        if axes == "IJK" || axes.ends_with(".IJK") {
                            return self.annotation(&tuple.elts[1]);
                        }
                        let span = self.span(tuple.elts[0].range());
                        Err(self.report(
                            rule::TEMPORARY_AXES
                                .at(span, "temporaries that are not three-dimensional are not supported yet")
                                .with_help("leave the annotation out: the temporary then has all three axes"),
                        ))
                    }
                    dtype => self.annotation(dtype),
                }
            }
            _ => unknown(self),
        }
    }

    /// What is written; a name that is new becomes a temporary.
    pub(super) fn target(
        &mut self,
        target: &Expr,
        dtype: Option<DType>,
    ) -> Result<Target, Reported> {
        match target {
            Expr::Name(name) => self.named_target(&name.id, dtype, self.span(target)),
            Expr::Subscript(subscript) => {
                let place = match self.subscripted(subscript)? {
                    Binding::Field(id) => Target::Field(id),
                    Binding::Temp(id) => Target::Temp(id),
                    Binding::Scalar(_)
                    | Binding::Argument { .. }
                    | Binding::Value(_)
                    | Binding::Broken => {
                        let name = self.text()[subscript.value.range()].to_string();
                        let span = self.span(target);
                        return Err(self.report(
                            rule::ASSIGNED_CONSTANT
                                .at(span, format!("`{name}` cannot be assigned")),
                        ));
                    }
                };
                let offset = self.offset(self.stencil.target_axes(place), subscript)?;
                self.no_write_offset(offset, self.span(subscript.slice.as_ref()))?;
                Ok(place)
            }
            Expr::Attribute(_) => {
                let span = self.span(target);
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
        if offset != Offset::ZERO {
            return Err(self.report(
                rule::WRITE_K_OFFSET.at(span, "writes at a K offset are not supported yet"),
            ));
        }
        Ok(())
    }

    fn named_target(
        &mut self,
        name: &str,
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Target, Reported> {
        let refused = |what: &str| {
            rule::ASSIGNED_CONSTANT.at(span, format!("{what} `{name}` cannot be assigned"))
        };
        let diagnostic = match self.frame().locals.get(name) {
            Some(Binding::Field(id)) => return Ok(Target::Field(*id)),
            Some(Binding::Temp(id)) => {
                let id = *id;
                self.same_type(id, dtype, span)?;
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
                    let temp = self.temporary(name, dtype, span);
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

    fn same_type(
        &mut self,
        id: ir::TempId,
        dtype: Option<DType>,
        span: Span,
    ) -> Result<(), Reported> {
        let temporary = &mut self.stencil.temporaries[id.0 as usize];
        match (temporary.dtype, dtype) {
            (Some(first), Some(second)) if first != second => {
                let diagnostic = rule::ANNOTATION
                    .at(
                        span,
                        format!("`{}` is annotated with two types", temporary.name),
                    )
                    .with_label(second.to_string())
                    .with_secondary(temporary.span, first.to_string());
                Err(self.report(diagnostic))
            }
            (None, Some(second)) => {
                temporary.dtype = Some(second);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
