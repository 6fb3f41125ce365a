//! Values: laid over each other, with their origins, and what is none.

use super::*;

#[test]
fn without_any_file_there_are_built_in_agents_and_careful_rules() {
    let config = World::new().config();
    assert_eq!(
        (config.default_agent().as_str(), config.default_model(&"build".into()), config.titles()),
        ("build", None, true)
    );
    let names: Vec<&str> = config.agents.keys().map(AgentName::as_str).collect();
    assert_eq!(names, ["build", "compaction", "explore", "plan"]);
    let says = |agent: &str, action: &str, resource: &str| {
        let rules = config.agent(&agent.into()).map(|profile| profile.permissions).unwrap_or_default();
        authorise(&rules, &[], action, &[resource])
    };
    assert_eq!(says("build", "read", "src/main.rs"), Effect::Allow);
    assert_eq!(says("build", "read", "prod/.env"), Effect::Ask);
    assert_eq!((says("build", "edit", "a"), says("build", "bash", "ls")), (Effect::Ask, Effect::Ask));
    assert_eq!((says("plan", "edit", "a"), says("explore", "bash", "ls")), (Effect::Deny, Effect::Deny));
    assert!(!config.agents[&"build".into()].takes_tasks() && config.agents[&"explore".into()].takes_tasks());
    let usual = annals_runtime::settings::CompactionSettings::default();
    let expected = annals_runtime::settings::CompactionSettings { agent: Some("compaction".into()), ..usual };
    assert_eq!(config.compaction(), expected);
    let selectable: Vec<&str> = config.selectable().map(AgentName::as_str).collect();
    assert_eq!(selectable, ["build", "explore", "plan"]);
    let modes: Vec<&str> = config.modes().map(AgentName::as_str).collect();
    assert_eq!((modes, config.max_steps()), (vec!["build", "plan"], Some(200)));
    assert_eq!(World::with("max_steps = 0", "").config().max_steps(), None);
    assert!(!config.agents[&"compaction".into()].takes_tasks());
    let refused = World::with("agent = \"compaction\"", "").refusal();
    assert!(refused.contains("is hidden and cannot be selected; there are build, explore, plan"), "{refused}");
    assert_eq!(config.output(), Limits::default());
}

#[test]
fn a_projects_file_is_laid_over_the_users_key_by_key() {
    let world = World::with(
        "model = \"openai/gpt-5\"\nagent = \"plan\"\n[compaction]\nbuffer = 5\nkeep_tokens = 6\n\
         [agents.plan]\nsteps = 9\nnote = \"mine\"\n[instructions]\nfiles = [\"~/rules.md\"]\nnames = [\"A.md\"]",
        "model = \"openai/gpt-4o\"\n[compaction]\nbuffer = 7\n[agents.plan]\nnote = \"ours\"\n\
         [instructions]\nfiles = [\"docs/*.md\"]\nnames = [\"B.md\"]\n[skills]\nfolders = [\"skills\"]",
    );
    let config = world.config();
    assert_eq!(config.default_model(&"plan".into()), Some("openai/gpt-4o".into()));
    assert_eq!((config.compaction().buffer, config.compaction().keep_tokens), (7, 6));
    let plan = config.agent(&"plan".into()).expect("an agent");
    assert_eq!(plan.steps, Some(9));
    assert!(plan.system.is_some_and(|text| text.resolve(&NoBlobs).ends_with("\n\nours")));
    let instructions = config.instructions();
    assert_eq!(
        (instructions.configured.join(" "), instructions.names.join(" ")),
        ("~/rules.md docs/*.md".into(), "B.md".into())
    );
    assert_eq!(world.stable(&instructions.global.join(" ")), "/home/.config/annals/AGENTS.md /home/.claude/CLAUDE.md");
    let skills: Vec<String> = config.skills().iter().map(|root| world.stable(&root.path)).collect();
    assert_eq!(skills, ["/project/.annals/skills", "/project/skills", "/home/.config/annals/skills"]);
}

#[test]
fn every_value_says_where_it_comes_from() {
    let world = World::with("# mine\nmodel = \"openai/gpt-5\"", "titles = false").variable("ANNALS_AGENT", "plan");
    let config = world.config();
    let origin =
        |path: &[&str]| world.stable(&config.settings.get(path).map(|at| at.origin.to_string()).unwrap_or_default());
    assert_eq!(origin(&["model"]), format!("{USER}:2"));
    assert_eq!(origin(&["titles"]), format!("{PROJECT}:1"));
    assert_eq!(origin(&["agent"]), "$ANNALS_AGENT");
    assert_eq!(origin(&["output", "lines"]), "built in");
    assert_eq!(config.default_agent().as_str(), "plan");
}

#[test]
fn a_variable_outdoes_an_agents_model() {
    let user = "model = \"openai/a\"\n[agents.build]\nmodel = \"openai/b\"";
    assert_eq!(World::with(user, "").config().default_model(&"build".into()), Some("openai/b".into()));
    let said = World::with(user, "").variable("ANNALS_MODEL", "openai/c").config();
    assert_eq!(said.default_model(&"build".into()), Some("openai/c".into()));
}

#[test]
fn what_no_key_is_is_named_with_its_line_and_the_nearest_key() {
    let world = World::with(
        "modle = \"x/y\"\n\n[compactoin]\nauto = true\n[agents.build]\nstep = 3\nzzz = 1\n[providers.openai]\napi_key = \"sk\"",
        "",
    );
    assert_eq!(
        world.refusal(),
        format!(
            "{USER}:1: unknown key `modle`; did you mean `model`?\n\
             {USER}:3: unknown key `compactoin`; did you mean `compaction`?\n\
             {USER}:6: unknown key `agents.build.step`; did you mean `steps`?\n\
             {USER}:7: unknown key `agents.build.zzz`; known keys: description, mode, text, text_file, note, model, steps, \
             permissions, options\n\
             {USER}:9: unknown key `providers.openai.api_key`: keys are never stored in files; name a variable with `key_env` \
             or a command with `key_command`"
        )
    );
}

#[test]
fn a_value_of_another_kind_is_named_with_what_was_expected() {
    let world = World::with(
        "titles = \"yes\"\nagent = 3\ncatalog = \"x\"\npermissions = [[\"read\", \"*\", \"maybe\"]]\n[compaction]\nbuffer = -1\n\
         [agents.build]\nmode = \"boss\"\noptions = 3\n[models.\"a/b\"]\nprice = { input = 0.1234567891, output = \"x\" }\n\
         options = { when = 2020-01-01 }",
        "",
    );
    let refusal = world.refusal();
    let lines: Vec<&str> = refusal.lines().map(|line| line.trim_start_matches(USER)).collect();
    assert_eq!(
        lines,
        [
            ":1: `titles`: expected true or false, found \"yes\"; write `titles = true` or `titles = false`",
            ":2: `agent`: expected a text, found 3; write `agent = \"...\"`",
            ":3: `catalog`: expected a list, found \"x\"; write `catalog = [\"...\", \"...\"]`",
            ":4: `permissions`: expected rules such as [\"bash\", \"git *\", \"allow\"] (allow, ask or deny), \
             found [\"read\", \"*\", \"maybe\"]",
            ":6: `compaction.buffer`: expected a whole number, 0 or more, found -1; write `buffer = 1000`",
            ":8: `agents.build.mode`: expected one of primary, subagent, all, hidden, found \"boss\"; write `mode = \"primary\"`",
            ":9: `agents.build.options`: expected a table, found 3; write `[agents.build.options]` with its keys \
             below",
            ":11: `models.\"a/b\".price.input`: expected an amount of dollars: finer than a nano-dollar (nine decimal \
             places), found 0.1234567891; write `input = \"2.50\"`",
            ":11: `models.\"a/b\".price.output`: expected an amount of dollars: not an amount of dollars such as 0.25, \
             found \"x\"; write `output = \"2.50\"`",
            ":12: `models.\"a/b\".options.when`: dates and non-finite numbers are not supported",
        ]
    );
    assert!(World::with("model = ", "").refusal().starts_with(&format!("{USER}:1: ")));
    let tables = World::with("[[permissions]]\naction = \"bash\"", "").refusal();
    let expected = "`permissions`: expected a list, found tables in double brackets; \
                    write `permissions = [[\"bash\", \"git *\", \"allow\"]]`";
    assert_eq!(tables, format!("{USER}:1: {expected}"));
    let text = World::with("[agents]\nreviewer = \"strict\"", "").refusal();
    assert!(text.ends_with("found \"strict\"; write `[agents.reviewer]` with its keys below"), "{text}");
}

#[test]
fn what_makes_no_sense_together_is_named() {
    let world = World::with(
        "model = \"gpt\"\nagent = \"nobody\"\n[redaction.patterns]\nx = \"(\"\n[models.plain]\ncontext = 1\n\
         [agents.build.options]\nreasoningEffort = \"enormous\"\nmessages = []",
        "",
    );
    let refusal = world.refusal();
    for part in [
        ":1: `model`: \"gpt\" names no model",
        ":2: `agent`: there is no agent \"nobody\"; there are build, explore, plan",
        ":4: `redaction.patterns.x`: no regular expression",
        ":5: `models.\"plain\"`: a model is named \"provider/id\"",
        ":8: `agents.build.options.reasoningEffort`: openai.reasoningEffort: there is no reasoning effort \"enormous\"",
        ":9: `agents.build.options.messages`: http.body cannot overlay protocol-owned field(s): messages",
    ] {
        assert!(refusal.contains(part), "{part}\nin\n{refusal}");
    }
}

#[test]
fn time_zone_switches_and_depth_are_configured() {
    let world = World::with(
        "time_zone = \"Asia/Tokyo\"\n[switch]\nagent = \"replace\"\n[tasks]\ndepth = 3",
        "[switch]\nmodel = \"replace\"",
    );
    let config = world.config();
    assert_eq!(config.clock().offset_minutes(Time(0)), 9 * 60);
    assert_eq!(config.policy(), Policy { agent_switch: Switch::Replace, model_switch: Switch::Replace });
    let subagents = config.subagents();
    assert_eq!((subagents.agents.len(), subagents.agents[0].agent.as_str(), subagents.depth), (1, "explore", 3));

    let usual = World::new().config();
    assert_eq!((usual.policy(), usual.subagents().depth), (Policy::default(), 1));
    assert!(World::with("[tasks]\ndepth = 0", "").config().subagents().agents.is_empty());

    let refused = World::with("\ntime_zone = \"Mars/Olympus\"", "").refusal();
    assert!(refused.contains(":2") && refused.contains("`time_zone`") && refused.contains("Mars/Olympus"), "{refused}");
}
