//! The engine beside a bare franz-go loop and beside its own limits.
//!
//! `cargo bench --bench engine -- --help` says how to use it. Every line is a
//! figure and a ratio that was measured in the same run.

mod cases;
mod member;

#[path = "../../tests/support/mod.rs"]
mod support;

use std::process::ExitCode;

const HELP: &str = "\
Measures the engine on a real Apache Kafka (started here, or KAFKA_BOOTSTRAP).

usage: cargo bench --bench engine -- [--quick] [--case NAME]... [--runs N] [--list]

  --quick       fewer records and one run of each: at most three minutes
  --case NAME   only this case; may be repeated (--list names them)
  --runs N      runs of each side, in turn; the medians are compared (default 3)
  --list        names the cases and ends

Columns: what was measured, its value, the peer's or the limit's value, the
ratio, and what must be reached. The exit status is 1 when a case fell short.
";

/// What the command line asks for.
pub(crate) struct Plan {
    pub(crate) quick: bool,
    pub(crate) only: Vec<String>,
    pub(crate) runs: usize,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    if args.peek().map(String::as_str) == Some("--member") {
        member::main(&args.nth(1).expect("--member takes a JSON argument"));
        return ExitCode::SUCCESS;
    }
    let mut plan = Plan { quick: false, only: Vec::new(), runs: 3 };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {}
            "--quick" => (plan.quick, plan.runs) = (true, 1),
            "--case" => plan.only.extend(args.next()),
            "--runs" => match args.next().and_then(|n| n.parse().ok()) {
                Some(n) if n > 0 => plan.runs = n,
                _ => return usage("--runs takes a number of at least 1"),
            },
            "--list" => {
                cases::ALL.iter().for_each(|c| println!("{:<12} {}", c.name, c.what));
                return ExitCode::SUCCESS;
            }
            "--help" | "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            other => return usage(&format!("unknown argument {other}")),
        }
    }
    if let Some(unknown) = plan.only.iter().find(|n| !cases::ALL.iter().any(|c| c.name == **n)) {
        return usage(&format!("no case is named {unknown}; --list names them"));
    }
    if cases::run(&plan) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(why: &str) -> ExitCode {
    eprintln!("{why}\n\n{HELP}");
    ExitCode::from(2)
}
