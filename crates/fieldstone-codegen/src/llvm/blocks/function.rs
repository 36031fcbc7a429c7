//! Functions that kernels call, of those that a processor of a host has in a library: accelerators have none.
//!
//! A processor in the place of an accelerator is given the same ones, so that they are tested.

use std::fmt::Write;

use fieldstone_stencil::DType;
use fieldstone_stencil::ir::Builtin;

use crate::llvm::builder::Needs;
use crate::llvm::types;
use crate::math;

/// Adds the definitions of what a module calls and nobody defines.
pub(super) fn define(module: &mut String, needs: &mut Needs) {
    let mut remainders = false;
    for dtype in DType::ALL {
        for (symbol, text) in [
            (math::symbol(Builtin::Mod, dtype), include_str!("modulo.ll")),
            (
                math::floor_div_symbol(dtype),
                include_str!("floor_division.ll"),
            ),
        ] {
            if take(needs, symbol) {
                remainders = true;
                add(module, needs, &of_reals(text, dtype));
            }
        }
        if !dtype.is_float() && take(needs, math::symbol(Builtin::Pow, dtype)) {
            add(
                module,
                needs,
                &of_integers(include_str!("integer_power.ll"), dtype),
            );
        }
    }
    if remainders {
        add(module, needs, include_str!("fmod.ll"));
    }
}

/// Whether a function is needed; then it is no longer.
fn take(needs: &mut Needs, symbol: Option<(&'static str, usize)>) -> bool {
    let Some((name, _)) = symbol else {
        return false;
    };
    let call = format!(" @{name}(");
    let before = needs.declarations.len();
    needs.declarations.retain(|line| !line.contains(&call));
    needs.declarations.len() < before
}

/// Adds a text, whose declarations others may have as well.
fn add(module: &mut String, needs: &mut Needs, text: &str) {
    for line in text.lines() {
        if line.starts_with("declare") {
            needs.declarations.insert(line.to_owned());
        } else {
            let _ = writeln!(module, "{line}");
        }
    }
}

fn of_reals(text: &str, dtype: DType) -> String {
    text.replace("REAL", types::register(dtype))
        .replace("SUFFIX", &format!("f{}", 8 * dtype.size()))
}

fn of_integers(text: &str, dtype: DType) -> String {
    let (letter, predicate) = match dtype.is_signed() {
        true => ('i', "slt"),
        // Never.
        false => ('u', "ult"),
    };
    text.replace("INTEGER", types::register(dtype))
        .replace("SUFFIX", &format!("{letter}{}", 8 * dtype.size()))
        .replace("PREDICATE", predicate)
}
