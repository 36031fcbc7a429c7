//! No text makes the front end panic, and every error of every text can be rendered.

mod fixture;

use std::fs;
use std::path::Path;

use fieldstone_script::{Definition, compile};
use fieldstone_stencil::Program;
use fieldstone_stencil::types::{Precision, TOO_DEEP};

/// A small generator of pseudo-random numbers (xorshift), so that every run tests the same texts.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn definitions() -> Vec<Definition> {
    let mut files = Vec::new();
    for folder in ["tests/errors", "tests/stencils"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        files.extend(
            fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path()),
        );
    }
    files.sort();
    files
        .iter()
        // Most of what that one becomes is just small enough to be compiled, which takes its time.
        .filter(|file| !file.ends_with("FS0310_doubling.py"))
        .map(|file| fixture::definition("text.py", &fs::read_to_string(file).unwrap()))
        .collect()
}

/// Cuts a text where a word, a number or a sign begins.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric() || first == '_';
        let end = if is_word || first == ' ' {
            let same = |c: char| {
                if is_word {
                    c.is_alphanumeric() || c == '_'
                } else {
                    c == first
                }
            };
            rest.find(|c| !same(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        words.push(&rest[..end]);
        rest = &rest[end..];
    }
    words
}

/// A slip of the finger: a character doubled, dropped, or swapped with its neighbour; another number.
fn misspelt(word: &str, random: &mut Random) -> String {
    let mut characters: Vec<char> = word.chars().collect();
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return ["0", "1", "7", "100000", "99999999999999999999"][random.below(5)].to_string();
    }
    let (n, last) = (random.below(characters.len()), characters.len() - 1);
    match random.below(3) {
        0 if last > 0 => drop(characters.remove(n)),
        1 => characters.insert(n, characters[n]),
        _ => characters.swap(n, (n + 1).min(last)),
    }
    characters.into_iter().collect()
}

/// Removes, doubles, replaces, swaps or misspells a few words.
fn mutated(text: &str, random: &mut Random) -> String {
    let original = words(text);
    let slips: Vec<String> = (0..3)
        .map(|_| misspelt(original[random.below(original.len())], random))
        .collect();
    let mut words = original.clone();
    for _ in 0..=random.below(3) {
        let (n, m) = (random.below(words.len()), random.below(words.len()));
        match random.below(6) {
            4 | 5 => {
                let slip = random.below(slips.len());
                words[n] = &slips[slip];
            }
            0 if words.len() > 1 => drop(words.remove(n)),
            1 => words.insert(m, words[n]),
            2 => words[n] = original[random.below(original.len())],
            _ => words.swap(n, m),
        }
    }
    words.concat()
}

/// Texts made of each file; by hand, `FIELDSTONE_MUTATIONS` asks for more.
fn rounds() -> usize {
    let given = std::env::var("FIELDSTONE_MUTATIONS").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(60)
}

#[test]
fn mutated_texts_compile_or_give_errors() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for definition in definitions() {
        for _ in 0..rounds() {
            let mut definition = definition.clone();
            let text = match random.below(definition.functions.len() + 1) {
                0 => &mut definition.source.text,
                n => &mut definition.functions[n - 1].source.text,
            };
            *text = mutated(text, &mut random);
            let program = compile(&definition)
                .and_then(|stencil| Program::new(stencil, Precision::default()));
            if let Err(diagnostics) = program {
                assert!(!diagnostics.to_string().contains("FS0450"), "{diagnostics}");
                assert!(
                    diagnostics.to_string().starts_with("error[FS"),
                    "{}",
                    definition.source.text
                );
                for found in &diagnostics.diagnostics {
                    let span = found.primary.span;
                    let source = diagnostics.sources.get(span.source).expect("a place");
                    let length = source.text.len() as u32;
                    assert!(span.start <= span.end && span.end <= length, "{found:?}");
                    assert!(
                        span.start < span.end,
                        "nothing is marked: {}",
                        found.render(&diagnostics.sources)
                    );
                }
            }
        }
    }
}

/// Functions that call each other `count` deep; each result has `step`, where `F` stands for the result of the one below.
fn functions(count: usize, step: &str) -> String {
    let mut text = "def f0(x):\n    return x[1, 0, 0]\n".to_string();
    for n in 1..count {
        let step = step.replace('F', &format!("f{}(x)", n - 1));
        text += &format!("def f{n}(x):\n    return {step}\n");
    }
    text
}

#[test]
fn what_is_too_deep_or_too_long_is_an_error_on_a_stack_of_16_mib() {
    let row = |operator: &str, count: usize| vec!["inp"; count].join(operator);
    let choice = |condition: String| format!("1.0 if {condition} else 0.0");
    let plus = |count: usize| functions(30, &format!("F{}", " + x".repeat(count)));
    let cases = [
        ("sum", String::new(), row(" + ", 1_000)),
        ("powers", String::new(), row(" ** ", 1_000)),
        ("comparisons", String::new(), choice(row(" < ", 100_000))),
        (
            "and",
            String::new(),
            choice(row(" > 0.0 and ", 100_000) + " > 0.0"),
        ),
        ("min", String::new(), format!("min({})", row(", ", 100_000))),
        ("signs", String::new(), "-".repeat(1_000) + "inp"),
        ("sums in functions", plus(390), "f29(inp)".to_string()),
        (
            "brackets in functions",
            functions(30, &format!("{}F{}", "x - (".repeat(20), ")".repeat(20))),
            "f29(inp)".to_string(),
        ),
    ];
    for (name, functions, value) in cases {
        let text = format!(
            "{functions}def stencil(inp: Field[float], out: Field[float]):\n    \
             with computation(PARALLEL), interval(...):\n        out = {value}\n"
        );
        let definition = fixture::definition("deep.py", &text);
        let compiled = std::thread::Builder::new()
            .stack_size(16 << 20)
            .spawn(move || {
                compile(&definition)
                    .and_then(|stencil| Program::new(stencil, Precision::default()))
                    .map(drop)
            })
            .expect("there is room for a thread")
            .join()
            .expect("nothing panics");
        let errors = compiled.expect_err(name);
        let codes = errors.diagnostics.iter().map(|found| found.code);
        assert!(codes.clone().count() > 0, "{name}");
        for code in codes {
            assert_eq!(code, TOO_DEEP, "{name}: {errors}");
        }
    }
}
