//! The arithmetic of [`crate::transcendental`] on vectors whose values are not known: each operation writes an instruction.

use std::cell::RefCell;
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use fieldstone_stencil::DType;

use crate::transcendental::number::{Bits, Double, Mask, Pieces, Real, Single, Table};

use super::super::builder::{Builder, Needs};
use super::super::pieces::LookUp;
use super::super::types::{self, Lanes};

/// Writes the body of a function.
pub(super) struct Writer {
    b: RefCell<Builder>,
    lanes: Lanes,
    permuted: usize,
    /// Of values, by their numbers.
    names: RefCell<Vec<String>>,
}

impl Writer {
    pub fn new(lanes: Lanes, permuted: usize) -> Writer {
        Writer {
            b: RefCell::new(Builder::new()),
            lanes,
            permuted,
            names: RefCell::new(Vec::new()),
        }
    }

    /// The body, with a return of a value, and what that needs.
    pub fn returning(self, kind: &str, result: &str) -> (String, Needs) {
        let mut b = self.b.into_inner();
        b.effect(format_args!("ret {kind} {result}"));
        b.finish()
    }

    /// The operands of the function.
    pub fn operands<K: Kind>(&self, count: usize) -> Vec<Value<'_, K>> {
        (0..count).map(|n| self.register(format!("%{n}"))).collect()
    }

    fn register<K: Kind>(&self, name: String) -> Value<'_, K> {
        let mut names = self.names.borrow_mut();
        names.push(name);
        Value {
            place: Place::Register(self, names.len() - 1),
            kind: PhantomData,
        }
    }

    fn value<K: Kind>(&self, instruction: impl Display) -> Value<'_, K> {
        let name = self.b.borrow_mut().value(instruction);
        self.register(name)
    }

    /// A call of an intrinsic whose operands have the type of the result.
    fn intrinsic<K: Kind>(&self, name: &str, operands: &[Value<'_, K>]) -> Value<'_, K> {
        let kind = self.lanes.of(K::NAME);
        let function = format!("llvm.{name}.{}", self.lanes.suffix_of(K::NAME));
        let operands: Vec<String> = operands.iter().map(|value| value.text(self)).collect();
        let operands: Vec<(&str, &str)> = operands
            .iter()
            .map(|value| (kind.as_str(), value.as_str()))
            .collect();
        let name = self.b.borrow_mut().call(&kind, &function, &operands);
        self.register(name)
    }

    /// The name of a table, which the module gets.
    fn table(&self, table: &Table) -> String {
        let name = format!("@fieldstone_{}", table.name);
        let values = table.values.iter();
        let values = values.map(|value| format!("double {}", types::real(DType::Float64, *value)));
        let values = values.collect::<Vec<_>>().join(", ");
        let count = table.values.len();
        let definition =
            format!("{name} = internal unnamed_addr constant [{count} x double] [{values}]");
        self.b.borrow_mut().needs.declarations.insert(definition);
        name
    }
}

/// A type of one lane.
pub(super) trait Kind: Copy {
    /// LLVM's name of it.
    const NAME: &str;
    const ADD: &str = "add";
    const SUB: &str = "sub";

    /// The text of a constant with these bits.
    fn constant(bits: u64) -> String {
        bits.to_string()
    }
}

/// Types of reals.
pub(super) trait RealKind: Kind {
    type Bits: IntegerKind<Real = Self>;
    const DTYPE: DType;
}

/// Types of bits of reals.
pub(super) trait IntegerKind: Kind {
    type Real: RealKind<Bits = Self>;
}

macro_rules! kinds {
    ($($real:ident $name:literal $dtype:ident, $integer:ident $integer_name:literal;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $real;

        #[derive(Clone, Copy)]
        pub(super) struct $integer;

        impl Kind for $real {
            const NAME: &str = $name;
            const ADD: &str = "fadd";
            const SUB: &str = "fsub";

            fn constant(bits: u64) -> String {
                types::real(DType::$dtype, f64::from_bits(bits))
            }
        }

        impl RealKind for $real {
            type Bits = $integer;
            const DTYPE: DType = DType::$dtype;
        }

        impl Kind for $integer {
            const NAME: &str = $integer_name;
        }

        impl IntegerKind for $integer {
            type Real = $real;
        }
    )*};
}

kinds! {
    F64 "double" Float64, I64 "i64";
    F32 "float" Float32, I32 "i32";
}

#[derive(Clone, Copy)]
pub(super) struct I1;

impl Kind for I1 {
    const NAME: &str = "i1";
}

/// A vector of lanes, known by its number or a constant.
#[derive(Clone, Copy)]
pub(super) struct Value<'w, K> {
    place: Place<'w>,
    kind: PhantomData<K>,
}

#[derive(Clone, Copy)]
enum Place<'w> {
    Register(&'w Writer, usize),
    /// Bits of an integer, or of a number of 64 bits also where the value has 32.
    Constant(u64),
}

impl<'w, K: Kind> Value<'w, K> {
    fn constant(bits: u64) -> Value<'w, K> {
        Value {
            place: Place::Constant(bits),
            kind: PhantomData,
        }
    }

    fn writer(self) -> Option<&'w Writer> {
        match self.place {
            Place::Register(writer, _) => Some(writer),
            Place::Constant(_) => None,
        }
    }

    pub fn text(self, writer: &Writer) -> String {
        match self.place {
            Place::Register(_, number) => writer.names.borrow()[number].clone(),
            Place::Constant(bits) => writer.lanes.splat(K::NAME, &K::constant(bits)),
        }
    }

    fn operation<Result: Kind>(self, opcode: &str, other: Value<'w, K>) -> Value<'w, Result> {
        let w = writer_of([self.writer(), other.writer()]);
        let (kind, a, b) = (w.lanes.of(K::NAME), self.text(w), other.text(w));
        w.value(format_args!("{opcode} {kind} {a}, {b}"))
    }

    fn converted<Result: Kind>(self, opcode: &str) -> Value<'w, Result> {
        let w = writer_of([self.writer()]);
        let (from, to) = (w.lanes.of(K::NAME), w.lanes.of(Result::NAME));
        let value = self.text(w);
        w.value(format_args!("{opcode} {from} {value} to {to}"))
    }
}

/// Functions compute constants themselves.
fn writer_of<const N: usize>(operands: [Option<&Writer>; N]) -> &Writer {
    let writer = operands.into_iter().flatten().next();
    writer.expect("no function has an operation on nothing but constants")
}

macro_rules! operators {
    ($($trait:ident $method:ident $bound:ident $opcode:expr;)*) => {$(
        impl<'w, K: $bound> $trait for Value<'w, K> {
            type Output = Value<'w, K>;

            fn $method(self, other: Value<'w, K>) -> Value<'w, K> {
                self.operation($opcode, other)
            }
        }
    )*};
}

operators! {
    Add add Kind K::ADD;
    Sub sub Kind K::SUB;
    Mul mul RealKind "fmul";
    Div div RealKind "fdiv";
    BitAnd bitand Kind "and";
    BitOr bitor Kind "or";
    BitXor bitxor Kind "xor";
}

impl<'w, K: RealKind> Neg for Value<'w, K> {
    type Output = Value<'w, K>;

    fn neg(self) -> Value<'w, K> {
        if let Place::Constant(bits) = self.place {
            return <Value<K> as Real>::of(-f64::from_bits(bits));
        }
        let w = writer_of([self.writer()]);
        let (kind, value) = (w.lanes.of(K::NAME), self.text(w));
        w.value(format_args!("fneg {kind} {value}"))
    }
}

impl<'w> Not for Value<'w, I1> {
    type Output = Value<'w, I1>;

    fn not(self) -> Value<'w, I1> {
        self.operation("xor", Value::constant(1))
    }
}

impl Mask for Value<'_, I1> {}

impl<'w, K: RealKind> Real for Value<'w, K> {
    type Bits = Value<'w, K::Bits>;
    type Mask = Value<'w, I1>;
    const FRACTION: u32 = match K::DTYPE {
        DType::Float32 => f32::MANTISSA_DIGITS - 1,
        _ => f64::MANTISSA_DIGITS - 1,
    };
    const BIAS: u64 = match K::DTYPE {
        DType::Float32 => f32::MAX_EXP as u64 - 1,
        _ => f64::MAX_EXP as u64 - 1,
    };

    fn of(value: f64) -> Value<'w, K> {
        Value::constant(value.to_bits())
    }

    fn mul_add(self, factor: Value<'w, K>, addend: Value<'w, K>) -> Value<'w, K> {
        let w = writer_of([self.writer(), factor.writer(), addend.writer()]);
        w.intrinsic("fma", &[self, factor, addend])
    }

    fn abs(self) -> Value<'w, K> {
        writer_of([self.writer()]).intrinsic("fabs", &[self])
    }

    fn copysign(self, sign: Value<'w, K>) -> Value<'w, K> {
        writer_of([self.writer(), sign.writer()]).intrinsic("copysign", &[self, sign])
    }

    fn sqrt(self) -> Value<'w, K> {
        writer_of([self.writer()]).intrinsic("sqrt", &[self])
    }

    fn below(self, other: Value<'w, K>) -> Value<'w, I1> {
        self.operation("fcmp olt", other)
    }

    fn at_most(self, other: Value<'w, K>) -> Value<'w, I1> {
        self.operation("fcmp ole", other)
    }

    fn equals(self, other: Value<'w, K>) -> Value<'w, I1> {
        self.operation("fcmp oeq", other)
    }

    fn select(mask: Value<'w, I1>, a: Value<'w, K>, b: Value<'w, K>) -> Value<'w, K> {
        let w = writer_of([mask.writer(), a.writer(), b.writer()]);
        let (masks, kind) = (w.lanes.of("i1"), w.lanes.of(K::NAME));
        let (mask, a, b) = (mask.text(w), a.text(w), b.text(w));
        w.value(format_args!(
            "select {masks} {mask}, {kind} {a}, {kind} {b}"
        ))
    }

    fn bits(self) -> Value<'w, K::Bits> {
        match self.place {
            Place::Register(..) => self.converted("bitcast"),
            Place::Constant(bits) => Value::constant(match K::DTYPE {
                DType::Float32 => (f64::from_bits(bits) as f32).to_bits().into(),
                _ => bits,
            }),
        }
    }

    fn of_piece(pieces: &'static Pieces, row: usize, index: Value<'w, K::Bits>) -> Value<'w, K> {
        let w = writer_of([index.writer()]);
        let look_up = LookUp {
            dtype: K::DTYPE,
            lanes: w.lanes,
            permuted: w.permuted,
        };
        let index = index.text(w);
        let found = look_up.row(&mut w.b.borrow_mut(), pieces, row, &index);
        w.register(found)
    }

    fn rarely<const N: usize>(
        mask: Value<'w, I1>,
        usual: [Value<'w, K>; N],
        rare: impl FnOnce() -> [Value<'w, K>; N],
    ) -> [Value<'w, K>; N] {
        let w = writer_of([mask.writer()]);
        let mask = mask.text(w);
        let condition = w.b.borrow_mut().any(w.lanes, &mask);
        let block = w.b.borrow_mut().begin_rare(&condition);
        let rare = rare();
        let kind = w.lanes.of(K::NAME);
        let texts = |n: usize| [rare[n].text(w), usual[n].text(w)];
        let values: Vec<[String; 2]> = (0..N).map(texts).collect();
        let chosen = w.b.borrow_mut().end_rare(&block, &kind, &values);
        let mut chosen = chosen.into_iter();
        usual.map(|value| chosen.next().map_or(value, |name| w.register(name)))
    }
}

impl<'w, K: IntegerKind> Bits for Value<'w, K> {
    type Real = Value<'w, K::Real>;
    type Mask = Value<'w, I1>;

    fn of(value: u64) -> Value<'w, K> {
        Value::constant(value)
    }

    fn up(self, bits: u32) -> Value<'w, K> {
        self.operation("shl", Value::constant(bits.into()))
    }

    fn down(self, bits: u32) -> Value<'w, K> {
        self.operation("lshr", Value::constant(bits.into()))
    }

    fn equals(self, other: Value<'w, K>) -> Value<'w, I1> {
        self.operation("icmp eq", other)
    }

    fn real(self) -> Value<'w, K::Real> {
        self.converted("bitcast")
    }
}

impl<'w> Single for Value<'w, F32> {
    type Wide = Value<'w, F64>;

    fn widen(self) -> Value<'w, F64> {
        self.converted("fpext")
    }
}

impl<'w> Double for Value<'w, F64> {
    type Narrow = Value<'w, F32>;

    fn narrow(self) -> Value<'w, F32> {
        self.converted("fptrunc")
    }

    fn lookup(table: &'static Table, index: Value<'w, I64>) -> Value<'w, F64> {
        let w = writer_of([index.writer()]);
        let (name, lanes) = (w.table(table), w.lanes);
        let (kind, pointers) = (lanes.of(F64::NAME), lanes.of("ptr"));
        let (indices, index) = (lanes.of(I64::NAME), index.text(w));
        let mut b = w.b.borrow_mut();
        let place = b.value(format_args!(
            "getelementptr double, ptr {name}, {indices} {index}"
        ));
        let value = if lanes.width == 1 {
            b.value(format_args!("load double, ptr {place}, align 8"))
        } else {
            let suffix = lanes.suffix_of(F64::NAME);
            let function = format!("llvm.masked.gather.{suffix}.v{}p0", lanes.width);
            let (masks, all) = (lanes.of("i1"), lanes.splat("i1", "true"));
            let operands = [
                (pointers.as_str(), place.as_str()),
                ("i32", "8"),
                (&masks, &all),
                (&kind, "zeroinitializer"),
            ];
            b.call(&kind, &function, &operands)
        };
        drop(b);
        w.register(value)
    }
}
