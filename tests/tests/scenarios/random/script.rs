//! A random scenario file, as a function of its seed.

use serde_json::{Map, Value, json};

/// Whether the process may crash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Crashes {
    None,
    Some,
}

const KEYS: [&str; 3] = ["a/a", "b/b", "z/z"];
const TOOLS: [&str; 2] = ["one", "two"];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        let at = self.below(choices.len() as u64);
        choices[usize::try_from(at).expect("a small number")].clone()
    }
}

/// A script while it is written.
struct Writer {
    random: Random,
    inputs: u64,
    sessions: Vec<String>,
}

/// The scenario of a seed.
pub fn scenario(seed: u64, crashes: Crashes) -> Value {
    let mut writer = Writer { random: Random(seed), inputs: 0, sessions: vec!["main".into()] };
    let mut script: Vec<Value> = KEYS.iter().map(|key| json!({"source": {"key": key, "value": 1}})).collect();
    script.extend(TOOLS.iter().map(|tool| json!({"tool": {"name": tool, "output": "out"}})));
    for _ in 0..4 + writer.random.below(10) {
        script.push(writer.action(crashes));
    }
    let random = &mut writer.random;
    let switch = [json!("keep"), json!("replace")];
    let permissions = [json!([]), json!([["*", "*", "ask"]]), json!([["one", "*", "deny"]])];
    let builtins = [json!([]), json!(["date"]), json!(["date", "instructions", "skills"])];
    json!({
        "scenario": 1,
        "name": format!("random {seed}"),
        "policy": {"agent_switch": random.of(&switch), "model_switch": random.of(&switch)},
        "agents": {"build": {"permissions": random.of(&permissions)}, "plan": {"steps": 2}},
        "models": {
            "test/alpha": {"context": random.of(&[3_000, 200_000]), "output": random.of(&[100, 32_000])},
            "test/beta": {"system_messages": "wrapped"},
        },
        "config": {"compaction": {
            "auto": random.percent(80), "prune": random.percent(50),
            "buffer": random.of(&[100, 20_000]), "keep_tokens": random.of(&[0, 20, 200, 8_000]),
        }},
        "builtins": random.of(&builtins),
        "script": script,
    })
}

impl Writer {
    fn action(&mut self, crashes: Crashes) -> Value {
        match self.random.below(if crashes == Crashes::Some { 24 } else { 21 }) {
            0..=5 => json!({"prompt": self.input()}),
            6 => json!({"run": "idle"}),
            7 => json!({"compact": {}}),
            8..=10 => {
                let to = json!({"to": {"user": self.user()}});
                json!({"revert": self.random.of(&[to.clone(), to, json!("clear"), json!("commit")])})
            }
            11..=13 => {
                let attempts: Vec<Value> = (0..=self.random.below(3)).map(|_| self.attempt()).collect();
                json!({"provider": attempts})
            }
            14 => self.fork(),
            15 => json!({"session": self.random.of(&self.sessions.clone())}),
            16 => json!({"source": self.source()}),
            17 => json!({"tool": self.tool()}),
            18 => {
                let reply = [json!("once"), json!("always"), json!("reject"), json!({"reject": "no"})];
                json!({"replies": [self.random.of(&reply)]})
            }
            19 | 20 => self.aside(),
            _ => {
                json!({"crash": {"at": self.random.of(&["before-append", "after-append", "during-tool", "during-stream"])}})
            }
        }
    }

    fn user(&mut self) -> u64 {
        1 + self.random.below(3)
    }

    fn input(&mut self) -> Value {
        self.inputs += 1;
        let delivery = self.random.of(&["steer", "steer", "queue"]);
        json!({"id": format!("i{}", self.inputs), "text": format!("text {}", self.inputs), "delivery": delivery})
    }

    fn fork(&mut self) -> Value {
        let name = format!("fork-{}", self.sessions.len());
        self.sessions.push(name.clone());
        let mut fork = Map::from_iter([("as".to_owned(), json!(name))]);
        if self.random.percent(50) {
            fork.insert("at".into(), json!({"user": self.user()}));
        }
        json!({ "fork": fork })
    }

    /// What may also happen while something else does.
    fn aside(&mut self) -> Value {
        let key = self.random.of(&KEYS);
        match self.random.below(16) {
            0..=4 => json!({"admit": self.input()}),
            5 => json!({"set": {"key": key, "value": self.random.below(3)}}),
            6 => json!({"unavailable": key}),
            7 => json!({"unregister": key}),
            8 => json!({"source": {"key": key, "value": self.random.below(3), "removed": "gone {value}"}}),
            9 => json!({"agent": self.random.of(&["build", "plan"])}),
            10 => json!({"model": self.random.of(&["test/alpha", "test/beta"])}),
            11 => json!({"move": self.random.of(&["/project", "/project/docs", "/other"])}),
            12 => json!({"file": {"path": "/project/AGENTS.md", "content": self.random.below(3).to_string()}}),
            13 => json!({"cancel": format!("i{}", 1 + self.random.below(6))}),
            14 => json!({"untool": self.random.of(&TOOLS)}),
            _ => json!({self.random.of(&["pin", "unpin"]): {"user": self.user()}}),
        }
    }

    fn asides(&mut self, interrupts: bool) -> Vec<Value> {
        let mut actions: Vec<Value> = (0..=self.random.below(2)).map(|_| self.aside()).collect();
        if interrupts && self.random.percent(25) {
            actions.push(json!({"interrupt": {}}));
        }
        actions
    }

    fn source(&mut self) -> Value {
        let mut source = Map::from_iter([("key".to_owned(), json!(self.random.of(&KEYS)))]);
        if self.random.percent(80) {
            source.insert("value".into(), json!(self.random.below(3)));
        }
        if self.random.percent(30) {
            source.insert("removed".into(), json!("gone {value}"));
        }
        if self.random.percent(40) {
            source.insert("on_load".into(), json!(self.asides(false)));
        }
        source.into()
    }

    fn tool(&mut self) -> Value {
        let gives = [
            json!({"output": "out"}),
            json!({"lines": 3_000}),
            json!({"error": "broken"}),
            json!({"structured": {"a": 1}}),
        ];
        let mut tool = self.random.of(&gives);
        tool["name"] = json!(self.random.of(&TOOLS));
        if self.random.percent(50) {
            tool["during"] = json!(self.asides(true));
        }
        if self.random.percent(20) {
            tool["required"] = json!(["x"]);
        }
        tool
    }

    fn attempt(&mut self) -> Value {
        if self.random.percent(20) {
            let kinds =
                ["rate-limit", "transport", "overflow", "invalid-request", "incomplete-stream", "content-filter"];
            let mut failing = json!({"error": {"kind": self.random.of(&kinds)}});
            if self.random.percent(40) {
                failing["after_text"] = json!("half".repeat(300));
            }
            return failing;
        }
        let mut answer = Map::new();
        if self.random.percent(70) {
            let length = self.random.of(&[3, 40, 2_000, 20_000]);
            answer.insert("text".into(), json!("x".repeat(length)));
        }
        if self.random.percent(50) {
            let calls: Vec<Value> = (0..=self.random.below(2)).map(|_| self.call()).collect();
            answer.insert("calls".into(), json!(calls));
        }
        if self.random.percent(40) {
            answer.insert("during".into(), json!(self.asides(true)));
        }
        answer.into()
    }

    fn call(&mut self) -> Value {
        let tool = self.random.of(&["one", "two", "none"]);
        json!({
            "id": self.random.of(&["c", "c", "d", "c-2"]),
            "tool": tool,
            "input": self.random.of(&[json!({"x": 1}), json!({}), json!("s")]),
        })
    }
}
