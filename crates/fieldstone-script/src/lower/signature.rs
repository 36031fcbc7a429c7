//! The parameters of a stencil.

use fieldstone_stencil::Span;
use fieldstone_stencil::ir::{Field, FieldId, Param, Scalar, ScalarId};
use ruff_python_ast::{Expr, Parameter, StmtFunctionDef};
use ruff_text_size::Ranged;

use super::{Binding, Lowering};
use crate::definition::ParameterKind;
use crate::{rule, suggest};

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
                self.data |= !data_dims.is_empty();
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
            ParameterKind::Invalid {
                reason,
                unknown,
                known,
                help,
            } => {
                let whole = self.annotation_span(parameter, span);
                let word = unknown.as_deref();
                let span = word.and_then(|word| self.word_in(whole, word));
                let close =
                    word.and_then(|word| suggest::closest(word, known.iter().map(String::as_str)));
                let help = match (close, help) {
                    (Some(close), _) => format!("did you mean `{close}`?"),
                    (None, Some(help)) => help.clone(),
                    (None, None) => format!(
                        "write `{name}: Field[float]` for an array or `{name}: float` for a number"
                    ),
                };
                self.report(
                    rule::ANNOTATION
                        .at(
                            span.unwrap_or(whole),
                            format!("the annotation of `{name}` means nothing in a stencil"),
                        )
                        .with_label(reason.clone())
                        .with_help(help),
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

    /// What stands at a place of the text that is lowered now; nothing for a place elsewhere.
    pub(super) fn text_of_span(&self, span: Span) -> String {
        let text = match span.source == self.frame().source {
            true => self.text().get(span.start as usize..span.end as usize),
            false => None,
        };
        text.unwrap_or_default().to_string()
    }

    /// Where a word stands in a part of the text.
    fn word_in(&self, span: Span, word: &str) -> Option<Span> {
        let text = self.text().get(span.start as usize..span.end as usize)?;
        let part = |character: char| character.is_alphanumeric() || character == '_';
        let start = text
            .match_indices(word)
            .map(|(start, _)| start)
            .find(|start| {
                !text[..*start].ends_with(part) && !text[start + word.len()..].starts_with(part)
            })?;
        let start = span.start + start as u32;
        Some(Span {
            start,
            end: start + word.len() as u32,
            ..span
        })
    }

    fn annotation_span(&self, parameter: &Parameter, name: Span) -> Span {
        parameter
            .annotation()
            .map_or(name, |annotation| self.span(annotation.range()))
    }
}
