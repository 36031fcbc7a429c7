//! From words to IR: a parser by recursive descent.

use std::collections::HashMap;

use super::implied;
use super::token::{Parsed, Token, fail, lex};
use crate::diagnostic::Diagnostics;
use crate::dtype::DType;
use crate::fast_math::{FastMath, Liberty};
use crate::grid::{Area, Axes, Axis, Bound, Interval, Level, Offset, Range};
use crate::ir::{
    BinaryOp, Builtin, CompareOp, Computation, DataDimension, Expr, ExprKind, Field, FieldId,
    LevelIndex, Literal, Order, Param, Scalar, ScalarId, Section, Stencil, Stmt, StmtKind,
    Subscript, Target, TempId, Temporary, UnaryOp,
};
use crate::source::{Source, SourceMap, Span};
use crate::types::MAX_DEPTH;

/// The stencil of a text. Its spans point into the text, which is its only source, of the file `file`.
///
/// # Errors
///
/// The first place that is not as the [module](super) describes it.
pub fn parse(file: &str, text: &str) -> Result<Stencil, Diagnostics> {
    let mut sources = SourceMap::default();
    let source = sources.add(Source {
        file: file.to_string(),
        first_line: 1,
        indent: 0,
        text: text.to_string(),
    });
    let parsed = lex(text, source).and_then(|tokens| {
        let end = Span {
            source,
            start: text.len() as u32,
            end: text.len() as u32,
        };
        Parser::new(tokens, end).stencil()
    });
    match parsed {
        Ok(stencil) => Ok(Stencil { sources, ..stencil }),
        Err(error) => Err(Diagnostics {
            diagnostics: vec![*error],
            sources,
        }),
    }
}

#[derive(Clone, Copy)]
enum Named {
    Scalar(ScalarId),
    Target(Target),
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    end: Span,
    typed: bool,
    names: HashMap<String, Named>,
    stencil: Stencil,
}

impl Parser {
    fn new(tokens: Vec<(Token, Span)>, end: Span) -> Parser {
        Parser {
            tokens,
            at: 0,
            end,
            typed: false,
            names: HashMap::new(),
            stencil: Stencil {
                name: String::new(),
                params: Vec::new(),
                fields: Vec::new(),
                scalars: Vec::new(),
                temporaries: Vec::new(),
                computations: Vec::new(),
                fast_math: FastMath::default(),
                sources: SourceMap::default(),
            },
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |(_, span)| *span)
    }

    /// From the start of a token that was taken before to the end of the last one.
    fn since(&self, start: Span) -> Span {
        start.to(self.tokens[self.at - 1].1)
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(found)) if *found == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(found)) if found == word)
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        let found = match self.peek() {
            None => "the end of the text".to_string(),
            Some(Token::Name(text) | Token::Quoted(text) | Token::Number(text)) => {
                format!("`{text}`")
            }
            Some(Token::Symbol(symbol)) => format!("`{symbol}`"),
        };
        fail(self.span(), format!("Expected {what}, found {found}"))
    }

    fn symbol(&mut self, symbol: &str) -> Parsed<()> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            self.expected(&format!("`{symbol}`"))
        }
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) {
            Ok(())
        } else {
            self.expected(&format!("`{word}`"))
        }
    }

    fn name(&mut self) -> Parsed<(String, Span)> {
        let span = self.span();
        match self.peek() {
            Some(Token::Name(name) | Token::Quoted(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok((name, span))
            }
            _ => self.expected("a name"),
        }
    }

    fn dtype(&mut self) -> Parsed<DType> {
        let dtype = match self.peek() {
            Some(Token::Name(name)) => DType::from_name(name),
            _ => None,
        };
        match dtype {
            Some(dtype) => {
                self.at += 1;
                Ok(dtype)
            }
            None => self.expected("a type"),
        }
    }

    fn int(&mut self) -> Parsed<i64> {
        let start = self.at;
        let sign = match (self.take_symbol("-"), self.take_symbol("+")) {
            (true, false) => "-",
            _ => "",
        };
        if let Some(Token::Number(digits)) = self.peek()
            && let Ok(value) = format!("{sign}{digits}").parse()
        {
            self.at += 1;
            return Ok(value);
        }
        self.at = start;
        self.expected("an integer")
    }

    fn int32(&mut self) -> Parsed<i32> {
        let span = self.span();
        match i32::try_from(self.int()?) {
            Ok(n) => Ok(n),
            Err(_) => fail(span, "This number does not fit 32 bits"),
        }
    }

    // -- declarations

    fn stencil(mut self) -> Parsed<Stencil> {
        self.typed = self.take_word("typed");
        self.word("stencil")?;
        self.stencil.name = self.name()?.0;
        self.symbol("{")?;
        while !self.take_symbol("}") {
            self.item()?;
        }
        if self.peek().is_some() {
            return self.expected("the end of the text");
        }
        Ok(self.stencil)
    }

    fn item(&mut self) -> Parsed<()> {
        let start = self.span();
        for (word, order) in [
            ("parallel", Order::Parallel),
            ("forward", Order::Forward),
            ("backward", Order::Backward),
        ] {
            if self.take_word(word) {
                let span = self.since(start);
                let sections = self.sections()?;
                self.stencil.computations.push(Computation {
                    order,
                    sections,
                    span,
                });
                return Ok(());
            }
        }
        if self.take_word("field") {
            self.field()
        } else if self.take_word("scalar") {
            self.scalar()
        } else if self.take_word("temp") {
            self.temporary()
        } else if self.take_word("params") {
            self.params()
        } else if self.take_word("fast_math") {
            self.fast_math()
        } else {
            self.expected("a declaration or a computation")
        }
    }

    fn fast_math(&mut self) -> Parsed<()> {
        loop {
            let (name, span) = self.name()?;
            match Liberty::from_name(&name) {
                Some(liberty) => self.stencil.fast_math.allow(liberty),
                None => return fail(span, format!("`{name}` is nothing arithmetic may do")),
            }
            if !self.take_symbol(",") {
                return Ok(());
            }
        }
    }

    fn declare(&mut self, named: Named) -> Parsed<(String, Span)> {
        let (name, span) = self.name()?;
        if self.names.insert(name.clone(), named).is_some() {
            return fail(span, format!("`{name}` is declared twice"));
        }
        Ok((name, span))
    }

    fn field(&mut self) -> Parsed<()> {
        let id = FieldId(self.stencil.fields.len() as u32);
        let (name, span) = self.declare(Named::Target(Target::Field(id)))?;
        self.symbol(":")?;
        let dtype = self.dtype()?;
        let (axes, data_dims) = self.extends()?;
        self.stencil.fields.push(Field {
            name,
            dtype,
            axes,
            data_dims,
            span,
        });
        self.stencil.params.push(Param::Field(id));
        Ok(())
    }

    /// Axes of the grid and sizes of data dimensions: `[IJ][3, 3]`.
    fn extends(&mut self) -> Parsed<(Axes, Vec<u32>)> {
        self.symbol("[")?;
        let mut axes = Axes([false; 3]);
        if let Some(Token::Name(letters)) = self.peek() {
            let letters = letters.clone();
            for letter in letters.chars() {
                match Axis::ALL
                    .into_iter()
                    .find(|axis| axis.to_string() == letter.to_string())
                {
                    Some(axis) => axes.0[axis.index()] = true,
                    None => return self.expected("axes, as in `IJK`"),
                }
            }
            self.at += 1;
        }
        self.symbol("]")?;
        let mut data_dims = Vec::new();
        if self.take_symbol("[") {
            loop {
                data_dims.push(self.size()?);
                if !self.take_symbol(",") {
                    break;
                }
            }
            self.symbol("]")?;
        }
        Ok((axes, data_dims))
    }

    /// The size of a data dimension.
    fn size(&mut self) -> Parsed<u32> {
        let span = self.span();
        match u32::try_from(self.int()?) {
            Ok(size) => Ok(size),
            Err(_) => fail(span, "A size is a positive number of 32 bits"),
        }
    }

    fn scalar(&mut self) -> Parsed<()> {
        let id = ScalarId(self.stencil.scalars.len() as u32);
        let (name, span) = self.declare(Named::Scalar(id))?;
        self.symbol(":")?;
        let dtype = self.dtype()?;
        self.stencil.scalars.push(Scalar { name, dtype, span });
        self.stencil.params.push(Param::Scalar(id));
        Ok(())
    }

    fn temporary(&mut self) -> Parsed<()> {
        let id = TempId(self.stencil.temporaries.len() as u32);
        let (name, span) = self.declare(Named::Target(Target::Temp(id)))?;
        let dtype = if self.take_symbol(":") {
            Some(self.dtype()?)
        } else {
            None
        };
        let (axes, data_dims) = match self.is_symbol("[") {
            true => self.extends()?,
            false => (Axes::IJK, Vec::new()),
        };
        self.stencil.temporaries.push(Temporary {
            name,
            dtype,
            axes,
            data_dims,
            span,
        });
        Ok(())
    }

    fn params(&mut self) -> Parsed<()> {
        let mut params = Vec::new();
        loop {
            let (name, span) = self.name()?;
            params.push(match self.names.get(&name) {
                Some(Named::Scalar(id)) => Param::Scalar(*id),
                Some(Named::Target(Target::Field(id))) => Param::Field(*id),
                _ => return fail(span, format!("`{name}` is no field and no scalar")),
            });
            if !self.take_symbol(",") {
                break;
            }
        }
        self.stencil.params = params;
        Ok(())
    }

    // -- statements

    fn sections(&mut self) -> Parsed<Vec<Section>> {
        self.symbol("{")?;
        let mut sections = Vec::new();
        while !self.take_symbol("}") {
            let start = self.span();
            self.word("interval")?;
            let first = self.bound()?;
            self.symbol("..")?;
            let end = self.bound()?;
            let span = self.since(start);
            sections.push(Section {
                interval: Interval { start: first, end },
                body: self.block(0)?,
                span,
            });
        }
        Ok(sections)
    }

    fn bound(&mut self) -> Parsed<Bound> {
        if !self.take_word("end") {
            let offset = self.int32()?;
            return Ok(Bound {
                level: Level::Start,
                offset,
            });
        }
        let offset = if self.is_symbol("-") || self.is_symbol("+") {
            self.int32()?
        } else {
            0
        };
        Ok(Bound {
            level: Level::End,
            offset,
        })
    }

    fn block(&mut self, depth: usize) -> Parsed<Vec<Stmt>> {
        if depth > MAX_DEPTH {
            return fail(self.span(), "Statements are nested too deeply");
        }
        self.symbol("{")?;
        let mut body = Vec::new();
        while !self.take_symbol("}") {
            body.push(self.statement(depth)?);
        }
        Ok(body)
    }

    /// What stands behind `require`: a condition, and the bounds of intervals that it is about.
    fn requirement(&mut self) -> Parsed<StmtKind> {
        let condition = self.expr(0)?;
        if !self.take_word("for") {
            return self.expected("`for`");
        }
        self.symbol("[")?;
        let mut bounds = vec![self.expr(0)?];
        while self.take_symbol(",") {
            bounds.push(self.expr(0)?);
        }
        self.symbol("]")?;
        let intervals = bounds.chunks(2).map(|both| both[0].span).collect();
        Ok(StmtKind::Require {
            condition,
            bounds,
            intervals,
        })
    }

    fn statement(&mut self, depth: usize) -> Parsed<Stmt> {
        let start = self.span();
        let kind = if self.take_word("if") {
            let condition = self.expr(0)?;
            let then = self.block(depth + 1)?;
            let orelse = if self.take_word("else") {
                self.block(depth + 1)?
            } else {
                Vec::new()
            };
            StmtKind::If {
                condition,
                then,
                orelse,
            }
        } else if self.take_word("while") {
            StmtKind::While {
                condition: self.expr(0)?,
                body: self.block(depth + 1)?,
            }
        } else if self.take_word("require") {
            self.requirement()?
        } else if self.take_word("region") {
            self.symbol("[")?;
            let i = self.range()?;
            self.symbol(",")?;
            let j = self.range()?;
            self.symbol("]")?;
            StmtKind::Region {
                area: Area([i, j]),
                body: self.block(depth + 1)?,
            }
        } else {
            let (name, target_span) = self.name()?;
            let Some(Named::Target(target)) = self.names.get(&name).copied() else {
                return fail(
                    target_span,
                    format!("`{name}` is no field and no temporary"),
                );
            };
            let (offset, subscript) = self.place(depth)?;
            self.symbol("=")?;
            StmtKind::Assign {
                target,
                target_span,
                offset,
                subscript,
                value: self.expr(0)?,
            }
        };
        Ok(Stmt {
            kind,
            span: self.since(start),
        })
    }

    // -- expressions

    fn expr(&mut self, depth: usize) -> Parsed<Expr> {
        if depth > MAX_DEPTH {
            return fail(self.span(), "This expression is nested too deeply");
        }
        let start = self.span();
        let (kind, dtype) = self.operand(depth)?;
        let implied = if self.typed {
            implied(&self.stencil, &kind)
        } else {
            None
        };
        let dtype = if self.take_symbol(":") {
            if self.take_symbol("?") {
                None
            } else {
                Some(self.dtype()?)
            }
        } else {
            dtype.or(implied)
        };
        Ok(Expr {
            kind,
            dtype,
            span: self.since(start),
        })
    }

    /// An expression without its type, but for conversions, which are called by it.
    fn operand(&mut self, depth: usize) -> Parsed<(ExprKind, Option<DType>)> {
        if self.take_symbol("(") {
            return Ok((self.operation(depth)?, None));
        }
        for (symbol, op) in [("-", UnaryOp::Neg), ("~", UnaryOp::Invert)] {
            if self.is_symbol(symbol)
                && matches!(self.tokens.get(self.at + 1), Some((Token::Symbol("("), _)))
            {
                self.at += 1;
                return Ok((
                    ExprKind::Unary(op, Box::new(self.one_operand(depth)?)),
                    None,
                ));
            }
        }
        let starts_literal = self.is_symbol("-")
            || self.is_symbol("+")
            || self.is_word("True")
            || self.is_word("False")
            || matches!(self.peek(), Some(Token::Number(_)));
        if starts_literal {
            return Ok((ExprKind::Literal(self.literal()?), None));
        }
        let quoted = matches!(self.peek(), Some(Token::Quoted(_)));
        let (name, span) = self.name()?;
        if name == "index" && self.is_symbol("(") && !quoted {
            return Ok((ExprKind::Position(self.axis()?), None));
        }
        if name == "size" && self.is_symbol("(") && !quoted {
            return Ok((ExprKind::Size(self.axis()?), None));
        }
        if name == "checked" && self.is_symbol("(") && !quoted {
            return Ok((self.checked(depth)?, None));
        }
        if self.is_symbol("(") && !quoted {
            return self.call(&name, span, depth);
        }
        match self.names.get(&name).copied() {
            Some(Named::Scalar(id)) => Ok((ExprKind::Scalar(id), None)),
            Some(Named::Target(target)) => {
                let (offset, subscript) = self.place(depth)?;
                let kind = ExprKind::Access {
                    target,
                    offset,
                    subscript,
                };
                Ok((kind, None))
            }
            None => fail(span, format!("`{name}` is not declared")),
        }
    }

    fn one_operand(&mut self, depth: usize) -> Parsed<Expr> {
        self.symbol("(")?;
        let operand = self.expr(depth + 1)?;
        self.symbol(")")?;
        Ok(operand)
    }

    /// What follows the parenthesis of an operation with two operands.
    fn operation(&mut self, depth: usize) -> Parsed<ExprKind> {
        let a = Box::new(self.expr(depth + 1)?);
        let symbol = match self.peek() {
            Some(Token::Symbol(symbol)) => *symbol,
            Some(Token::Name(word)) if word == "and" => "and",
            Some(Token::Name(word)) if word == "or" => "or",
            _ => return self.expected("an operator"),
        };
        let binary = BinaryOp::ALL.into_iter().find(|op| op.symbol() == symbol);
        let compare = CompareOp::ALL.into_iter().find(|op| op.symbol() == symbol);
        if binary.is_none() && compare.is_none() {
            return self.expected("an operator");
        }
        self.at += 1;
        let b = Box::new(self.expr(depth + 1)?);
        self.symbol(")")?;
        match (binary, compare) {
            (Some(op), _) => Ok(ExprKind::Binary(op, a, b)),
            (None, Some(op)) => Ok(ExprKind::Compare(op, a, b)),
            (None, None) => self.expected("an operator"),
        }
    }

    fn literal(&mut self) -> Parsed<Literal> {
        if self.take_word("True") {
            return Ok(Literal::Bool(true));
        }
        if self.take_word("False") {
            return Ok(Literal::Bool(false));
        }
        let start = self.at;
        let sign = match (self.take_symbol("-"), self.take_symbol("+")) {
            (true, false) => "-",
            _ => "",
        };
        if let Some(Token::Number(digits) | Token::Name(digits)) = self.peek() {
            let text = format!("{sign}{digits}");
            let literal = match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(n), _) => Some(Literal::Int(n)),
                // An integer that is too long is not a real number.
                (_, Ok(x)) if !digits.chars().all(|c| c.is_ascii_digit()) => {
                    Some(Literal::Float(x))
                }
                _ => None,
            };
            if let Some(literal) = literal {
                self.at += 1;
                return Ok(literal);
            }
        }
        self.at = start;
        self.expected("a number")
    }

    fn axis(&mut self) -> Parsed<Axis> {
        self.symbol("(")?;
        for axis in Axis::ALL {
            if self.take_word(&axis.to_string()) {
                self.symbol(")")?;
                return Ok(axis);
            }
        }
        self.expected("`I`, `J` or `K`")
    }

    /// What stands behind `checked`: what has the data dimension, its size, the index.
    fn checked(&mut self, depth: usize) -> Parsed<ExprKind> {
        self.symbol("(")?;
        let (name, span) = self.name()?;
        let Some(Named::Target(of)) = self.names.get(&name).copied() else {
            return fail(span, format!("`{name}` is no field and no temporary"));
        };
        self.symbol(",")?;
        let size = self.size()?;
        self.symbol(",")?;
        let index = self.expr(depth + 1)?;
        self.symbol(")")?;
        let dimension = DataDimension { of, size };
        Ok(ExprKind::Checked(Box::new(index), dimension))
    }

    /// What stands behind the name of a target: its offset, the level if that is computed, indices of data dimensions.
    fn place(&mut self, depth: usize) -> Parsed<(Offset, Option<Box<Subscript>>)> {
        let mut offset = Offset::ZERO;
        let mut subscript = Subscript {
            level: LevelIndex::Constant,
            operands: Vec::new(),
        };
        if self.take_symbol("[") {
            offset.0[0] = self.int32()?;
            self.symbol(",")?;
            offset.0[1] = self.int32()?;
            self.symbol(",")?;
            if self.take_word("at") {
                subscript.level = LevelIndex::Absolute;
                subscript.operands.push(self.expr(depth + 1)?);
            } else {
                offset.0[2] = self.int32()?;
                if self.take_symbol("+") {
                    subscript.level = LevelIndex::Offset;
                    subscript.operands.push(self.expr(depth + 1)?);
                }
            }
            self.symbol("]")?;
            if self.take_symbol("[") {
                loop {
                    subscript.operands.push(self.expr(depth + 1)?);
                    if !self.take_symbol(",") {
                        break;
                    }
                }
                self.symbol("]")?;
            }
        }
        let some = !subscript.operands.is_empty();
        Ok((offset, some.then(|| Box::new(subscript))))
    }

    fn range(&mut self) -> Parsed<Range> {
        let start = match self.is_symbol(":") {
            true => None,
            false => Some(self.bound()?),
        };
        self.symbol(":")?;
        let end = match self.is_symbol(",") || self.is_symbol("]") {
            true => None,
            false => Some(self.bound()?),
        };
        Ok(Range { start, end })
    }

    fn call(&mut self, name: &str, span: Span, depth: usize) -> Parsed<(ExprKind, Option<DType>)> {
        if name == "not" {
            let operand = Box::new(self.one_operand(depth)?);
            return Ok((ExprKind::Unary(UnaryOp::Not, operand), None));
        }
        let dtype = DType::from_name(name);
        if dtype.is_some() || name == "cast" {
            return Ok((ExprKind::Cast(Box::new(self.one_operand(depth)?)), dtype));
        }
        self.symbol("(")?;
        let mut operands = Vec::new();
        if !self.is_symbol(")") {
            operands.push(self.expr(depth + 1)?);
            while self.take_symbol(",") {
                operands.push(self.expr(depth + 1)?);
            }
        }
        self.symbol(")")?;
        if name == "select" {
            let Ok([condition, a, b]) = <[Expr; 3]>::try_from(operands) else {
                return fail(span, "`select` takes 3 operands");
            };
            let kind = ExprKind::Select(Box::new(condition), Box::new(a), Box::new(b));
            return Ok((kind, None));
        }
        match Builtin::from_name(name) {
            Some(builtin) => Ok((ExprKind::Call(builtin, operands), None)),
            None => fail(span, format!("There is no function `{name}`")),
        }
    }
}
