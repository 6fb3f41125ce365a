//! MCP servers in configuration files.

use super::*;
use std::time::Duration;

#[test]
fn a_server_has_a_program_and_sees_the_variables_that_it_is_given() {
    let user = "[mcp.git]\ncommand = [\"git-server\", \"--quiet\"]\npass_env = [\"TOKEN\", \"ABSENT\"]\nenv = { MODE = \"fast\" }\n\
        timeout_ms = 5000\ndeny_tools = [\"push\"]\n[mcp.off]\ncommand = [\"x\"]\nenabled = false\n";
    let servers = World::with(user, "").variable("TOKEN", "t").config().mcp();
    let [git] = servers.as_slice() else { panic!("{servers:?}") };
    assert_eq!(
        (git.name.as_str(), git.program.as_str(), git.arguments.as_slice()),
        ("git", "git-server", &["--quiet".into()][..])
    );
    assert_eq!(git.environment, [("TOKEN".into(), "t".into()), ("MODE".into(), "fast".into())]);
    assert_eq!((git.timeout, git.start_timeout), (Duration::from_secs(5), Duration::from_secs(30)));
    assert_eq!((git.tools.clone(), git.denied_tools.as_slice()), (None, &["push".to_owned()][..]));
}

#[test]
fn a_server_without_a_program_or_with_a_name_that_tools_cannot_have_is_a_problem() {
    let refusal = |user: &str| World::with(user, "").refusal();
    assert!(refusal("[mcp.git]\n").contains("`mcp.git`: a server needs its program"), "{}", refusal("[mcp.git]\n"));
    let named = refusal("[mcp.\"a b\"]\ncommand = [\"x\"]\n");
    assert!(named.contains("cannot name a server"), "{named}");
}

#[test]
fn a_project_starts_no_server_before_it_is_trusted() {
    let world = World::with("", "[mcp.git]\ncommand = [\"git-server\"]\n");
    let error = world.refusal();
    assert!(error.contains("it would run a command"), "{error}");
    world.trust();
    assert_eq!(world.config().mcp().len(), 1);
}
