#!/usr/bin/env python3
"""Validates what `annals audit --sarif` writes against the published schema of SARIF 2.1.0: tests/sarif.py PROGRAM FOLDER

The schema is part of the crate serde-sarif; cargo downloads it into its registry. Nothing of it is copied here. FOLDER is for temporary
files.
"""

import json
import pathlib
import subprocess
import sys

import jsonschema

CRATE = "serde-sarif"
VERSION = "0.8.0"


def schema(folder):
    """The schema, from the crate's source."""
    project = folder / "schema"
    project.mkdir(parents=True, exist_ok=True)
    (project / "lib.rs").touch()
    (project / "Cargo.toml").write_text(
        '[package]\nname = "schema"\nversion = "0.1.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n[workspace]\n'
        f'[dependencies]\n{CRATE} = "={VERSION}"\n'
    )
    command = ["cargo", "metadata", "--format-version", "1", "--manifest-path", project / "Cargo.toml"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    package = next(package for package in metadata["packages"] if package["name"] == CRATE)
    return json.loads((pathlib.Path(package["manifest_path"]).parent / "src/schema.json").read_text())


def main(program, folder):
    folder = pathlib.Path(folder)
    validator = jsonschema.validators.validator_for(published := schema(folder))(published)
    results = 0
    sources = sorted(pathlib.Path("fixtures").glob("*/*.jsonl"))
    # Findings of every shape: with and without files, related facts, sessions that end too early.
    expressions = ["call", "result as r after call { id == r.id }", "prompt and not before call", "never reasoning"]
    for source in sources:
        rules = [word for expression in expressions for word in ("--where", expression)]
        done = subprocess.run(
            [program, "audit", source, *rules, "--rules", "rules/library", "--sarif"], capture_output=True, text=True
        )
        if done.returncode not in (0, 1):
            if "not recognised" in done.stderr:
                continue
            sys.exit(f"{source}: exit status {done.returncode}\n{done.stderr}")
        report = json.loads(done.stdout)
        problems = [f"{source}: /{'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(report)]
        if problems:
            sys.exit("\n".join(problems))
        results += sum(len(run["results"]) for run in report["runs"])
    if results < 100:
        sys.exit(f"only {results} results were validated")
    print(f"{results} results validated against SARIF 2.1.0 ({CRATE} {VERSION})")


if __name__ == "__main__":
    main(*sys.argv[1:])
