//! One operation on vectors, as the table of [`crate::math`] defines it.

use fieldstone_stencil::DType;
use fieldstone_stencil::fast_math::{FastMath, Liberty};
use fieldstone_stencil::ir::{BinaryOp, Builtin, CompareOp, Literal, UnaryOp};

use crate::math;
use crate::power::Plan;

use super::builder::Builder;
use super::function::Function;
use super::types::{self, Lanes};

/// Writes operations on values of `lanes` lanes.
pub(super) struct Arithmetic<'b> {
    pub b: &'b mut Builder,
    pub lanes: Lanes,
    /// The lanes of which anybody sees the results are in each of these that is there.
    pub seen: [Option<&'b str>; 2],
    /// What it may do to results.
    pub fast_math: FastMath,
}

impl Arithmetic<'_> {
    pub fn literal(&self, literal: Literal, dtype: DType) -> String {
        let text = match (literal, dtype) {
            (Literal::Bool(value), DType::Bool) => value.to_string(),
            (Literal::Bool(value), _) if dtype.is_float() => {
                types::real(dtype, f64::from(u8::from(value)))
            }
            (Literal::Bool(value), _) => u8::from(value).to_string(),
            (Literal::Int(value), DType::Bool) => (value != 0).to_string(),
            (Literal::Int(value), DType::Float32) => types::real(dtype, f64::from(value as f32)),
            (Literal::Int(value), DType::Float64) => types::real(dtype, value as f64),
            // What was not assigned: half precision has no other constants.
            (Literal::Int(0), DType::Float16) => "0xH0000".to_string(),
            (Literal::Int(value), _) => value.to_string(),
            (Literal::Float(value), DType::Bool) => (value != 0.0).to_string(),
            (Literal::Float(value), _) if dtype.is_float() => types::real(dtype, value),
            (Literal::Float(value), _) => (value as i64).to_string(),
        };
        self.lanes.constant(dtype, &text)
    }

    fn integer(&self, dtype: DType, value: i64) -> String {
        self.lanes.constant(dtype, &value.to_string())
    }

    pub fn instruction(&mut self, opcode: &str, dtype: DType, a: &str, b: &str) -> String {
        let kind = self.lanes.value(dtype);
        self.b.value(format_args!("{opcode} {kind} {a}, {b}"))
    }

    pub fn intrinsic(&mut self, name: &str, dtype: DType, arguments: &[&str]) -> String {
        let kind = self.lanes.value(dtype);
        let function = format!("llvm.{name}.{}", self.lanes.suffix(dtype));
        let arguments: Vec<(&str, &str)> = arguments.iter().map(|a| (kind.as_str(), *a)).collect();
        self.b.call(&kind, &function, &arguments)
    }

    /// An `i64` within two bounds.
    pub fn clamp(&mut self, value: &str, first: &str, last: &str) -> String {
        let value = self.intrinsic("smin", DType::Int64, &[value, last]);
        self.intrinsic("smax", DType::Int64, &[&value, first])
    }

    pub fn select(&mut self, condition: &str, dtype: DType, a: &str, b: &str) -> String {
        let (mask, kind) = (self.lanes.of("i1"), self.lanes.value(dtype));
        self.b.value(format_args!(
            "select {mask} {condition}, {kind} {a}, {kind} {b}"
        ))
    }

    pub fn not(&mut self, a: &str) -> String {
        let all = self.lanes.constant(DType::Bool, "true");
        self.instruction("xor", DType::Bool, a, &all)
    }

    pub fn and(&mut self, a: &str, b: &str) -> String {
        self.instruction("and", DType::Bool, a, b)
    }

    pub fn unary(&mut self, op: UnaryOp, dtype: DType, a: &str) -> String {
        match op {
            UnaryOp::Neg if dtype.is_float() => {
                let kind = self.lanes.value(dtype);
                self.b.value(format_args!("fneg {kind} {a}"))
            }
            UnaryOp::Neg => {
                let zero = self.integer(dtype, 0);
                self.instruction("sub", dtype, &zero, a)
            }
            UnaryOp::Not | UnaryOp::Invert if dtype == DType::Bool => self.not(a),
            UnaryOp::Not => {
                let zero = self.zero(dtype);
                self.compare(CompareOp::Eq, dtype, a, &zero)
            }
            UnaryOp::Invert => {
                let ones = self.integer(dtype, -1);
                self.instruction("xor", dtype, a, &ones)
            }
        }
    }

    pub fn binary(&mut self, op: BinaryOp, dtype: DType, a: &str, b: &str) -> String {
        if dtype.is_float() {
            return self.real_binary(op, dtype, a, b);
        }
        let opcode = match op {
            BinaryOp::Add if dtype == DType::Bool => "or",
            BinaryOp::Mul if dtype == DType::Bool => "and",
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::And | BinaryOp::BitAnd => "and",
            BinaryOp::Or | BinaryOp::BitOr => "or",
            BinaryOp::BitXor => "xor",
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => return self.shift(op, dtype, a, b),
            BinaryOp::FloorDiv => return self.floor_div(dtype, a, b).0,
            BinaryOp::Mod => return self.floor_div(dtype, a, b).1,
            BinaryOp::Pow => return self.call(Builtin::Pow, dtype, &[a, b]),
            BinaryOp::Div => unreachable!("type resolution makes `/` a division of reals"),
        };
        self.instruction(opcode, dtype, a, b)
    }

    fn real_binary(&mut self, op: BinaryOp, dtype: DType, a: &str, b: &str) -> String {
        let instruction = match op {
            BinaryOp::Add => "fadd",
            BinaryOp::Sub => "fsub",
            BinaryOp::Mul => "fmul",
            BinaryOp::Div => "fdiv",
            BinaryOp::Mod => return self.call(Builtin::Mod, dtype, &[a, b]),
            BinaryOp::Pow => return self.call(Builtin::Pow, dtype, &[a, b]),
            BinaryOp::FloorDiv => return self.real_floor_div(dtype, a, b),
            _ => unreachable!("type resolution refuses {op:?} on reals"),
        };
        let opcode = format!("{instruction}{}", flags(self.fast_math));
        self.instruction(&opcode, dtype, a, b)
    }

    fn shift(&mut self, op: BinaryOp, dtype: DType, a: &str, b: &str) -> String {
        let width = self.integer(dtype, dtype.size() as i64 * 8 - 1);
        let by = self.instruction("and", dtype, b, &width);
        let opcode = match op {
            BinaryOp::ShiftLeft => "shl",
            _ if dtype.is_signed() => "ashr",
            _ => "lshr",
        };
        self.instruction(opcode, dtype, a, &by)
    }

    /// Quotient and remainder of integers, both zero for a zero divisor.
    fn floor_div(&mut self, dtype: DType, a: &str, b: &str) -> (String, String) {
        let (zero, one) = (self.integer(dtype, 0), self.integer(dtype, 1));
        let by_zero = self.compare(CompareOp::Eq, dtype, b, &zero);
        if !dtype.is_signed() {
            let safe = self.select(&by_zero, dtype, &one, b);
            let quotient = self.instruction("udiv", dtype, a, &safe);
            let remainder = self.instruction("urem", dtype, a, &safe);
            return (
                self.select(&by_zero, dtype, &zero, &quotient),
                self.select(&by_zero, dtype, &zero, &remainder),
            );
        }
        // The hardware traps on a zero divisor and on MIN / -1, so neither reaches it.
        let minus_one = self.integer(dtype, -1);
        let by_minus_one = self.compare(CompareOp::Eq, dtype, b, &minus_one);
        let unsafe_divisor = self.instruction("or", DType::Bool, &by_zero, &by_minus_one);
        let safe = self.select(&unsafe_divisor, dtype, &one, b);
        let quotient = self.instruction("sdiv", dtype, a, &safe);
        let remainder = self.instruction("srem", dtype, a, &safe);
        let inexact = self.compare(CompareOp::Ne, dtype, &remainder, &zero);
        let signs = self.instruction("xor", dtype, &remainder, &safe);
        let differ = self.compare(CompareOp::Lt, dtype, &signs, &zero);
        let down = self.and(&inexact, &differ);
        let lower = self.instruction("sub", dtype, &quotient, &one);
        let quotient = self.select(&down, dtype, &lower, &quotient);
        let raised = self.instruction("add", dtype, &remainder, &safe);
        let remainder = self.select(&down, dtype, &raised, &remainder);
        let negated = self.instruction("sub", dtype, &zero, a);
        let quotient = self.select(&by_minus_one, dtype, &negated, &quotient);
        (
            self.select(&by_zero, dtype, &zero, &quotient),
            self.select(&unsafe_divisor, dtype, &zero, &remainder),
        )
    }

    /// `base ** n` for a small literal `n`.
    pub fn power(&mut self, plan: &Plan, dtype: DType, base: &str) -> String {
        let mut values = vec![base.to_string()];
        for (left, right) in &plan.products {
            let (left, right) = (values[*left].clone(), values[*right].clone());
            values.push(self.binary(BinaryOp::Mul, dtype, &left, &right));
        }
        let one = self.literal(Literal::Int(1), dtype);
        let power = plan.result.map_or(one.clone(), |n| values[n].clone());
        match (plan.reciprocal, dtype.is_float()) {
            (false, _) => power,
            (true, true) => self.binary(BinaryOp::Div, dtype, &one, &power),
            (true, false) => self.reciprocal(dtype, &one, &power),
        }
    }

    /// `1 / a` towards zero on integers, 0 for 0: only 1 and -1 have one.
    fn reciprocal(&mut self, dtype: DType, one: &str, a: &str) -> String {
        let zero = self.integer(dtype, 0);
        let is_one = self.compare(CompareOp::Eq, dtype, a, one);
        let small = self.select(&is_one, dtype, one, &zero);
        if !dtype.is_signed() {
            return small;
        }
        let minus_one = self.integer(dtype, -1);
        let is_minus_one = self.compare(CompareOp::Eq, dtype, a, &minus_one);
        self.select(&is_minus_one, dtype, &minus_one, &small)
    }

    pub fn compare(&mut self, op: CompareOp, dtype: DType, a: &str, b: &str) -> String {
        let kind = self.lanes.value(dtype);
        let instruction = if dtype.is_float() {
            let predicate = match op {
                CompareOp::Eq => "oeq",
                CompareOp::Ne => "une",
                CompareOp::Lt => "olt",
                CompareOp::Le => "ole",
                CompareOp::Gt => "ogt",
                CompareOp::Ge => "oge",
            };
            format!("fcmp {predicate} {kind} {a}, {b}")
        } else {
            let sign = if dtype.is_signed() { "s" } else { "u" };
            let predicate = match op {
                CompareOp::Eq => String::from("eq"),
                CompareOp::Ne => String::from("ne"),
                CompareOp::Lt => format!("{sign}lt"),
                CompareOp::Le => format!("{sign}le"),
                CompareOp::Gt => format!("{sign}gt"),
                CompareOp::Ge => format!("{sign}ge"),
            };
            format!("icmp {predicate} {kind} {a}, {b}")
        };
        self.b.value(instruction)
    }

    /// A function of the language; `dtype` is the type of the operands.
    pub fn call(&mut self, builtin: Builtin, dtype: DType, arguments: &[&str]) -> String {
        let a = arguments[0];
        if let Builtin::IsFinite | Builtin::IsInf | Builtin::IsNan = builtin {
            return self.class(builtin, dtype, a);
        }
        if dtype.is_float() {
            let intrinsic = match builtin {
                Builtin::Abs => "fabs",
                Builtin::Sqrt => "sqrt",
                Builtin::Min => return self.extreme(CompareOp::Lt, dtype, a, arguments[1]),
                Builtin::Max => return self.extreme(CompareOp::Gt, dtype, a, arguments[1]),
                Builtin::Mod => return self.real_modulo(dtype, a, arguments[1]),
                Builtin::Floor => "floor",
                Builtin::Ceil => "ceil",
                Builtin::Trunc => "trunc",
                Builtin::Round => "roundeven",
                Builtin::RoundAwayFromZero => "round",
                _ if let Some(function) = Function::of(builtin, dtype, self.lanes) => {
                    return self.call_function(function, dtype, arguments);
                }
                _ => {
                    let (name, _) =
                        math::symbol(builtin, dtype).expect("reals have every function");
                    return self.each_lane(name, dtype, arguments);
                }
            };
            return self.intrinsic(intrinsic, dtype, arguments);
        }
        match builtin {
            Builtin::Min | Builtin::Max if dtype == DType::Bool => {
                let opcode = if builtin == Builtin::Min { "and" } else { "or" };
                self.instruction(opcode, dtype, a, arguments[1])
            }
            Builtin::Min | Builtin::Max => {
                let sign = if dtype.is_signed() { "s" } else { "u" };
                let name = if builtin == Builtin::Min {
                    "min"
                } else {
                    "max"
                };
                self.intrinsic(&format!("{sign}{name}"), dtype, arguments)
            }
            Builtin::Abs if dtype.is_signed() => {
                let (kind, suffix) = (self.lanes.value(dtype), self.lanes.suffix(dtype));
                let arguments = [(kind.as_str(), a), ("i1", "false")];
                self.b
                    .call(&kind, &format!("llvm.abs.{suffix}"), &arguments)
            }
            Builtin::Mod => self.floor_div(dtype, a, arguments[1]).1,
            Builtin::Pow => {
                let (name, _) = math::symbol(builtin, dtype).expect("integers have a power");
                self.each_lane(name, dtype, arguments)
            }
            // Integers and booleans are their own absolute value, floor, rounding.
            _ => a.to_string(),
        }
    }

    /// The second of two reals if it is `before` the first or NaN, else the first.
    ///
    /// In this form LLVM finds two instructions: a comparison, and the processor's own minimum or maximum.
    fn extreme(&mut self, before: CompareOp, dtype: DType, a: &str, b: &str) -> String {
        let is_before = self.compare(before, dtype, b, a);
        let chosen = self.select(&is_before, dtype, b, a);
        if self.fast_math.allows(Liberty::NoNans) {
            return chosen;
        }
        let is_number = self.instruction("fcmp ord", dtype, b, b);
        self.select(&is_number, dtype, &chosen, b)
    }

    /// The same of several, of each of which is told whether it is known to be a number. Each step is the processor's own minimum or
    /// maximum, which keeps a NaN that came first; another one fills the lane of the result with bits, which is a NaN, too.
    pub fn extremes(
        &mut self,
        builtin: Builtin,
        dtype: DType,
        values: &[(String, bool)],
    ) -> String {
        let before = match builtin {
            Builtin::Min => CompareOp::Lt,
            _ => CompareOp::Gt,
        };
        let mut found = values[0].0.clone();
        for (value, _) in &values[1..] {
            let is_before = self.compare(before, dtype, value, &found);
            found = self.select(&is_before, dtype, value, &found);
        }
        let unknown: Vec<&str> = (values[1..].iter())
            .filter_map(|(value, is_number)| (!is_number).then_some(value.as_str()))
            .collect();
        if unknown.is_empty() || self.fast_math.allows(Liberty::NoNans) {
            return found;
        }
        let (kind, bits) = (
            self.lanes.value(dtype),
            self.lanes.of(&format!("i{}", 8 * dtype.size())),
        );
        let masks = self.lanes.of("i1");
        found = self
            .b
            .value(format_args!("bitcast {kind} {found} to {bits}"));
        for both in unknown.chunks(2) {
            let (first, second) = (both[0], both[both.len() - 1]);
            let is_nan = self.instruction("fcmp uno", dtype, first, second);
            let all = self
                .b
                .value(format_args!("sext {masks} {is_nan} to {bits}"));
            found = self.b.value(format_args!("or {bits} {found}, {all}"));
        }
        self.b
            .value(format_args!("bitcast {bits} {found} to {kind}"))
    }

    fn class(&mut self, builtin: Builtin, dtype: DType, a: &str) -> String {
        const NAN: u32 = 0x003;
        const INFINITE: u32 = 0x204;
        const FINITE: u32 = 0x1f8;
        if !dtype.is_float() {
            let finite = builtin == Builtin::IsFinite;
            return self.lanes.constant(DType::Bool, &finite.to_string());
        }
        let class = match builtin {
            Builtin::IsNan => NAN,
            Builtin::IsInf => INFINITE,
            _ => FINITE,
        };
        let (kind, mask) = (self.lanes.value(dtype), self.lanes.of("i1"));
        let function = format!("llvm.is.fpclass.{}", self.lanes.suffix(dtype));
        let class = class.to_string();
        let arguments = [(kind.as_str(), a), ("i32", class.as_str())];
        self.b.call(&mask, &function, &arguments)
    }

    /// Calls a function on all lanes at once.
    fn call_function(&mut self, function: Function, dtype: DType, arguments: &[&str]) -> String {
        let kind = self.lanes.value(dtype);
        let call = |arguments: &[String]| {
            let arguments: Vec<String> = arguments.iter().map(|a| format!("{kind} {a}")).collect();
            format!(
                "call {kind} @{}({})",
                function.symbol(),
                arguments.join(", ")
            )
        };
        let mut arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        for seen in self.seen.into_iter().flatten() {
            // What was computed at more points serves at these, too.
            if let Some(known) = self.b.known_call(&call(&arguments)) {
                return known;
            }
            for argument in &mut arguments {
                *argument = self.usual(seen, dtype, argument);
            }
        }
        if let Some(known) = self.b.known_call(&call(&arguments)) {
            return known;
        }
        *self.b.needs.functions.entry(function).or_default() += 1;
        self.b.pure(call(&arguments))
    }

    /// The argument of a function, and where nobody sees the result a number of which all have a usual value: all lanes wait for
    /// one whose is not, such as the logarithm of zeros behind an array, or of those that a condition keeps from it.
    fn usual(&mut self, seen: &str, dtype: DType, argument: &str) -> String {
        let is_constant = !argument.starts_with('%');
        if !dtype.is_float() || self.lanes.width == 1 || is_constant {
            return argument.to_owned();
        }
        let one = self.literal(Literal::Int(1), dtype);
        self.select(seen, dtype, argument, &one)
    }

    /// Calls a function of our own on every lane.
    pub fn each_lane(&mut self, name: &str, dtype: DType, arguments: &[&str]) -> String {
        let (element, kind) = (types::register(dtype), self.lanes.value(dtype));
        let argument = types::argument(dtype);
        if self.lanes.width == 1 {
            let arguments = arguments.iter().map(|a| (argument.as_str(), *a));
            let arguments: Vec<(&str, &str)> = arguments.collect();
            return self.b.call(element, name, &arguments);
        }
        let mut result = String::from("poison");
        for lane in 0..self.lanes.width {
            let lanes: Vec<String> = arguments
                .iter()
                .map(|a| {
                    self.b
                        .value(format_args!("extractelement {kind} {a}, i64 {lane}"))
                })
                .collect();
            let scalars = lanes.iter().map(|a| (argument.as_str(), a.as_str()));
            let scalars: Vec<(&str, &str)> = scalars.collect();
            let value = self.b.call(element, name, &scalars);
            result = self.b.value(format_args!(
                "insertelement {kind} {result}, {element} {value}, i64 {lane}"
            ));
        }
        result
    }

    pub fn zero(&self, dtype: DType) -> String {
        self.literal(Literal::Int(0), dtype)
    }

    /// A conversion.
    pub fn cast(&mut self, from: DType, to: DType, a: &str) -> String {
        if from == to {
            return a.to_string();
        }
        if to == DType::Bool {
            let zero = self.zero(from);
            return self.compare(CompareOp::Ne, from, a, &zero);
        }
        if from.is_float() && !to.is_float() {
            let name = if to.is_signed() { "fptosi" } else { "fptoui" };
            let (source, result) = (self.lanes.value(from), self.lanes.value(to));
            let suffixes = (self.lanes.suffix(to), self.lanes.suffix(from));
            let function = format!("llvm.{name}.sat.{}.{}", suffixes.0, suffixes.1);
            return self.b.call(&result, &function, &[(source.as_str(), a)]);
        }
        let opcode = match (from.is_float(), to.is_float()) {
            (true, _) if to.size() < from.size() => "fptrunc",
            (true, _) => "fpext",
            (false, true) if from.is_signed() => "sitofp",
            (false, true) => "uitofp",
            (false, false) if from != DType::Bool && to.size() == from.size() => {
                return a.to_string();
            }
            (false, false) if from != DType::Bool && to.size() < from.size() => "trunc",
            (false, false) if from.is_signed() => "sext",
            (false, false) => "zext",
        };
        let (source, result) = (self.lanes.value(from), self.lanes.value(to));
        self.b
            .value(format_args!("{opcode} {source} {a} to {result}"))
    }
}

/// LLVM's words for what an instruction may do to its result.
///
/// None is there for NaN, which would then be undefined behaviour instead of a result.
fn flags(fast_math: FastMath) -> String {
    let words = [
        (Liberty::Contract, " contract"),
        (Liberty::Reassociate, " reassoc"),
        (Liberty::Reciprocal, " arcp"),
        (Liberty::NoSignedZeros, " nsz"),
    ];
    let allowed = words.into_iter().filter(|(one, _)| fast_math.allows(*one));
    allowed.map(|(_, word)| word).collect()
}
