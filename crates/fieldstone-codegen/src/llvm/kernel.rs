//! One function for each nest.

use crate::composed::Composition;

use super::builder::{Builder, Needs};
use super::entry::{Context, entry};
use super::loops::Loops;
use super::{columns, rows};

/// The text of a kernel and what it refers to. `composed` is its nest of columns where that reads composed values.
pub(super) fn function(
    name: &str,
    context: &Context<'_>,
    loops: Loops<'_>,
    composed: Option<&Composition>,
) -> (String, Needs) {
    let mut builder = Builder::of(context.target);
    let b = &mut builder;
    let streams = !loops.streamed().is_empty() && context.target.has_fence();
    let entry = match loops {
        Loops::Rows(nest) => {
            let entry = entry(context, b, Loops::Rows(&rows::own_words(nest)));
            rows::rows(name, context, &entry, b, nest);
            entry
        }
        Loops::Columns(nest) => {
            let entry = entry(context, b, loops);
            match composed {
                None => columns::columns(name, context, &entry, b, nest),
                Some(composed) => {
                    let context = Context {
                        program: &composed.program,
                        schedule: &composed.schedule,
                        ..*context
                    };
                    columns::columns(name, &context, &entry, b, &composed.nest);
                }
            }
            entry
        }
    };
    if streams {
        // Other threads see what was stored past the caches only behind a fence, which waits for all stores.
        b.when(&entry.stream, |b| b.call_void("llvm.x86.sse.sfence", &[]));
    }
    builder.effect("ret void");
    let parts = std::mem::take(&mut builder.functions);
    let (body, needs) = builder.finish();
    let text = format!(
        "{parts}define void @{name}(ptr noalias readonly %words, i64 %begin, i64 %end, ptr noalias %scratch) #0 {{\n{body}}}\n\n"
    );
    (text, needs)
}
