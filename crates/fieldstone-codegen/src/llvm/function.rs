//! Functions of the language on vectors, as the instructions of [`crate::transcendental`].

mod value;

use fieldstone_stencil::DType;
use fieldstone_stencil::ir::Builtin;

use crate::transcendental;

use self::value::{F32, F64, Value, Writer};
use super::builder::Needs;
use super::types::Lanes;

/// A function for vectors of some width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Function {
    builtin: Builtin,
    is_double: bool,
    width: usize,
}

impl Function {
    /// `None` where the function is not one of [`transcendental`].
    pub fn of(builtin: Builtin, dtype: DType, lanes: Lanes) -> Option<Function> {
        transcendental::operands(builtin)?;
        Some(Function {
            builtin,
            is_double: match dtype {
                DType::Float64 => true,
                DType::Float32 => false,
                _ => return None,
            },
            width: lanes.width,
        })
    }

    /// The function's symbol.
    pub fn symbol(self) -> String {
        let bits = if self.is_double { 64 } else { 32 };
        format!("fieldstone_{}_f{bits}x{}", self.builtin.name(), self.width)
    }

    /// Its body, and what that needs.
    fn body(self, permuted: usize) -> (String, Needs) {
        let lanes = Lanes { width: self.width };
        let writer = Writer::new(lanes, permuted);
        let operands = transcendental::operands(self.builtin).unwrap_or_default();
        let (kind, result) = if self.is_double {
            let operands: Vec<Value<'_, F64>> = writer.operands(operands);
            (
                lanes.of("double"),
                transcendental::double(self.builtin, &operands).map(|value| value.text(&writer)),
            )
        } else {
            let operands: Vec<Value<'_, F32>> = writer.operands(operands);
            (
                lanes.of("float"),
                transcendental::single(self.builtin, &operands).map(|value| value.text(&writer)),
            )
        };
        let result = result.expect("functions know how many operands they have");
        writer.returning(&kind, &result)
    }

    /// Its definition with a body.
    fn definition(self, attributes: &str, body: &str) -> String {
        let kind = Lanes { width: self.width }.of(if self.is_double { "double" } else { "float" });
        let operands = transcendental::operands(self.builtin).unwrap_or_default();
        let operands: Vec<String> = (0..operands).map(|n| format!("{kind} %{n}")).collect();
        let (symbol, operands) = (self.symbol(), operands.join(", "));
        format!("define internal {kind} @{symbol}({operands}) {attributes} {{\n{body}}}\n\n")
    }
}

/// Instructions that a module may get by having a function inlined wherever it is called, also for the ends of rows: a call there would
/// leave the constants of the loops before it no registers to stay in. Of long functions a call takes no longer, and each repetition
/// would take LLVM milliseconds.
const INLINED: usize = 2000;

/// Adds the definitions of the functions that a module needs, for a processor that permutes lanes of registers of so many bytes.
pub(super) fn define(module: &mut String, needs: &mut Needs, permuted: usize) {
    for (function, calls) in std::mem::take(&mut needs.functions) {
        let (body, needed) = function.body(permuted);
        let instructions = body.lines().count();
        let inlined = if instructions * calls <= INLINED {
            "alwaysinline"
        } else {
            "noinline"
        };
        let attributes = format!("nounwind willreturn memory(none) {inlined} #0");
        module.push_str(&function.definition(&attributes, &body));
        needs.extend(needed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_body_for_every_width() {
        for (builtin, name) in Builtin::ALL {
            for (dtype, width, permuted) in [
                (DType::Float64, 8, 64),
                (DType::Float32, 16, 64),
                (DType::Float32, 8, 64),
                (DType::Float64, 4, 32),
                (DType::Float32, 16, 32),
                (DType::Float64, 2, 0),
                (DType::Float64, 1, 64),
            ] {
                let Some(function) = Function::of(builtin, dtype, Lanes { width }) else {
                    continue;
                };
                let (body, needs) = function.body(permuted);
                assert!(body.contains("  ret "), "{name}");
                assert!(needs.functions.is_empty(), "{name}");
                // Vectors are computed as such, without calls for single lanes.
                let called = needs.declarations.iter();
                assert!(
                    called
                        .clone()
                        .all(|line| !line.starts_with("declare") || line.contains(" @llvm.")),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn functions_that_are_used_much_are_called() {
        let function = Function::of(Builtin::Pow, DType::Float64, Lanes { width: 8 }).unwrap();
        let module = |calls| {
            let (mut module, mut needs) = (String::new(), Needs::default());
            needs.functions.insert(function, calls);
            define(&mut module, &mut needs, 64);
            module
        };
        assert!(module(1).contains("alwaysinline"));
        assert!(module(1000).contains("noinline"));
    }
}
