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

fn seen(value: Option<&str>) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
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
