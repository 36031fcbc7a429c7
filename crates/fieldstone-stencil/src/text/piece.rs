//! Expressions as a row of pieces, so that printing needs no recursion: what both forms of text write alike.

use crate::ir::Expr;

/// What is left to write of an expression.
pub(super) enum Piece<'a> {
    Expr(&'a Expr),
    Text(&'static str),
    /// The type of an expression, in the form that has types.
    Type(&'a Expr),
}

impl<'a> Piece<'a> {
    /// `(a symbol b)`
    pub(super) fn infix(a: &'a Expr, symbol: &'static str, b: &'a Expr) -> [Piece<'a>; 7] {
        use Piece::{Expr as Operand, Text};
        [
            Text("("),
            Operand(a),
            Text(" "),
            Text(symbol),
            Text(" "),
            Operand(b),
            Text(")"),
        ]
    }

    /// `name(a, b)`
    pub(super) fn call(
        name: &'static str,
        operands: impl IntoIterator<Item = &'a Expr>,
    ) -> Vec<Piece<'a>> {
        let mut pieces = vec![Piece::Text(name), Piece::Text("(")];
        for (n, operand) in operands.into_iter().enumerate() {
            if n > 0 {
                pieces.push(Piece::Text(", "));
            }
            pieces.push(Piece::Expr(operand));
        }
        pieces.push(Piece::Text(")"));
        pieces
    }
}
