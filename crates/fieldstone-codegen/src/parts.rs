//! A module of LLVM IR in parts that are compiled at the same time.
//!
//! LLVM takes one function after the other, so that a module takes as long in parts as in one piece. Only what is inlined is made
//! for each part anew.

use std::collections::{HashMap, HashSet};

/// Bytes of text that are worth a thread of their own: LLVM takes some 20 milliseconds for as many.
const WORTH: usize = 16 << 10;

/// At most so many modules that make up one, in the order of its text; only the module itself where it is short or cannot be split.
pub fn split(module: &str, most: usize) -> Vec<String> {
    let most = most.min(module.len() / WORTH);
    if most < 2 {
        return vec![module.to_owned()];
    }
    let whole = Module::read(module);
    let parts = whole.distributed(most);
    if parts.len() < 2 || whole.has_variables() {
        return vec![module.to_owned()];
    }
    parts.iter().map(|part| whole.text_of(part)).collect()
}

/// A function with a body.
struct Definition<'a> {
    name: &'a str,
    text: &'a str,
    /// Whether LLVM puts it wherever it is called.
    inlined: bool,
}

struct Module<'a> {
    definitions: Vec<Definition<'a>>,
    numbers: HashMap<&'a str, usize>,
    /// Declarations, constants, attributes.
    common: Vec<&'a str>,
}

impl<'a> Module<'a> {
    fn read(text: &'a str) -> Module<'a> {
        let (mut definitions, mut common) = (Vec::new(), Vec::new());
        let mut rest = text;
        while !rest.is_empty() {
            let end = match rest.starts_with("define ") {
                true => rest.find("\n}\n").map(|end| end + 3),
                false => rest.find('\n').map(|end| end + 1),
            };
            let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
            match Definition::read(piece) {
                Some(definition) => definitions.push(definition),
                None => common.push(piece),
            }
            rest = behind;
        }
        let names = definitions.iter().map(|definition| definition.name);
        let numbers = names.enumerate().map(|(number, name)| (name, number));
        Module {
            numbers: numbers.collect(),
            definitions,
            common,
        }
    }

    /// Whether functions share memory of the module.
    fn has_variables(&self) -> bool {
        (self.common.iter()).any(|line| line.starts_with('@') && !line.contains(" constant "))
    }

    /// Which functions make up each part, the longest ones first and always where there is least: the others behind a part's own are
    /// inlined there.
    fn distributed(&self, parts: usize) -> Vec<Vec<usize>> {
        let mut own: Vec<usize> = (0..self.definitions.len())
            .filter(|number| !self.definitions[*number].inlined)
            .collect();
        own.sort_by_key(|number| std::cmp::Reverse(self.definitions[*number].text.len()));
        let mut lengths = vec![0; parts.min(own.len())];
        let mut found = vec![Vec::new(); lengths.len()];
        for number in own {
            let least = (0..lengths.len()).min_by_key(|part| lengths[*part]);
            let least = least.expect("there are as many parts as functions, or fewer");
            lengths[least] += self.definitions[number].text.len();
            found[least].push(number);
        }
        for part in &mut found {
            part.sort_unstable();
            let inlined = self.called(part).into_iter();
            let inlined: Vec<usize> = inlined
                .filter(|number| self.definitions[*number].inlined)
                .collect();
            part.extend(inlined);
        }
        found
    }

    /// Functions that some call, or what LLVM inlines there, in the order of the text.
    fn called(&self, callers: &[usize]) -> Vec<usize> {
        let mut found = HashSet::new();
        let mut callers = callers.to_vec();
        while let Some(caller) = callers.pop() {
            for number in self.mentioned(caller) {
                if found.insert(number) && self.definitions[number].inlined {
                    callers.push(number);
                }
            }
        }
        let mut found: Vec<usize> = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    fn mentioned(&self, caller: usize) -> impl Iterator<Item = usize> + '_ {
        let names = self.definitions[caller].text.split('@').skip(1);
        let names = names.filter_map(|text| self.numbers.get(name(text)).copied());
        names.filter(move |number| *number != caller)
    }

    fn text_of(&self, part: &[usize]) -> String {
        let mut text = String::new();
        for number in part {
            text.push_str(&self.definitions[*number].shown());
        }
        for number in self.called(part) {
            if !part.contains(&number) {
                text.push_str(&self.definitions[number].declaration());
            }
        }
        self.common.iter().for_each(|line| text.push_str(line));
        text
    }
}

impl<'a> Definition<'a> {
    fn read(text: &'a str) -> Option<Definition<'a>> {
        let head = text.strip_prefix("define ")?.split('\n').next()?;
        Some(Definition {
            name: name(head.split('@').nth(1)?),
            text,
            inlined: head.contains(" alwaysinline "),
        })
    }

    /// Its text, so that other parts may call it.
    fn shown(&self) -> String {
        match self.inlined {
            true => self.text.to_owned(),
            false => self.text.replacen("define internal ", "define hidden ", 1),
        }
    }

    /// The line with which another part calls it.
    fn declaration(&self) -> String {
        let head = self.text.split(" {\n").next().unwrap_or_default();
        let head = head.trim_start_matches("define ");
        let head = head.trim_start_matches("internal ");
        format!("declare hidden {head}\n")
    }
}

/// The name at the begin of a text.
fn name(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_.$-".contains(c)));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(head: &str, calls: &[&str], lines: usize) -> String {
        let calls: String = calls
            .iter()
            .map(|name| format!("  call void @{name}()\n"))
            .collect();
        let filler = "  %x = add i64 1, 2\n".repeat(lines);
        format!("{head} {{\nentry:\n{calls}{filler}  ret void\n}}\n\n")
    }

    /// A kernel that calls `near`, which is inlined, and `far`, which is not.
    fn module() -> String {
        [
            function("define internal void @far() noinline #0", &["near"], 2000),
            function("define void @kernel() #0", &["far", "near"], 3000),
            function(
                "define internal void @near() alwaysinline #0",
                &["llvm.x"],
                10,
            ),
            String::from("declare void @llvm.x()\nattributes #0 = { nounwind }\n"),
        ]
        .concat()
    }

    #[test]
    fn parts_declare_what_they_call_and_repeat_what_is_inlined() {
        let parts = split(&module(), 4);
        assert_eq!(parts.len(), 2);
        let [kernel, far] = [&parts[0], &parts[1]];
        assert!(kernel.contains("define void @kernel() #0 {"));
        assert!(kernel.contains("declare hidden void @far() noinline #0\n"));
        assert!(far.contains("define hidden void @far() noinline #0 {"));
        assert!(!far.contains("@kernel"));
        for part in parts {
            assert!(part.contains("define internal void @near() alwaysinline #0 {"));
            assert!(part.ends_with("declare void @llvm.x()\nattributes #0 = { nounwind }\n"));
        }
    }

    #[test]
    fn short_modules_and_those_with_variables_stay_whole() {
        let module = module();
        assert_eq!(split(&module, 1).concat(), module);
        let variable = format!("{module}@shared = internal global [8 x i8] poison\n");
        assert_eq!(split(&variable, 4).concat(), variable);
        let short = function("define void @kernel() #0", &[], 10).repeat(2);
        assert_eq!(split(&short, 4).concat(), short);
    }
}
