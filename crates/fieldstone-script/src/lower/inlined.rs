//! How much inlined functions come to. A function that calls another one twice, which calls another one twice, and so on, is a
//! short text of an enormous meaning.

use fieldstone_stencil::ir::Expr;
use fieldstone_stencil::{Diagnostic, Span};

use super::{Lowering, Reported};
use crate::definition::FunctionId;
use crate::rule;

/// Operations and reads that inlined functions may come to; hundreds of times what large models have in one stencil.
const MOST: usize = 1_000_000;

/// What the calls so far came to.
#[derive(Debug, Default)]
pub(super) struct Inlined {
    /// Operations and reads.
    size: usize,
    /// Calls, by function.
    calls: Vec<usize>,
    /// The error, once it is there.
    reported: Option<Reported>,
}

impl Inlined {
    /// Adds an expression.
    pub(super) fn count(&mut self, value: &Expr) {
        let mut todo = vec![value];
        while let Some(node) = todo.pop() {
            self.size += 1;
            if self.size > MOST {
                return;
            }
            todo.extend(node.operands());
        }
    }
}

impl Lowering<'_> {
    /// Counts a call and refuses it where functions came to too much.
    pub(super) fn within_limits(&mut self, id: FunctionId, call: Span) -> Result<(), Reported> {
        if let Some(reported) = self.inlined.reported {
            return Err(reported);
        }
        if self.inlined.calls.len() <= id.0 {
            self.inlined.calls.resize(id.0 + 1, 0);
        }
        self.inlined.calls[id.0] += 1;
        self.inlined.size += 1;
        if self.inlined.size <= MOST {
            return Ok(());
        }
        let diagnostic = self.too_large(call);
        let reported = self.report(diagnostic);
        self.inlined.reported = Some(reported);
        Err(reported)
    }

    fn too_large(&self, call: Span) -> Diagnostic {
        let sources = &self.stencil.sources;
        let outer: Vec<_> = sources.calls(call).collect();
        let place = outer.last().map_or(call, |call| call.span);
        let names: Vec<&str> = self.frames[1..]
            .iter()
            .filter_map(|frame| frame.function)
            .map(|id| self.definition.functions[id.0].name.as_str())
            .collect();
        let chain = match names.as_slice() {
            [first, second, .., last] if names.len() > 4 => {
                format!("`{first}` calls `{second}`, and so on to `{last}`")
            }
            names => names
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(" calls "),
        };
        let calls = &self.inlined.calls;
        let often = calls.iter().enumerate().filter(|(_, count)| **count > 1);
        let most = often.max_by_key(|(_, count)| **count);
        let often = most.map_or(String::new(), |(id, count)| {
            format!(
                "; `{}` is called {count} times",
                self.definition.functions[id].name
            )
        });
        rule::TOO_LARGE
            .at(place, format!("the functions called here come to more than {MOST} operations"))
            .with_label(format!("{chain}{often}"))
            .with_help("what a function gives can be assigned to a name and used several times: `x = f(…)`, then `x + x`")
    }
}
