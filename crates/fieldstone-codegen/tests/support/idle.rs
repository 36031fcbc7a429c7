//! A compiler of functions that do nothing.

use fieldstone_codegen::jit::{Jit, JitError, Library};
use fieldstone_codegen::target::Target;
use fieldstone_device::CoreCaches;

/// It and the processor that it says it compiles for.
#[derive(Clone)]
pub struct Idle {
    pub target: Target,
    pub version: &'static str,
}

impl Idle {
    pub fn new() -> Idle {
        Idle {
            target: Target {
                triple: "x86_64-unknown-linux-gnu".to_owned(),
                cpu: "x86-64".to_owned(),
                features: String::new(),
                caches: CoreCaches::default(),
            },
            version: "1",
        }
    }
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
