//! The schedule as text.

use std::fmt;

use crate::grid::Area;
use crate::ir::Stencil;

use super::{Apart, Causes, ColumnNest, LevelNest, Nest, Placement, RowNest, Schedule, Stage};

impl Schedule {
    /// The schedule as text, with the names of `stencil`, which it was built for.
    pub fn display<'a>(&'a self, stencil: &'a Stencil) -> impl fmt::Display + 'a {
        Printed {
            schedule: self,
            stencil,
        }
    }
}

struct Printed<'a> {
    schedule: &'a Schedule,
    stencil: &'a Stencil,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "schedule of {} for fields contiguous along {}",
            self.stencil.name, self.schedule.neighbours.contiguous
        )?;
        for (number, nest) in self.schedule.nests.iter().enumerate() {
            match nest {
                Nest::Rows(nest) => self.rows(f, number, nest)?,
                Nest::Columns(nest) => self.columns(f, number, nest)?,
                Nest::Levels(nest) => self.levels(f, number, nest)?,
            }
            self.causes(f, &self.schedule.causes[number])?;
        }
        for (temporary, placement) in self
            .stencil
            .temporaries
            .iter()
            .zip(&self.schedule.temporaries)
        {
            writeln!(f, "temporary {}: {placement}", temporary.name)?;
        }
        Ok(())
    }
}

impl Printed<'_> {
    fn rows(&self, f: &mut fmt::Formatter<'_>, number: usize, nest: &RowNest) -> fmt::Result {
        let roles = nest.roles;
        let lanes = match roles.are_panels() {
            true => format!(", vectors along {}", roles.lanes),
            false => String::new(),
        };
        writeln!(
            f,
            "nest {number}: rows along {}{lanes}, sliding along {}, blocks of {}, extent {}",
            roles.vector, roles.slide, roles.block, nest.extent
        )?;
        for (row_loop, stages) in nest.loops() {
            if !row_loop.fused {
                self.stages(f, "  ", stages)?;
                continue;
            }
            writeln!(f, "  loop over a row")?;
            self.stages(f, "    ", stages)?;
        }
        Ok(())
    }

    fn columns(&self, f: &mut fmt::Formatter<'_>, number: usize, nest: &ColumnNest) -> fmt::Result {
        writeln!(
            f,
            "nest {number}: columns, vectors along {}, extent {}",
            nest.vector, nest.extent
        )?;
        for sweep in &nest.sweeps {
            writeln!(f, "  {:?} sweep", sweep.order)?;
            for (_, stages) in &sweep.sections {
                self.stages(f, "    ", stages)?;
            }
        }
        Ok(())
    }

    fn levels(&self, f: &mut fmt::Formatter<'_>, number: usize, nest: &LevelNest) -> fmt::Result {
        writeln!(f, "nest {number}: level by level, {:?}", nest.order)?;
        for nest in nest.sections.iter().flat_map(|(_, nests)| nests) {
            self.stages(f, "    ", &nest.stages)?;
        }
        Ok(())
    }

    fn causes(&self, f: &mut fmt::Formatter<'_>, causes: &Causes) -> fmt::Result {
        if let Some(apart) = &causes.apart {
            let Apart { rows, columns } = apart;
            writeln!(
                f,
                "  not in the nest before: as rows, {}; as columns, {}",
                rows.display(self.stencil),
                columns.display(self.stencil)
            )?;
        }
        if let Some(levels) = &causes.levels {
            writeln!(f, "  not columns: {}", levels.display(self.stencil))?;
        }
        Ok(())
    }

    fn stages(&self, f: &mut fmt::Formatter<'_>, indent: &str, stages: &[Stage]) -> fmt::Result {
        stages.iter().try_for_each(|stage| {
            let written: Vec<&str> = stage
                .statements
                .iter()
                .map(crate::visit::Accesses::of)
                .flat_map(|accesses| accesses.written().collect::<Vec<_>>())
                .map(|target| self.stencil.target_name(target))
                .collect();
            let area = match stage.area {
                Area::FULL => String::new(),
                area => format!(", region {area}"),
            };
            writeln!(
                f,
                "{indent}stage on levels {}, extent {}{area}: {}",
                stage.interval,
                stage.extent,
                written.join(", ")
            )
        })
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Unused => write!(f, "unused"),
            Placement::Register => write!(f, "registers"),
            Placement::Carried { nest } => {
                write!(
                    f,
                    "registers, from vector to vector of a row in nest {nest}"
                )
            }
            Placement::Ring { nest, rows, extent } => {
                write!(
                    f,
                    "ring of {rows} rows in nest {nest}, {extent} around the tile"
                )
            }
            Placement::Column { nest, window: None } => write!(f, "column block in nest {nest}"),
            Placement::Column {
                nest,
                window: Some(levels),
            } => write!(f, "{levels} levels of a column block in nest {nest}"),
            Placement::Array { extent, zeroed } => {
                let zeroed = if *zeroed { ", zeroed" } else { "" };
                write!(f, "array, {extent} around the domain{zeroed}")
            }
        }
    }
}
