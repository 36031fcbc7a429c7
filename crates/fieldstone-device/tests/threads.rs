//! How many threads there are, seen by processes with different environments.

use fieldstone_device::{Pool, available_threads, requested_threads};
use std::env;
use std::process::Command;

/// What the children of these tests run.
#[test]
#[ignore = "runs in a process of its own, with an environment of its own"]
fn child() {
    match requested_threads() {
        Ok(requested) => println!("<{requested:?} {}>", Pool::global().threads()),
        Err(error) => println!("<{error}; {}>", Pool::global().threads()),
    }
}

/// What the pool makes of fewer and more cores while it is there.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "runs in a process of its own, whose cores are taken away"]
fn moving_child() {
    use std::sync::Mutex;
    use std::time::Duration;

    let of_this_thread = || {
        // SAFETY: a set of no cores is all zeros, and the kernel writes no more bytes than it has.
        unsafe {
            let mut cores: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(
                libc::sched_getaffinity(0, size_of_val(&cores), &raw mut cores),
                0
            );
            cores
        }
    };
    let keep_to = |cores: &libc::cpu_set_t| {
        // SAFETY: the kernel reads the set.
        let result = unsafe { libc::sched_setaffinity(0, size_of_val(cores), cores) };
        assert_eq!(result, 0);
        std::thread::sleep(Duration::from_millis(60));
    };
    let pool = Pool::global();
    let whole = of_this_thread();
    // SAFETY: the set is only read, and only numbers of cores are asked for that it can have.
    let number = (0..1024)
        .find(|n| unsafe { libc::CPU_ISSET(*n, &whole) })
        .unwrap();
    // SAFETY: as above.
    let one = unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(number, &mut one);
        one
    };
    // The cores that each thread of a run may be on, and how many threads there may be.
    let seen = || {
        let counts = Mutex::new(Vec::new());
        pool.run(2, 2, &|worker, _, _| {
            // SAFETY: the set is only read.
            let count = unsafe { libc::CPU_COUNT(&of_this_thread()) };
            counts.lock().unwrap().push((worker, count));
        });
        let mut counts = counts.into_inner().unwrap();
        counts.sort_unstable();
        format!("{counts:?} of {}", pool.threads())
    };
    let before = seen();
    keep_to(&one);
    let on_one_core = seen();
    pool.set_threads(2).unwrap();
    keep_to(&one);
    let two_on_one_core = seen();
    keep_to(&whole);
    let after = seen();
    println!("<{before}; {on_one_core}; {two_on_one_core}; {after}>");
}

#[cfg(target_os = "linux")]
#[test]
fn the_pool_keeps_to_the_cores_of_its_caller() {
    let text = output("moving_child", None);
    let seen: Vec<&str> = text.split("; ").collect();
    let cores = available_threads();
    let [before, on_one_core, two_on_one_core, after] = seen[..] else {
        panic!("{text}");
    };
    assert!(before.ends_with(&format!(" of {cores}")), "{text}");
    assert_eq!(on_one_core, "[(0, 1)] of 1");
    // A worker that has no core of its own stays where it was.
    assert!(two_on_one_core.starts_with("[(0, 1), (1, "), "{text}");
    if cores > 1 {
        assert_eq!(after.split(" of ").next(), before.split(" of ").next());
    }
}

fn seen(value: Option<&str>) -> String {
    output("child", value)
}

fn output(child: &str, value: Option<&str>) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", child, "--ignored", "--nocapture"]);
    match value {
        Some(value) => command.env("FIELDSTONE_NUM_THREADS", value),
        None => command.env_remove("FIELDSTONE_NUM_THREADS"),
    };
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let (_, rest) = output.split_once('<').unwrap();
    rest.split_once('>').unwrap().0.to_owned()
}

#[test]
fn the_environment_sets_the_number_of_threads() {
    let cores = available_threads();
    let wrong = |value: &str| {
        format!(
            "FIELDSTONE_NUM_THREADS is '{value}', but a number of threads must be an integer from 1 to 1024; {cores}"
        )
    };
    for (value, expected) in [
        (None, format!("None {cores}")),
        (Some(""), format!("None {cores}")),
        (Some("3"), "Some(3) 3".to_owned()),
        (Some(" 5 "), "Some(5) 5".to_owned()),
        (Some("0"), wrong("0")),
        (Some("1025"), wrong("1025")),
        (Some("many"), wrong("many")),
        (Some("-2"), wrong("-2")),
    ] {
        assert_eq!(seen(value), expected, "{value:?}");
    }
}
