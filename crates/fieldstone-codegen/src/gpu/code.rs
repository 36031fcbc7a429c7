//! Where the kernels of a variant come from: the cache, or LLVM and the device's driver.

use std::sync::Arc;
use std::time::Instant;

use fieldstone_device::{Accelerator, BlockFunction, Code, Module, Symbol};

use super::plan::Plan;
use super::stencil::{Gpu, Variant};
use crate::compilation::Origin;
use crate::error::RunError;
use crate::jit::Library;
use crate::llvm::abi::Words;
use crate::llvm::{Layout, Target};

impl Gpu {
    pub(super) fn compile(
        &self,
        layout: &Layout,
        accelerator: &Arc<dyn Accelerator>,
    ) -> Result<Variant, RunError> {
        let start = Instant::now();
        let target = self.target(accelerator.as_ref())?;
        let plan = self.plan(layout, &target);
        let written = start.elapsed();
        let (module, cached) = match target.is_nvidia() {
            true => self.ptx_module(&plan, &target, accelerator.as_ref())?,
            false => self.function_module(&plan, &target, accelerator.as_ref())?,
        };
        Ok(Variant {
            origin: Origin {
                cached,
                duration: start.elapsed(),
                written,
            },
            shared_bytes: match target.is_nvidia() {
                true => vec![0; plan.module.kernels.len()],
                false => shared_bytes(&plan).collect(),
            },
            words: Words::new(&self.compilation.program.stencil, &plan.schedule),
            plan,
            accelerator: accelerator.clone(),
            module,
        })
    }

    /// Machine code that the driver made of PTX: both are kept, the first for this driver only.
    fn ptx_module(
        &self,
        plan: &Plan,
        target: &Target,
        accelerator: &dyn Accelerator,
    ) -> Result<(Box<dyn Module>, bool), RunError> {
        let compilation = &self.compilation;
        let (text, label) = (plan.module.text.as_str(), self.label());
        let symbols = symbols(plan);
        let load = |code: &[u8]| accelerator.load(&label, Code::Image(code), &symbols);
        let properties = accelerator.properties();
        let driver = format!(
            "assembled by driver {:?} for {:?}",
            properties.driver, properties.compute_capability
        );
        let assemble = || {
            let make = || {
                let ptx = compilation.jit.compile_for(&plan.module.target, text)?;
                Ok((ptx.clone(), ptx))
            };
            let keep = |ptx: &[u8]| Some(ptx.to_vec());
            let (ptx, _) = compilation.code(&plan.layout, target, (text, ""), keep, make)?;
            let ptx = String::from_utf8_lossy(&ptx);
            let code = accelerator.assemble(&label, ptx.trim_end_matches('\0'))?;
            let module = load(&code)?;
            Ok((code, module))
        };
        let usable = |code: &[u8]| load(code).ok();
        compilation.code(&plan.layout, target, (text, &driver), usable, assemble)
    }

    /// Functions of the host, for a simulated device.
    fn function_module(
        &self,
        plan: &Plan,
        target: &Target,
        accelerator: &dyn Accelerator,
    ) -> Result<(Box<dyn Module>, bool), RunError> {
        let compilation = &self.compilation;
        compilation.check_types(target)?;
        let (jit, text) = (&compilation.jit, plan.module.text.as_str());
        let mut symbols = symbols(plan);
        for (symbol, bytes) in symbols.iter_mut().zip(shared_bytes(plan)) {
            symbol.shared_bytes = bytes;
        }
        let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name).collect();
        let usable = |object: &[u8]| jit.load(object, &names).ok();
        let make = || {
            let object = jit.compile(text)?;
            let library = jit.load(&object, &names)?;
            Ok((object, library))
        };
        let (library, cached) = compilation.code(&plan.layout, target, (text, ""), usable, make)?;
        let Library { addresses, keep } = library;
        let functions = addresses.into_iter().map(|address| {
            // SAFETY: the JIT gives addresses of functions of the module, which all have this signature.
            unsafe { std::mem::transmute::<usize, BlockFunction>(address) }
        });
        let code = Code::Functions(functions.collect(), keep);
        let module = accelerator.load(&self.label(), code, &symbols)?;
        Ok((module, cached))
    }
}

/// The kernels of a plan, with shared memory that is part of their code.
fn symbols(plan: &Plan) -> Vec<Symbol<'_>> {
    let kernels = plan.module.kernels.iter();
    let symbols = kernels.map(|kernel| Symbol {
        name: kernel.name.as_str(),
        shared_bytes: 0,
    });
    symbols.collect()
}

/// What each kernel has of shared memory.
fn shared_bytes(plan: &Plan) -> impl Iterator<Item = u32> {
    let kernels = plan.module.kernels.iter();
    kernels.map(|kernel| kernel.shape.shared_bytes as u32)
}
