//! How often a person is asked: a day of ordinary work in a sandbox, and a day without one.

use crate::run::person::Person;
use crate::run::terminal::Terminal;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const CHAT: &str = "openai-chat";

/// A call of the day, and what is typed at each question about it.
struct Step {
    tool: &'static str,
    input: Value,
    typed: Vec<&'static str>,
}

fn bash(command: &str) -> Step {
    Step { tool: "bash", input: json!({ "command": command }), typed: Vec::new() }
}

fn write(path: &str, content: &str) -> Step {
    Step { tool: "write", input: json!({"path": path, "content": content}), typed: Vec::new() }
}

fn edit(path: &str, old: &str, new: &str) -> Step {
    Step { tool: "edit", input: json!({"path": path, "old": old, "new": new}), typed: Vec::new() }
}

impl Step {
    fn asked(mut self, typed: &'static str) -> Self {
        self.typed.push(typed);
        self
    }

    fn outside(mut self) -> Self {
        self.input["outside"] = true.into();
        self
    }
}

/// Whether a program is there and works.
fn works(program: &str) -> bool {
    Command::new(program).arg("--version").output_watched().is_ok_and(|output| output.status.success())
}

/// The day's calls: one of them for each answer of the model.
fn day() -> Vec<Step> {
    let lib = "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n";
    let test = "#[test]\nfn adds() {\n    assert_eq!(shop::add(1, 2), 3);\n}\n";
    let unit =
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(1 + 1, 2)\n";
    let mut steps = vec![
        bash("git init -q -b main . && git status --short"),
        bash("ls -la && cat .gitignore"),
        write("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n").asked("a"),
        bash("mkdir -p src tests"),
        write("src/lib.rs", lib),
        write("tests/adds.rs", test),
        edit("src/lib.rs", "a + b", "a.wrapping_add(b)"),
        bash("cargo test --offline 2>&1 | tail -20"),
        bash("cargo build --offline --release"),
        bash("git add -A && git commit -q -m 'Add the shop (it works)'"),
        bash("git log --oneline | head -5; git diff HEAD --stat"),
        bash("sed -i 's/wrapping_add/saturating_add/' src/lib.rs && git diff"),
        bash("for f in src/*.rs; do wc -l \"$f\"; done > lines.txt; cat lines.txt"),
        bash("find . -path ./target -prune -o -name '*.rs' -exec grep -n fn {} +"),
        bash("git checkout -q -b feature && git commit -q -am \"Saturate $(date +%Y)\""),
        bash("python3 - <<'END'\nimport json\njson.dump({'a': 1}, open('data.json', 'w'))\nEND"),
        write("test_shop.py", unit),
        bash("python3 -m unittest -q"),
        bash("test -f data.json && rm -rf data.json __pycache__ lines.txt"),
        bash("printf 'test:\\n\\t@echo made\\n' > Makefile && make test"),
        bash("git stash -q -u && git stash pop -q && git status --short"),
        bash("tar cf /tmp/annals-workday-$$.tar src && rm /tmp/annals-workday-$$.tar"),
        bash("sleep 0.2 & wait; echo done"),
        bash("git add -A; git commit -q -m More; git checkout -q main; git merge -q feature"),
    ];
    if works("npm") {
        steps.push(write("package.json", r#"{"name": "shop", "scripts": {"test": "node -e 'console.log(42)'"}}"#));
        steps.push(bash("npm test"));
    }
    // What needs more than the sandbox gives: the remote lies outside of the project, which is asked for as well.
    steps.push(bash("git push -q ../remote main").outside().asked("y").asked("y"));
    steps.push(edit("Makefile", "made", "made it"));
    steps
}

/// Everything recorded of one kind.
fn recorded(person: &Person, kind: &str) -> Vec<Value> {
    fn gather(value: &Value, kind: &str, found: &mut Vec<Value>) {
        match value {
            Value::Object(fields) if fields.get("type").is_some_and(|name| name == kind) => found.push(value.clone()),
            Value::Object(fields) => fields.values().for_each(|value| gather(value, kind, found)),
            Value::Array(items) => items.iter().for_each(|value| gather(value, kind, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for line in person.annals(&["export", "@last"]).out.lines() {
        gather(&serde_json::from_str(line).unwrap_or_default(), kind, &mut found);
    }
    found
}

/// Plays steps on a terminal; gives how often was asked.
fn played(person: &Person, model: &Model, steps: Vec<Step>) -> usize {
    let script = steps.iter().map(|step| Says::Calls("", vec![("c", step.tool, step.input.clone())]));
    model.then(script.chain([Says::Text("That was the day.")]).collect::<Vec<_>>());
    let mut terminal = Terminal::open(person, &["run", "do the work of today"]);
    let mut questions = 0;
    for step in &steps {
        for typed in &step.typed {
            questions += 1;
            terminal.expect("n WHY no, because › ");
            terminal.send(&format!("{typed}\r"));
        }
    }
    terminal.expect("That was the day.");
    assert_eq!(terminal.ended(), 0, "{}", terminal.shown());
    questions
}

fn person(model: &Model, settings: &str) -> Person {
    let mut person = Person::with_model(model.url(), CHAT);
    let file = person.home().join(".config/annals/config.toml");
    let before = std::fs::read_to_string(&file).expect("a file");
    person.configure(&format!("{before}\n{settings}"));
    for role in ["AUTHOR", "COMMITTER"] {
        person.set(&format!("GIT_{role}_NAME"), "Ada");
        person.set(&format!("GIT_{role}_EMAIL"), "ada@example.org");
    }
    // Cargo may be a launcher that looks for its toolchains at home.
    for (name, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(usual));
        let folder = std::env::var_os(name).map(Into::into).or(home.filter(|folder| folder.is_dir()));
        if let Some(folder) = folder {
            person.set(name, &folder.to_string_lossy());
        }
    }
    person.write(".gitignore", "target\n");
    let remote = Command::new("git").args(["init", "-q", "--bare", "remote"]).current_dir(person.folder()).status();
    assert!(remote.is_ok_and(|status| status.success()));
    person
}

#[test]
fn a_day_of_work_in_a_sandbox_asks_fewer_than_ten_questions() {
    annals_tests::needs!("python3");
    let model = Model::start([]).expect("a port");
    let person = person(&model, "[sandbox]\nmode = \"workspace-write\"\n");
    let steps = day();
    let count = steps.len();
    let expected = played(&person, &model, steps);
    let questions = recorded(&person, "permission.asked").len();
    println!("{count} calls, {questions} questions");
    assert_eq!(questions, expected);
    assert!(count > 25 && questions < 10);
    let settled = recorded(&person, "tool.settled");
    assert_eq!(settled.len(), count);
    for (at, settled) in settled.iter().enumerate() {
        let exit = &settled["structured"]["exit"];
        assert!(exit.is_null() || *exit == 0, "call {at}: {settled:#}");
        assert_ne!(settled["outcome"]["type"], "failed", "call {at}: {settled:#}");
    }
}

#[test]
fn a_day_without_a_sandbox_asks_once_for_each_kind_of_command_and_the_next_day_not_at_all() {
    annals_tests::needs!("python3");
    let model = Model::start([]).expect("a port");
    let person = person(&model, "");
    let commands = || {
        ["git status --short", "git status", "ls -l", "ls -l /", "git log -1 --format=x || git status", "ls -l | wc -l"]
            .map(bash)
    };
    let mut first: Vec<Step> = vec![bash("git init -q .").asked("y")];
    // What is listed elsewhere is asked for by itself.
    let answers = [Some("w"), None, Some("w"), Some("w"), Some("w git *"), Some("w")];
    first.extend(
        commands().into_iter().zip(answers).map(|(step, typed)| Step { typed: typed.into_iter().collect(), ..step }),
    );
    first.push(write("a.txt", "a").asked("w"));
    first.push(write("b.txt", "b"));
    let expected = played(&person, &model, first);
    assert_eq!(recorded(&person, "permission.asked").len(), expected);
    let mut second: Vec<Step> = commands().into_iter().collect();
    second.push(write("c.txt", "c"));
    assert_eq!(played(&person, &model, second), 0);
    assert_eq!(recorded(&person, "permission.asked"), Vec::<Value>::new());
    assert!(person.project().join("c.txt").exists());
}
