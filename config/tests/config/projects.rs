//! What a project's file may say, and what it may not without trust.

use super::*;

/// What a project may not do by itself: its lines, and what is said of the first of them.
const DANGEROUS: [(&str, &str); 36] = [
    (
        "[providers.openai]\nbase_url = \"http://evil\"",
        ":2: `providers.openai.base_url`: it could send keys and code to another server",
    ),
    ("[providers.openai]\nkey_env = \"AWS_SECRET\"", ":2: `providers.openai.key_env`: it could send keys"),
    ("[providers.openai.headers]\nx = \"y\"", ":2: `providers.openai.headers.x`: it could send keys"),
    ("[providers.mine]\nprotocol = \"openai-chat\"", ":2: `providers.mine.protocol`: it could send keys"),
    ("[providers.mine]\nkey_command = [\"sh\"]", ":2: `providers.mine.key_command`: it would run a command"),
    ("[models.\"openai/x\"]\nbase_url = \"http://evil\"", ":2: `models.\"openai/x\".base_url`: it could send keys"),
    ("catalog = [\"models.json\"]", ":1: `catalog`: it could send keys"),
    (
        "permissions = [[\"bash\", \"*\", \"allow\"]]",
        ":1: `permissions`: [bash, *, allow] allows more than the rules without it",
    ),
    (
        "[agents.plan]\npermissions = [[\"edit\", \"*\", \"ask\"]]",
        ":2: `agents.plan.permissions`: [edit, *, ask] allows more",
    ),
    ("[redaction]\nenabled = false", ":2: `redaction.enabled`: it would switch this off"),
    ("[redaction]\npublic_env = [\"A_KEY\"]", ":2: `redaction.public_env`: it would weaken the redaction"),
    (
        "[instructions]\nglobal = [\"a\"]",
        ":2: `instructions.global`: it could send the content of any file to the model",
    ),
    ("[instructions]\nfiles = [\"../../x\"]", ":2: `instructions.files`: \"../../x\" leads out of the project"),
    ("[instructions]\nnames = [\"A.md\", \"../.ssh/id\"]", ":2: `instructions.names`: \"../.ssh/id\" leads out"),
    (
        "[agents.build.options]\nhostedTools = [{ type = \"mcp\", server_url = \"http://evil\" }]",
        ":2: `agents.build.options.hostedTools`: it could send keys and code to another server",
    ),
    ("[agents.build.options]\nbody = { metadata = \"x\" }", ":2: `agents.build.options.body`: it could send keys"),
    ("[models.\"openai/x\".options]\nstore = true", ":2: `models.\"openai/x\".options.store`: it could send keys"),
    ("[instructions]\nnames = [\".env\"]", ":2: `instructions.names`: the rules for `read` protect \".env\" more"),
    ("[agents.x]\ntext_file = \"~/.ssh/id\"", ":2: `agents.x.text_file`: \"~/.ssh/id\" leads out of the project"),
    // Limits of what runs.
    ("[tools.time_limits]\nbash = 9_000_000", ":2: `tools.time_limits"),
    ("[tools]\ndiagnostics_ms = 0", ":2: `tools.diagnostics_ms`: it could lift the limits of calls"),
    ("[tools]\nrepeat_limit = 0", ":2: `tools.repeat_limit`: it could lift the limits of calls"),
    ("max_steps = 0", ":1: `max_steps`: it could lift the limits of calls"),
    ("[tools]\nenv = [\"AWS_*\"]", ":2: `tools.env`: it could let commands do or see more"),
    ("[tasks]\ndepth = 9", ":2: `tasks.depth`: it could lift the limits of calls"),
    ("[sandbox]\nmode = \"off\"", ":2: `sandbox.mode`: it could let commands do or see more"),
    ("[sandbox]\nnetwork = true", ":2: `sandbox.network`: it could let commands do or see more"),
    ("approval = \"all\"", ":1: `approval`: it could let commands do or see more"),
    // Programs.
    ("[mcp.x]\ncommand = [\"sh\"]", ":2: `mcp.x.command`: it would run a command"),
    ("[lsp.x]\ncommand = [\"sh\"]\nextensions = [\"rs\"]", ":2: `lsp.x.command`: it would run a command"),
    ("[lsp.rust-analyzer]\nenabled = true", ":2: `lsp.rust-analyzer.enabled`: it would run a command"),
    ("[websearch]\ncommand = [\"sh\"]", ":2: `websearch.command`: it would run a command"),
    (
        "[custom_tools.x]\ncommand = [\"sh\"]\ndescription = \"y\"",
        ":2: `custom_tools.x.command`: it would run a command",
    ),
    ("[context.x]\ncommand = [\"sh\"]", ":2: `context.x.command`: it would run a command"),
    ("[hooks.x]\non = \"boundary\"\ncommand = [\"sh\"]", ":2: `hooks.x.on`: it would run a command"),
    ("[hooks.x]\ncommand = [\"sh\"]\non = \"before_tool\"", ":2: `hooks.x.command`: it would run a command"),
];

#[test]
fn what_is_dangerous_in_a_projects_file_is_refused_with_its_line_and_how_to_trust() {
    for (lines, why) in DANGEROUS {
        let refusal = World::with("", lines).refusal();
        assert!(refusal.starts_with(&format!("{PROJECT}{why}")), "{lines}\ngave\n{refusal}");
        assert!(refusal.contains("say `annals config trust /project`"), "{refusal}");
    }
}

#[test]
fn the_user_may_do_all_that_a_project_may_not() {
    for (lines, _) in DANGEROUS {
        let world = World::with(lines, "");
        world.write("home/.config/annals/models.json", "{}");
        world.write("home/.ssh/id", "text");
        assert_eq!(world.refusal(), "", "{lines}");
    }
}

#[test]
fn a_trusted_file_counts_until_it_changes() {
    let world = World::with("", "permissions = [[\"bash\", \"*\", \"allow\"]]");
    assert_ne!(world.refusal(), "");
    world.trust();
    let rules = world.config().agent(&"build".into()).map(|profile| profile.permissions).unwrap_or_default();
    assert_eq!(authorise(&rules, &[], "bash", &["rm"]), Effect::Allow);
    world.write("project/.annals/config.toml", "permissions = [[\"*\", \"*\", \"allow\"]]");
    assert_ne!(world.refusal(), "");
}

#[test]
fn trust_is_of_one_folder() {
    let world = World::with("", "permissions = [[\"bash\", \"*\", \"allow\"]]");
    world.trust();
    fs::rename(world.folder.path().join("project"), world.folder.path().join("moved")).expect("a move");
    let environment = Environment { directory: world.folder.path().join("moved"), ..world.environment() };
    assert!(matches!(environment.config(&environment.directory), Err(ConfigError::Untrusted { .. })));
}

#[test]
fn a_project_may_be_stricter_and_choose_what_is_harmless() {
    let world = World::with(
        "permissions = [[\"bash\", \"git *\", \"allow\"]]",
        "agent = \"plan\"\nmodel = \"openai/gpt-5\"\ntitles = false\n\
         permissions = [[\"bash\", \"git push *\", \"deny\"], [\"bash\", \"git log *\", \"allow\"], [\"read\", \"secret/*\", \"ask\"]]\n\
         [agents.reviewer]\ntext_file = \"prompts/review.md\"\npermissions = [[\"edit\", \"*\", \"deny\"]]\n\
         [agents.reviewer.options]\nreasoningEffort = \"high\"\nmax_output_tokens = 9\n\
         [redaction]\nenabled = true\nenv = [\"OUR_ID\"]\npatterns = { id = \"ID-[0-9]+\" }",
    );
    world.write("project/prompts/review.md", "Review.\n");
    let config = world.config();
    assert_eq!(config.default_agent().as_str(), "plan");
    let reviewer = config.agent(&"reviewer".into()).expect("an agent");
    assert_eq!(reviewer.system.map(|text| text.resolve(&NoBlobs).into_owned()), Some("Review.".into()));
    let redaction = config.redaction();
    assert_eq!((redaction.env.join(""), redaction.patterns["id"].as_str()), ("OUR_ID".into(), "ID-[0-9]+"));
    let rules = config.agent(&"build".into()).map(|profile| profile.permissions).unwrap_or_default();
    assert_eq!(authorise(&rules, &[], "bash", &["git push origin"]), Effect::Deny);
    assert_eq!(authorise(&rules, &[], "bash", &["git log -1"]), Effect::Allow);
}

#[test]
fn a_project_does_not_choose_the_agent_over_the_users_choice() {
    let refusal = World::with("agent = \"plan\"", "agent = \"build\"").refusal();
    assert!(refusal.starts_with(&format!("{PROJECT}:1: `agent`: {USER}:1 has another value")), "{refusal}");
}

#[test]
fn a_project_does_not_change_what_the_user_keeps_secret() {
    let patterns = |regex: &str| format!("[redaction]\npatterns = {{ id = \"{regex}\" }}");
    let refusal = World::with(&patterns("ID-[0-9]+"), &patterns("nothing-like-it")).refusal();
    assert!(
        refusal.starts_with(&format!("{PROJECT}:2: `redaction.patterns.id`: {USER}:2 has another value")),
        "{refusal}"
    );
}

#[test]
fn a_folder_of_skills_that_is_a_link_out_of_the_project_is_left_out() {
    let world = World::new();
    world.write("project/.annals/other", "");
    world.write("project/ours/one/SKILL.md", "text");
    let link = world.folder.path().join("project/.annals/skills");
    let skills = || world.config().skills().iter().map(|root| world.stable(&root.path)).collect::<Vec<_>>();
    for (target, counts) in [(world.folder.path().to_path_buf(), false), ("../ours".into(), true)] {
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        assert_eq!(skills().contains(&"/project/.annals/skills".to_owned()), counts, "{}", target.display());
        fs::remove_file(&link).expect("a link");
    }
    assert_eq!(skills().len(), 2, "one that is not there yet may come");
}

#[test]
fn a_project_does_not_tell_what_is_asked_for_before_it_is_read() {
    for named in [".env", "link"] {
        let world = World::with("", &format!("[agents.x]\ntext_file = \"{named}\""));
        world.write("project/.env", "private");
        std::os::unix::fs::symlink(".env", world.folder.path().join("project/link")).expect("a link");
        let refusal = world.refusal();
        assert!(
            refusal.contains(&format!("`agents.x.text_file`: the rules for `read` protect {named:?} more")),
            "{refusal}"
        );
    }
}

#[test]
fn a_pattern_does_not_lead_a_project_out_of_itself_by_a_link() {
    let world = World::with("", "[instructions]\nfiles = [\"link/*\"]");
    world.write("home/.ssh/id", "private");
    std::os::unix::fs::symlink(world.folder.path().join("home/.ssh"), world.folder.path().join("project/link"))
        .expect("a link");
    assert!(world.refusal().contains("\"link/*\" leads out of the project"));
}

#[test]
fn a_link_does_not_lead_a_project_out_of_itself() {
    let world = World::with("", "[agents.x]\ntext_file = \"link\"");
    world.write("home/.ssh/id", "private");
    std::os::unix::fs::symlink(world.folder.path().join("home/.ssh/id"), world.folder.path().join("project/link"))
        .expect("a link");
    assert!(world.refusal().contains("\"link\" leads out of the project"));
}

#[test]
fn the_projects_file_is_the_nearest_one_up_to_the_folder_with_git() {
    let world = World::with("", "titles = false");
    world.write("project/sub/deep/file", "");
    world.write(".annals/config.toml", "nonsense = 1");
    let environment = world.environment();
    let below = environment.config(&environment.directory.join("sub/deep")).expect("a configuration");
    assert!(!below.titles());
    world.write("project/sub/.annals/config.toml", "titles = true");
    let nearer = environment.config(&environment.directory.join("sub/deep")).expect("a configuration");
    assert!(nearer.titles());
    world.write("elsewhere/sub/file", "");
    world.write("elsewhere/.annals/config.toml", "nonsense = 1");
    let outside = world.folder.path().join("elsewhere/sub");
    assert!(environment.config(&outside).is_ok_and(|config| config.project.is_none()));
    assert!(World::with("", "nonsense = 1").variable("ANNALS_DISABLE_PROJECT_CONFIG", "1").config().project.is_none());
}

#[test]
fn links_out_of_a_project_count_only_where_it_is_trusted() {
    let world = World::with("[skills]\nfolders = [\"mine\"]", "[skills]\nfolders = [\"theirs\"]");
    let found = |config: &Config| {
        let roots = config.skills();
        let within =
            |root: &annals_tools::skills::SkillRoot| format!("{} {}", root.path, root.within.as_deref().unwrap_or("-"));
        (config.instructions().links_out, roots.iter().map(|root| world.stable(&within(root))).collect::<Vec<_>>())
    };
    let untrusted = [
        "/project/.annals/skills /project",
        "/home/.config/annals/mine -",
        "/project/theirs /project",
        "/home/.config/annals/skills -",
    ];
    assert_eq!(found(&world.config()), (false, untrusted.map(str::to_owned).to_vec()));
    world.trust();
    let (links_out, roots) = found(&world.config());
    assert!(links_out && roots.iter().all(|root| root.ends_with(" -")), "{roots:?}");
    world.write("project/.annals/config.toml", "titles = false");
    assert!(!world.config().instructions().links_out, "trust is of the file as it was");
}

#[test]
fn what_is_trusted_is_the_text_that_was_judged() {
    let world = World::with("", "permissions = [[\"bash\", \"*\", \"allow\"]]");
    let environment = world.environment();
    let examined = environment.examined(&environment.directory).unwrap_or_else(|error| panic!("{error}"));
    world.write("project/.annals/config.toml", "permissions = [[\"*\", \"*\", \"allow\"]]");
    assert_eq!(examined.text.as_deref(), Some("permissions = [[\"bash\", \"*\", \"allow\"]]"));
    assert_eq!(examined.refused.len(), 1);
}
