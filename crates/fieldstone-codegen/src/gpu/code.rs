//! Where the kernels of a variant come from: the cache, or LLVM and the device's driver.

use std::sync::Arc;
use std::time::Instant;

use fieldstone_device::{Accelerator, BlockFunction, Code, Limits, Module, Symbol};

use super::draft::Draft;
use super::plan::Plan;
use super::shape::Shape;
use super::stencil::{Gpu, Variant};
use crate::cache::Cache;
use crate::compilation::Origin;
use crate::error::RunError;
use crate::jit::Library;
use crate::layout::Layout;
use crate::llvm::abi::Words;
use crate::target::Target;

impl Gpu {
    /// A variant with blocks of the shapes that are wanted; with others where the driver says that these have too few registers, or
    /// that so many leave others idle.
    pub(super) fn compile(
        &self,
        (layout, draft): &(Layout, Draft),
        wanted: &[Shape],
        domain: Option<[usize; 3]>,
        place: (&Arc<dyn Accelerator>, &Cache),
    ) -> Result<Variant, RunError> {
        let first = self.compile_as(layout, draft, (wanted, wanted), place)?;
        let shapes = draft.shapes(domain, &first.needs(&draft.room));
        let room = &draft.room;
        if shapes == wanted || !shapes.iter().all(|shape| room.holds(shape, domain)) {
            return Ok(first);
        }
        match self.compile_as(layout, draft, (wanted, &shapes), place) {
            Err(RunError::NotCached { .. }) => Ok(first),
            other => other,
        }
    }

    fn compile_as(
        &self,
        layout: &Layout,
        draft: &Draft,
        (wanted, shapes): (&[Shape], &[Shape]),
        (accelerator, cache): (&Arc<dyn Accelerator>, &Cache),
    ) -> Result<Variant, RunError> {
        let start = Instant::now();
        let target = self.target(accelerator.as_ref())?;
        let plan = self.plan_of(layout, draft, shapes, &target);
        let written = start.elapsed();
        let (module, cached) = match target.is_nvidia() {
            true => self.ptx_module(&plan, &target, (accelerator.as_ref(), cache))?,
            false => self.function_module(&plan, &target, (accelerator.as_ref(), cache))?,
        };
        let kernels = 0..plan.module.kernels.len();
        let resources = kernels.map(|number| module.resources(number));
        Ok(Variant {
            origin: Origin {
                cached,
                duration: start.elapsed(),
                written,
            },
            resources: resources
                .filter_map(Result::transpose)
                .collect::<Result<_, _>>()?,
            wanted: wanted.to_vec(),
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
        (accelerator, cache): (&dyn Accelerator, &Cache),
    ) -> Result<(Box<dyn Module>, bool), RunError> {
        let compilation = &self.compilation;
        let (text, label) = (plan.module.text.as_str(), self.label());
        let symbols = symbols(plan, &accelerator.properties().limits);
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
            let (ptx, _) =
                compilation.code((&plan.layout, target, cache), (text, ""), keep, make)?;
            let ptx = String::from_utf8_lossy(&ptx);
            let code = accelerator.assemble(&label, ptx.trim_end_matches('\0'))?;
            let module = load(&code)?;
            Ok((code, module))
        };
        let usable = |code: &[u8]| load(code).ok();
        compilation.code(
            (&plan.layout, target, cache),
            (text, &driver),
            usable,
            assemble,
        )
    }

    /// Functions of the host, for a simulated device.
    fn function_module(
        &self,
        plan: &Plan,
        target: &Target,
        (accelerator, cache): (&dyn Accelerator, &Cache),
    ) -> Result<(Box<dyn Module>, bool), RunError> {
        let compilation = &self.compilation;
        compilation.check_types(target)?;
        let (jit, text) = (&compilation.jit, plan.module.text.as_str());
        let symbols = symbols(plan, &accelerator.properties().limits);
        let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name).collect();
        let usable = |object: &[u8]| jit.load(object, &names).ok();
        let make = || {
            let object = jit.compile(text)?;
            let library = jit.load(&object, &names)?;
            Ok((object, library))
        };
        let (library, cached) =
            compilation.code((&plan.layout, target, cache), (text, ""), usable, make)?;
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

/// The kernels of a plan.
fn symbols<'a>(plan: &'a Plan, limits: &Limits) -> Vec<Symbol<'a>> {
    let kernels = plan.module.kernels.iter();
    let symbols = kernels.map(|kernel| Symbol {
        name: kernel.name.as_str(),
        shared_bytes: match kernel.shape.level_bytes {
            0 => kernel.asked_bytes as u32,
            // How many levels there are shows when it is launched.
            _ => limits.shared_per_block_optin,
        },
    });
    symbols.collect()
}
