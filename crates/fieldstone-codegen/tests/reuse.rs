//! When code is found in the cache: if nothing has changed that it follows from.

mod support;

use std::sync::Arc;

use fieldstone_codegen::cache::Cache;
use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::jit::{Jit, JitError, Library};
use fieldstone_codegen::llvm::{Layout, Target};
use fieldstone_codegen::native::{Native, Reuse};
use fieldstone_device::CoreCaches;
use fieldstone_stencil::Axis;
use support::program;

/// A compiler of functions that do nothing.
#[derive(Clone)]
struct Idle {
    target: Target,
    version: &'static str,
}

extern "C" fn idle(_: *const u64, _: i64, _: i64, _: *mut u8) {}

impl Jit for Idle {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn version(&self) -> String {
        self.version.to_owned()
    }

    fn compile(&self, _: &str) -> Result<Vec<u8>, JitError> {
        Ok(b"code".to_vec())
    }

    fn assembly(&self, _: &str) -> Result<String, JitError> {
        unreachable!("nobody reads it")
    }

    fn compile_for(&self, _: &Target, _: &str) -> Result<Vec<u8>, JitError> {
        unreachable!("there is no accelerator")
    }

    fn load(&self, _: &[u8], names: &[&str]) -> Result<Library, JitError> {
        let addresses = names.iter().map(|_| idle as *const () as usize);
        Ok(Library {
            addresses: addresses.collect(),
            keep: Box::new(()),
        })
    }
}

const COPY: &str = "\
def copy(a, b):
    with computation(PARALLEL), interval(...):
        b = a
";

/// Whether the code of a stencil was in the cache.
fn is_cached(jit: &Idle, cache: &Cache) -> bool {
    let program = program(COPY, &["IJK float64"; 2]);
    let jit = Arc::new(jit.clone());
    let choices = Choices::default();
    let made = Native::new(
        &program,
        "cpu_ifirst",
        jit,
        cache.clone(),
        Reuse::Yes,
        choices,
        false,
    );
    let variant = made.unwrap().variant(&Layout(vec![Some(Axis::I); 2]));
    variant.unwrap().origin.cached
}

#[test]
fn another_compiler_and_another_processor_have_code_of_their_own() {
    let directory = std::env::temp_dir().join(format!("fieldstone-reuse-{}", std::process::id()));
    let cache = Cache::at(&directory, None);
    let usual = Idle {
        target: Target {
            triple: "x86_64-unknown-linux-gnu".to_owned(),
            cpu: "x86-64".to_owned(),
            features: String::new(),
            caches: CoreCaches::default(),
        },
        version: "1",
    };
    type Change = fn(&mut Idle);
    let changes: [(&str, Change); 5] = [
        ("compiler", |jit| jit.version = "2"),
        ("processor", |jit| jit.target.cpu = "znver4".to_owned()),
        ("instructions", |jit| {
            jit.target.features = "+avx512f".to_owned();
        }),
        // The sizes of tiles go by these.
        ("first-level cache", |jit| jit.target.caches.first *= 2),
        ("second-level cache", |jit| jit.target.caches.second *= 2),
    ];
    assert!(!is_cached(&usual, &cache));
    for (what, change) in changes {
        let mut other = usual.clone();
        change(&mut other);
        assert!(!is_cached(&other, &cache), "another {what}");
        assert!(is_cached(&other, &cache), "the same {what} again");
    }
    assert!(is_cached(&usual, &cache));
    std::fs::remove_dir_all(directory).unwrap();
}
