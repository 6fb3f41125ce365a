//! `fuzz all|TARGET... [--seed N] [--rounds N] [--seconds N] [--artifacts FOLDER]`: runs fuzz targets, each until its limit or
//! its first failure. `fuzz TARGET --input FILE` repeats one input. Exit status 1: a target failed; 2: wrong use.

use annals_tests::fuzz::{Limits, TARGETS, Target, run, run_one};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "fuzz all|TARGET... [--seed N] [--rounds N] [--seconds N] [--artifacts FOLDER] [--input FILE]";

struct Args {
    targets: Vec<Target>,
    seed: u64,
    limits: Limits,
    artifacts: PathBuf,
    input: Option<PathBuf>,
}

/// Runs the targets that the arguments name.
pub fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let args = match args(arguments) {
        Ok(args) => args,
        Err(problem) => {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!("{problem}\n{USAGE}\ntargets: {}", names.join(", "));
            return ExitCode::from(2);
        }
    };
    let mut failed = false;
    for target in &args.targets {
        match fuzz(*target, &args) {
            Ok(done) => println!("{}: {done}", target.name),
            Err(problem) => {
                failed = true;
                println!("{problem}");
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

fn fuzz(target: Target, args: &Args) -> Result<String, String> {
    if let Some(path) = &args.input {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        return run_one(target, &bytes).map(|()| "fine".into()).map_err(|why| format!("{}: {why:?}", target.name));
    }
    let rounds = run(target, args.seed, args.limits, &args.artifacts).map_err(|failure| failure.to_string())?;
    Ok(format!("{rounds} rounds from seed {} without a failure", args.seed))
}

fn args(given: impl Iterator<Item = String>) -> Result<Args, String> {
    let limits = Limits { time: Duration::from_secs(10), ..Limits::default() };
    let artifacts = PathBuf::from("target/fuzz-failures");
    let mut args = Args { targets: Vec::new(), seed: 1, limits, artifacts, input: None };
    let mut given = given.peekable();
    while let Some(word) = given.next() {
        let mut value = || given.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--seed" => args.seed = number(value()?)?,
            "--rounds" => args.limits = Limits { rounds: number(value()?)?, time: Duration::MAX, ..args.limits },
            "--seconds" => args.limits.time = Duration::from_secs(number(value()?)?),
            "--artifacts" => args.artifacts = value()?.into(),
            "--input" => args.input = Some(value()?.into()),
            "all" => args.targets.extend(TARGETS),
            name => match TARGETS.into_iter().find(|target| target.name == name) {
                Some(target) => args.targets.push(target),
                None => return Err(format!("no target is named {name}")),
            },
        }
    }
    match args.targets.is_empty() {
        true => Err("no target was named".into()),
        false => Ok(args),
    }
}
