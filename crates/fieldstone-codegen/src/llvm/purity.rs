//! What an instruction follows from, and whether it may run where nobody needs its result.

/// Whether an instruction depends on nothing but its operands.
pub(super) fn is_pure(instruction: &str) -> bool {
    let (operation, _) = instruction.split_once(' ').unwrap_or_default();
    match operation {
        "add" | "sub" | "mul" | "and" | "or" | "xor" | "shl" | "lshr" | "ashr" => true,
        "fadd" | "fsub" | "fmul" | "fdiv" | "fneg" => true,
        "icmp" | "fcmp" | "select" | "getelementptr" | "shufflevector" | "insertelement" => true,
        "udiv" | "urem" | "sdiv" | "srem" | "extractelement" => true,
        "bitcast" | "inttoptr" | "ptrtoint" | "trunc" | "zext" | "sext" => true,
        "fptrunc" | "fpext" | "sitofp" | "uitofp" => true,
        "call" => intrinsic(instruction).is_some_and(|name| PURE.contains(&name)),
        _ => false,
    }
}

/// Intrinsics of LLVM that depend on nothing but their operands.
const PURE: [&str; 15] = [
    "abs", "copysign", "fabs", "floor", "fma", "fptosi", "fptoui", "is", "smax", "smin", "sqrt",
    "trunc", "umax", "umin", "vector",
];

/// The first word of an intrinsic's name, in its call.
fn intrinsic(call: &str) -> Option<&str> {
    let (_, name) = call.split_once("@llvm.")?;
    name.split(['.', '(']).next()
}

/// Whether an instruction that depends on nothing but its operands may run where nobody needs its result: it does not divide by what may
/// be zero.
pub(super) fn is_harmless(instruction: &str) -> bool {
    let (operation, operands) = instruction.split_once(' ').unwrap_or_default();
    let divides = matches!(operation, "udiv" | "urem" | "sdiv" | "srem");
    let divisor = operands.rsplit(' ').next().unwrap_or_default();
    !divides || divisor.parse::<u64>().is_ok_and(|divisor| divisor > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_memory_holds_is_not_pure() {
        let pure = [
            "call <8 x double> @llvm.fma.v8f64(<8 x double> %a, <8 x double> %b, <8 x double> %c)",
            "call i32 @llvm.fptosi.sat.i32.f64(double %a)",
            "sitofp i64 %v1 to double",
        ];
        let others = [
            "load i64, ptr %words, align 8",
            "call <8 x double> @llvm.masked.load.v8f64.p0(ptr %v1, i32 8, <8 x i1> %v2, <8 x double> zeroinitializer)",
            "call <8 x double> @fieldstone_pow_f64x8(<8 x double> %a, <8 x double> %b)",
            "phi i64 [ 0, %entry ], [ %v1, %loop.v2.latch ]",
        ];
        assert!(pure.iter().all(|text| is_pure(text)));
        assert!(!others.iter().any(|text| is_pure(text)));
    }

    #[test]
    fn divisions_may_harm() {
        let harmless = [
            "udiv i64 %v1, 8",
            "fdiv double %v1, %v2",
            "add i64 %v1, %v2",
        ];
        let harmful = [
            "udiv i64 %v1, %v2",
            "urem i64 %v1, 0",
            "sdiv i64 %v1, -1",
            "srem <8 x i64> %v1, splat (i64 2)",
        ];
        assert!(harmless.iter().all(|text| is_harmless(text)));
        assert!(!harmful.iter().any(|text| is_harmless(text)));
    }
}
