//! Prints random stencils as gtscript: `random_stencils FIRST_SEED COUNT`, each behind a line `# seed N`, and once more with
//! functions behind a line `# functions`.

use fieldstone_stencil::generate::{Shape, stencil, text_with_functions};
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
        let stencil = stencil(seed, &Shape::of_seed(seed));
        println!("# seed {seed}");
        println!("{}", gtscript(&stencil));
        println!("# functions");
        println!("{}", text_with_functions(seed, &stencil));
    }
}
