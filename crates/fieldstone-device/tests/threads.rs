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
        assert_eq!(
            unsafe { libc::sched_setaffinity(0, size_of_val(cores), cores) },
            0
        );
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
    let cores_of_workers = || {
        let counts = Mutex::new(Vec::new());
        pool.run(2, 2, &|worker, _, _| {
            // SAFETY: the set is only read.
            let count = unsafe { libc::CPU_COUNT(&of_this_thread()) };
            counts.lock().unwrap().push((worker, count));
        });
        let mut counts = counts.into_inner().unwrap();
        counts.sort_unstable();
        counts.iter().map(|(_, count)| *count).collect::<Vec<_>>()
    };
    let mut seen = vec![(pool.threads(), cores_of_workers())];
    for cores in [&one, &whole] {
        keep_to(cores);
        seen.push((pool.threads(), cores_of_workers()));
    }
    println!("<{seen:?}>");
}

#[cfg(target_os = "linux")]
#[test]
fn the_pool_keeps_to_the_cores_of_its_caller() {
    let cores = available_threads();
    // Of the set of cores a worker has, a quota takes nothing away.
    let text = output("moving_child", None);
    let whole = format!("({cores}, [");
    let parts: Vec<&str> = text.split("), ").collect();
    assert!(
        parts[0].strip_prefix('[').unwrap().starts_with(&whole),
        "{text}"
    );
    assert_eq!(parts[1], "(1, [1]", "{text}");
    assert_eq!(
        parts[2].trim_end_matches(")]"),
        parts[0].trim_start_matches('['),
        "{text}"
    );
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
