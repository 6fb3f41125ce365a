//! Servers as processes: their tools, results, time limits and ends.

use super::{McpServer, McpServers, tool};
use annals_core::{NoBlobs, Seq, SessionId};
use annals_runtime::tools::{
    CallContext, CallError, CallInput, Cancel, Past, Permits, ProgressSender, ToolOutput, ToolRegistry,
};
use rustix::process::{Pid, test_kill_process};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long something may take: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

type Tested = Result<(), Box<dyn std::error::Error>>;

/// A directory in which a server was started.
struct Started {
    folder: TempDir,
    servers: McpServers,
    registry: ToolRegistry,
    remarks: Vec<String>,
    cancel: Cancel,
}

impl Started {
    async fn new(mode: &str, change: impl FnOnce(McpServer) -> McpServer) -> std::io::Result<Self> {
        let (folder, registry) = (tempfile::tempdir()?, ToolRegistry::default());
        let log = folder.path().join("log").display().to_string();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mcp/tests/server.py");
        let arguments = vec![script.to_owned(), mode.to_owned(), log];
        let servers = McpServers::new(vec![change(McpServer { arguments, ..McpServer::new("test", "python3") })]);
        let directory = folder.path().display().to_string();
        let remarks = servers.start(&directory, &registry).await;
        assert_eq!(servers.start(&directory, &registry).await, Vec::<String>::new(), "it is started once");
        Ok(Self { folder, servers, registry, remarks, cancel: Cancel::default() })
    }

    fn names(&self) -> Vec<String> {
        self.registry.materialise(&[]).tools().iter().map(|tool| tool.definition().name.clone()).collect()
    }

    async fn call(&self, name: &str, input: &str) -> Result<ToolOutput, CallError> {
        let tool = self.registry.materialise(&[]).resolve(&self.registry, &format!("mcp__test__{name}"))?;
        let input = CallInput::received(input);
        tool.validate(&input)?;
        let context = CallContext {
            session: SessionId::from_parts(0, 1),
            agent: "build".into(),
            step: Seq(1),
            call: "c1".into(),
            authorised: tool.demands(&input),
            permits: Permits::default(),
            cancellation: self.cancel.watch(),
            progress: ProgressSender::default(),
            past: Past::default(),
        };
        tool.run(input, context).await
    }

    async fn text(&self, name: &str, input: &str) -> String {
        match self.call(name, input).await {
            Ok(output) => output.text.unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Waits until the log of the server has a line that begins so, and returns its rest.
    async fn logged(&self, beginning: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let log = std::fs::read_to_string(self.log()).unwrap_or_default();
            assert!(Instant::now() < until, "the server wrote no line that begins with {beginning:?}: {log}");
            if let Some(rest) = log.lines().rev().find_map(|line| line.strip_prefix(beginning)) {
                return rest.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn starts(&self) -> usize {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        log.lines().filter(|line| line.starts_with("started ")).count()
    }
}

#[tokio::test]
async fn other_tools_are_offered_from_the_next_epoch_on() -> Tested {
    crate::needs!("python3");
    let started = Started::new("plain", |server| server).await?;
    let before = started.names();
    let directory = started.folder.path().display().to_string();
    assert_eq!(started.servers.renew(&directory, &started.registry).await, Vec::<String>::new());
    assert_eq!(started.names(), before);
    assert_eq!(started.text("secret", "{}").await, "");
    assert_eq!(started.names(), before, "within an epoch they stay");
    assert_eq!(started.servers.renew(&directory, &started.registry).await, Vec::<String>::new());
    assert_eq!(started.names(), ["added", "echo", "secret"].map(|name| format!("mcp__test__{name}")));
    Ok(())
}

#[tokio::test]
async fn servers_that_take_the_place_of_others_are_offered_from_the_next_epoch_on() -> Tested {
    crate::needs!("python3");
    let started = Started::new("plain", |server| server).await?;
    let (before, directory) = (started.names(), started.folder.path().display().to_string());
    let configured = started.servers.servers();
    let renewed = async |servers: Vec<McpServer>| {
        started.servers.replace(servers);
        let remarks = started.servers.renew(&directory, &started.registry).await;
        (remarks.len(), started.names())
    };
    let process = Pid::from_raw(started.logged("started ").await.trim().parse()?).ok_or("a process")?;
    assert_eq!(renewed(configured.clone()).await, (0, before.clone()));
    let second = configured.iter().map(|server| McpServer { name: "second".into(), ..server.clone() });
    let both = [configured.clone(), second.collect()].concat();
    let (remarks, names) = renewed(both.clone()).await;
    assert_eq!((remarks, names.len()), (0, before.len() * 2), "{names:?}");
    assert!(names.iter().any(|name| name == "mcp__second__echo"), "{names:?}");
    assert_eq!(started.starts(), 2, "the one that stays goes on");
    let absent = McpServer { program: "/no/such/program".into(), ..both[1].clone() };
    assert_eq!(renewed(vec![absent]).await, (1, Vec::new()));
    let until = Instant::now() + PATIENCE;
    while test_kill_process(process).is_ok() {
        assert!(Instant::now() < until, "the server that is gone still runs");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(renewed(configured).await, (0, before));
    Ok(())
}

#[tokio::test]
async fn all_pages_of_tools_are_offered_but_those_that_are_denied() -> Tested {
    crate::needs!("python3");
    let denied = |server| McpServer { denied_tools: vec!["secret".into()], ..server };
    let started = Started::new("plain", denied).await?;
    assert_eq!(started.remarks, Vec::<String>::new());
    let names = started.names();
    let short: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.len() < 30).collect();
    let expected = ["crash", "echo", "environment", "fail", "mixed", "wait"].map(|name| format!("mcp__test__{name}"));
    assert_eq!(short, expected);
    let long: Vec<&String> = names.iter().filter(|name| name.len() >= 30).collect();
    assert!(
        matches!(long.as_slice(), [one] if one.len() == 64 && one.starts_with("mcp__test__with_a_dot_and_a_")),
        "{long:?}"
    );
    let offered = started.registry.materialise(&[]);
    let echo = offered.resolve(&started.registry, "mcp__test__echo")?;
    assert_eq!(echo.definition().description.inline(), Some("Echoes."));
    let schema = r#"{"properties":{"n":{"type":"integer"}},"type":"object"}"#;
    assert_eq!(echo.definition().schema.0.inline(), Some(schema));
    let demands = echo.demands(&CallInput::received("{}"));
    assert!(
        matches!(demands.as_slice(), [one] if one.action == "mcp" && one.resources == ["test/echo"]),
        "{demands:?}"
    );
    started.logged("notifications/initialized").await;
    assert_eq!(started.logged("answered ").await, r#"{"id": "p", "jsonrpc": "2.0", "result": {}}"#);
    Ok(())
}

#[tokio::test]
async fn results_are_texts_values_and_images() -> Tested {
    crate::needs!("python3");
    let set = |server| McpServer { environment: vec![("GIVEN".into(), "1".into())], ..server };
    let started = Started::new("plain", set).await?;
    assert_eq!(started.text("echo", r#"{"n": 12345678901234567890}"#).await, r#"{"n": 12345678901234567890}"#);
    let mixed = started.call("mixed", "{}").await?;
    let text = "[audio that is not shown]\nnote://1:\na note\nanother: note://2\n[content of a kind that is not known]";
    assert_eq!(mixed.text.as_deref(), Some(text));
    assert_eq!(mixed.attachments.iter().map(|one| one.mime.as_str()).collect::<Vec<_>>(), ["image/png"]);
    let exact = mixed.structured.as_ref().and_then(|value| value.0.inline());
    assert_eq!(exact, Some(r#"{"exact": 12345678901234567890123}"#));
    assert_eq!(started.text("fail", "{}").await, "no such thing");
    // The tests run with variables of cargo, which are nobody else's concern.
    let seen = started.call("environment", "{}").await?;
    assert_eq!(seen.text, None);
    let seen = seen.structured.map(|value| value.value(&NoBlobs).to_string()).unwrap_or_default();
    assert!(seen.contains("\"GIVEN\"") && seen.contains("\"PATH\"") && !seen.contains("CARGO"), "{seen}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_ends_is_started_again_and_the_call_is_not_repeated() -> Tested {
    crate::needs!("python3");
    let started = Started::new("plain", |server| server).await?;
    let message =
        "MCP server test: the server ended; it wrote: out of luck. Whether the call had an effect is not known.";
    assert_eq!(started.text("crash", "{}").await, message);
    assert_eq!(started.starts(), 1);
    assert_eq!(started.text("echo", "{}").await, "{}");
    assert_eq!(started.starts(), 2);
    Ok(())
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled() -> Tested {
    crate::needs!("python3");
    let limited = |server| McpServer { timeout: Duration::from_millis(50), ..server };
    let started = Started::new("plain", limited).await?;
    let message = "MCP server test: no answer to tools/call within 50 ms. Whether the call had an effect is not known.";
    assert_eq!(started.text("wait", "{}").await, message);
    started.logged("notifications/cancelled").await;
    Ok(())
}

#[tokio::test]
async fn an_interrupted_call_is_cancelled_at_the_server() -> Tested {
    crate::needs!("python3");
    let started = Started::new("plain", |server| server).await?;
    let interrupt = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        started.cancel.cancel();
    };
    let (ended, ()) = tokio::join!(started.call("wait", "{}"), interrupt);
    assert_eq!(ended, Err(CallError::Interrupted));
    started.logged("notifications/cancelled").await;
    Ok(())
}

#[tokio::test]
async fn servers_that_cannot_be_used_are_named() -> Tested {
    crate::needs!("python3");
    let absent = |server| McpServer { program: "/nowhere/server".into(), ..server };
    let slow = |server| McpServer { start_timeout: Duration::from_millis(50), ..server };
    let failure = async |mode: &str, change: fn(McpServer) -> McpServer| {
        let started = Started::new(mode, change).await?;
        assert_eq!(started.names(), Vec::<String>::new());
        Ok::<String, std::io::Error>(started.remarks.join("\n"))
    };
    let rest = "; its tools are not offered";
    let why = failure("plain", absent).await?;
    let missing = "MCP server test: /nowhere/server could not be started: No such file or directory (os error 2)";
    assert_eq!(why, format!("{missing}{rest}"));
    let refused = format!("MCP server test: the server ended; it wrote: no licence{rest}");
    assert_eq!(failure("refuses", |server| server).await?, refused);
    assert_eq!(failure("hangs", slow).await?, format!("MCP server test: no answer to initialize within 50 ms{rest}"));
    let old = "MCP server test: it speaks version \"1999-01-01\" of the protocol, which is not supported";
    assert_eq!(failure("old", |server| server).await?, format!("{old}{rest}"));
    Ok(())
}

#[tokio::test]
async fn a_server_ends_with_its_host() -> Tested {
    crate::needs!("python3");
    let started = Started::new("plain", |server| server).await?;
    let process = Pid::from_raw(started.logged("started ").await.parse()?).ok_or("no process")?;
    assert!(test_kill_process(process).is_ok());
    drop(started);
    let status = format!("/proc/{}/stat", process.as_raw_nonzero());
    let dead = || std::fs::read_to_string(&status).map_or(true, |stat| stat.contains(") Z "));
    let until = Instant::now() + PATIENCE;
    while !dead() {
        assert!(Instant::now() < until, "the server has not ended after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[test]
fn names_have_at_most_64_characters_of_a_kind() {
    assert_eq!(tool::offered("git", "log"), "mcp__git__log");
    assert_eq!(tool::offered("git", "log.all"), "mcp__git__log_all");
    let (one, other) = (tool::offered("git", &"a".repeat(80)), tool::offered("git", &"a".repeat(81)));
    assert!(one.len() == 64 && other.len() == 64 && one != other, "{one} {other}");
}
