//! Prints random stencils as gtscript: `random_stencils FIRST_SEED COUNT`, each behind a line `# seed N`.

use fieldstone_stencil::generate::{Shape, stencil};
use fieldstone_stencil::text::gtscript;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let (Some(Ok(first)), Some(Ok(count)), None) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: random_stencils FIRST_SEED COUNT");
        std::process::exit(2);
    };
    for seed in first..first + count {
        println!("# seed {seed}");
        println!("{}", gtscript(&stencil(seed, &Shape::of_seed(seed))));
    }
}
