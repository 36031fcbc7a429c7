//! The parameters of a stencil.

use fieldstone_stencil::Span;
use fieldstone_stencil::ir::{Field, FieldId, Param, Scalar, ScalarId};
use ruff_python_ast::{Expr, Parameter, StmtFunctionDef};
use ruff_text_size::Ranged;

use super::{Binding, Lowering};
use crate::definition::ParameterKind;
use crate::rule;

impl Lowering<'_> {
    /// Declares the parameters.
    pub(super) fn signature(&mut self, function: &StmtFunctionDef) {
        self.variadic(function);
        let definition = self.definition;
        for parameter in function.parameters.iter_non_variadic_params() {
            let default = parameter.default();
            let parameter = &parameter.parameter;
            let name = parameter.name.as_str();
            let given = definition
                .parameters
                .iter()
                .find(|given| given.name == name);
            let kind = given.map_or(&ParameterKind::Missing, |given| &given.kind);
            let binding = self.parameter(parameter, default, kind);
            self.frame_mut().locals.insert(name.to_string(), binding);
        }
    }

    /// Refuses `*args` and `**kwargs`.
    pub(super) fn variadic(&mut self, function: &StmtFunctionDef) {
        let parameters = &function.parameters;
        for parameter in parameters.vararg.iter().chain(&parameters.kwarg) {
            let span = self.span(parameter.as_ref());
            self.report(
                rule::PARAMETER
                    .at(
                        span,
                        format!(
                            "`{}` collects an unknown number of arguments",
                            parameter.name
                        ),
                    )
                    .with_help("name every parameter"),
            );
        }
    }

    fn parameter(
        &mut self,
        parameter: &Parameter,
        default: Option<&Expr>,
        kind: &ParameterKind,
    ) -> Binding {
        let name = parameter.name.to_string();
        let span = self.span(&parameter.name);
        match kind {
            ParameterKind::Field {
                dtype,
                axes,
                data_dims,
            } => {
                let id = FieldId(self.stencil.fields.len() as u32);
                self.stencil.fields.push(Field {
                    name,
                    dtype: *dtype,
                    axes: *axes,
                    data_dims: data_dims.clone(),
                    span,
                });
                self.stencil.params.push(Param::Field(id));
                Binding::Field(id)
            }
            ParameterKind::Scalar { dtype } => {
                let id = ScalarId(self.stencil.scalars.len() as u32);
                self.stencil.scalars.push(Scalar {
                    name,
                    dtype: *dtype,
                    span,
                });
                self.stencil.params.push(Param::Scalar(id));
                Binding::Scalar(id)
            }
            ParameterKind::Missing => {
                self.report(
                    rule::MISSING_ANNOTATION
                        .at(span, format!("parameter `{name}` has no annotation"))
                        .with_help(format!("write `{name}: Field[float]` for an array or `{name}: float` for a number")),
                );
                Binding::Broken
            }
            ParameterKind::Invalid(reason) => {
                let span = self.annotation_span(parameter, span);
                self.report(
                    rule::ANNOTATION
                        .at(span, format!("the annotation of `{name}` means nothing in a stencil"))
                        .with_label(reason.clone())
                        .with_help(format!("write `{name}: Field[float]` for an array or `{name}: float` for a number")),
                );
                Binding::Broken
            }
            ParameterKind::WrongDefault(reason) => {
                let span = default.map_or(span, |default| self.span(default.range()));
                self.report(
                    rule::DEFAULT
                        .at(
                            span,
                            format!("`{name}` cannot have this default value"),
                        )
                        .with_label(reason.clone())
                        .with_help(
                            "the default of a number is a number; `None` lets an argument be left out where the stencil does \
                             not use it",
                        ),
                );
                Binding::Broken
            }
        }
    }

    fn annotation_span(&self, parameter: &Parameter, name: Span) -> Span {
        parameter
            .annotation()
            .map_or(name, |annotation| self.span(annotation.range()))
    }
}
