//! Commands of the tools in a sandbox. This program is its own launcher, so the tests are started by `libtest-mimic`.

use annals_core::event::{Effect, Rule};
use annals_core::{NoBlobs, Seq, SessionId};
use annals_runtime::tools::{
    CallContext, CallInput, Cancel, Demand, Past, Permits, ProgressSender, ToolOutput, ToolRegistry,
};
use annals_tools::{Confinement, Launcher, SandboxLimits, SandboxSettings, Workplace, launch, tools};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;

type Tested = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "launcher") {
        return launch(arguments);
    }
    let trials = vec![
        trial("a_command_is_confined_and_says_so", |root, program| {
            Box::pin(a_command_is_confined_and_says_so(root, program))
        }),
        trial("a_command_outside_is_asked_for", |root, program| {
            Box::pin(a_command_outside_is_asked_for(root, program))
        }),
        trial("without_the_promised_sandbox_nothing_runs", |root, _| {
            Box::pin(without_the_promised_sandbox_nothing_runs(root))
        }),
        trial("variables_are_an_allow_list", |root, program| Box::pin(variables_are_an_allow_list(root, program))),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

type Running<'a> = Pin<Box<dyn Future<Output = Tested> + 'a>>;

/// A test with a project and a home of its own; its paths are those of the folder and of this program.
fn trial(name: &'static str, test: impl for<'a> Fn(&'a Path, &'a Path) -> Running<'a> + Send + 'static) -> Trial {
    Trial::test(name, move || {
        let tested = || -> Tested {
            let folder = tempfile::tempdir()?;
            let root = folder.path().canonicalize()?;
            for path in ["project/.git/hooks", "home/.ssh"] {
                std::fs::create_dir_all(root.join(path))?;
            }
            std::fs::write(root.join("home/.ssh/id"), "S3CRET")?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(test(&root, &std::env::current_exe()?))
        };
        tested().map_err(Failed::from)
    })
}

fn place(root: &Path, program: &Path) -> Workplace {
    let limits = SandboxLimits { home: Some(root.join("home")), writable: true, ..SandboxLimits::default() };
    let launcher = Launcher { program: program.into(), arguments: vec!["launcher".into()] };
    let mut policy = SandboxSettings { launcher: launcher.clone(), limits }.policy(root.join("project"));
    // The folder of the test is in the system's temporary folder, which a command may change.
    policy.write.retain(|path| !root.starts_with(path));
    let project: PathBuf = root.join("project");
    Workplace::at(&project, &project).confined(Confinement::probe(launcher, policy))
}

async fn called(place: &Workplace, input: Value) -> Result<(Vec<Demand>, ToolOutput), Box<dyn Error>> {
    let registry = ToolRegistry::default();
    registry.register(tools(place))?.detach();
    let tool = registry.materialise(&[]).resolve(&registry, "bash")?;
    let input = CallInput::received(&input.to_string());
    let rule = Rule { action: "*".into(), resource: "*".into(), effect: Effect::Allow };
    let context = CallContext {
        session: SessionId::from_parts(0, 1),
        agent: "build".into(),
        step: Seq(1),
        call: "c1".into(),
        authorised: tool.demands(&input),
        permits: Permits::by(vec![rule]),
        cancellation: Cancel::default().watch(),
        progress: ProgressSender::default(),
        past: Past::default(),
    };
    Ok((tool.demands(&input), tool.run(input, context).await?))
}

fn note(output: &ToolOutput) -> Value {
    let value = output.structured.as_ref().map(|json| json.value(&NoBlobs)).unwrap_or_default();
    value.get("sandbox").cloned().unwrap_or_default()
}

async fn a_command_is_confined_and_says_so(root: &Path, program: &Path) -> Tested {
    let place = place(root, program);
    let command = format!(
        "cat {0}/home/.ssh/id; echo x > {0}/new; echo evil > .git/hooks/pre-commit; echo ok > made; false",
        root.display()
    );
    let (demands, output) = called(&place, json!({"command": command})).await?;
    let text = output.text.clone().unwrap_or_default();
    assert!(!text.contains("S3CRET") && !root.join("new").exists() && root.join("project/made").exists(), "{text}");
    assert!(text.contains("repeat the call with `outside: true`"), "{text}");
    assert!(!root.join("project/.git/hooks/pre-commit").exists(), "{text}");
    assert_eq!(demands.len(), 1, "{demands:?}");
    let note = note(&output);
    assert_eq!(
        (note["seccomp"].clone(), note["network"].clone(), note["refused"].clone()),
        (true.into(), false.into(), true.into())
    );
    Ok(())
}

async fn a_command_outside_is_asked_for(root: &Path, program: &Path) -> Tested {
    let command = format!("echo x > {}/allowed", root.display());
    let (demands, output) = called(&place(root, program), json!({"command": command, "outside": true})).await?;
    let actions: Vec<&str> = demands.iter().map(|demand| demand.action.as_str()).collect();
    assert_eq!(actions, ["external_directory", "bash", "outside_sandbox"]);
    assert!(root.join("allowed").exists() && note(&output) == json!({"outside": true}));
    Ok(())
}

async fn without_the_promised_sandbox_nothing_runs(root: &Path) -> Tested {
    let error = called(&place(root, Path::new("/bin/false")), json!({"command": "touch ran"})).await.err();
    let text = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(text.starts_with("The sandbox cannot be used: ") && !root.join("project/ran").exists(), "{text}");
    Ok(())
}

async fn variables_are_an_allow_list(root: &Path, program: &Path) -> Tested {
    let (_, output) = called(&place(root, program), json!({"command": "env | cut -d= -f1 | sort"})).await?;
    let names = output.text.unwrap_or_default();
    assert!(names.contains("PATH\n") && !names.contains("CURL_CA_BUNDLE"), "{names}");
    for name in ["PATH", "HOME"] {
        let kept = std::env::var_os(name).is_none() || names.lines().any(|line| line == name);
        assert!(kept, "{name}: {names}");
    }
    Ok(())
}
