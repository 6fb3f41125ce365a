use super::*;
use annals_core::NoBlobs;
use annals_core::event::Effect;
use annals_core::permission::authorise;
use annals_runtime::providers::{EndpointError, Endpoints, KeySource};
use annals_runtime::settings::Definitions;
use std::fs;

/// A home and a project in a folder of their own.
struct World {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("project/.git")).expect("a project");
        let home = folder.path().join("home").to_string_lossy().into_owned();
        Self { folder, variables: vec![("HOME", home)] }
    }

    fn with(user: &str, project: &str) -> Self {
        let world = Self::new();
        world.write("home/.config/annals/config.toml", user);
        world.write("project/.annals/config.toml", project);
        world
    }

    fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn environment(&self) -> Environment {
        let variables = Variables::fixed(self.variables.iter().map(|(name, value)| (*name, value.clone())));
        Environment { variables, directory: self.folder.path().join("project") }
    }

    fn load(&self) -> Result<Config, ConfigError> {
        let environment = self.environment();
        environment.config(&environment.directory)
    }

    fn config(&self) -> Config {
        self.load().unwrap_or_else(|error| panic!("{}", self.stable(&error.to_string())))
    }

    /// Why there is none, with the folder's name taken out.
    fn refusal(&self) -> String {
        self.stable(&self.load().err().map(|error| error.to_string()).unwrap_or_default())
    }

    fn stable(&self, text: &str) -> String {
        text.replace(&*self.folder.path().to_string_lossy(), "")
    }

    fn trust(&self) {
        let environment = self.environment();
        let places = environment.places().expect("places");
        let project = ProjectFile::find(&environment.directory, &environment.variables).expect("a project");
        let text = fs::read_to_string(&project.file).expect("its file");
        Trust::kept_in(&places.trust).give(&project, &text).expect("trust");
    }
}

const USER: &str = "/home/.config/annals/config.toml";
const PROJECT: &str = "/project/.annals/config.toml";

#[test]
fn without_any_file_there_are_three_agents_and_careful_rules() {
    let config = World::new().config();
    assert_eq!(
        (config.default_agent().as_str(), config.default_model(&"build".into()), config.titles()),
        ("build", None, true)
    );
    let names: Vec<&str> = config.agents.keys().map(AgentName::as_str).collect();
    assert_eq!(names, ["build", "explore", "plan"]);
    let says = |agent: &str, action: &str, resource: &str| {
        let rules = config.agent(&agent.into()).map(|profile| profile.permissions).unwrap_or_default();
        authorise(&rules, &[], action, &[resource])
    };
    assert_eq!(says("build", "read", "src/main.rs"), Effect::Allow);
    assert_eq!(says("build", "read", "prod/.env"), Effect::Ask);
    assert_eq!((says("build", "edit", "a"), says("build", "bash", "ls")), (Effect::Ask, Effect::Ask));
    assert_eq!((says("plan", "edit", "a"), says("explore", "bash", "ls")), (Effect::Deny, Effect::Deny));
    assert!(!config.agents[&"build".into()].takes_tasks() && config.agents[&"explore".into()].takes_tasks());
    assert_eq!(config.compaction(), annals_runtime::settings::CompactionSettings::default());
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
    assert_eq!(world.stable(&instructions.global.join(" ")), "/home/.config/annals/AGENTS.md");
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
             {USER}:7: unknown key `agents.build.zzz`; there are description, mode, text, text_file, note, model, steps, \
             permissions, options\n\
             {USER}:9: unknown key `providers.openai.api_key`: keys never stand in files; name a variable with `key_env` \
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
    let told = world.refusal();
    let lines: Vec<&str> = told.lines().map(|line| line.trim_start_matches(USER)).collect();
    assert_eq!(
        lines,
        [
            ":1: `titles`: expected true or false, found \"yes\"; write `titles = true` or `titles = false`",
            ":2: `agent`: expected a text, found 3; write `agent = \"...\"`",
            ":3: `catalog`: expected a list, found \"x\"; write `catalog = [\"...\", \"...\"]`",
            ":4: `permissions`: expected rules such as [\"bash\", \"git *\", \"allow\"] (allow, ask or deny), \
             found [\"read\", \"*\", \"maybe\"]",
            ":6: `compaction.buffer`: expected a whole number, 0 or more, found -1; write `buffer = 1000`",
            ":8: `agents.build.mode`: expected one of primary, subagent, all, found \"boss\"; write `mode = \"primary\"`",
            ":9: `agents.build.options`: expected a table, found 3; write `[agents.build.options]` and its keys \
             below that",
            ":11: `models.\"a/b\".price.input`: expected an amount of dollars: finer than a nano-dollar (nine decimal \
             places), found 0.1234567891; write `input = \"2.50\"`",
            ":11: `models.\"a/b\".price.output`: expected an amount of dollars: not an amount of dollars such as 0.25, \
             found \"x\"; write `output = \"2.50\"`",
            ":12: `models.\"a/b\".options.when`: dates and endless numbers have no place here",
        ]
    );
    assert!(World::with("model = ", "").refusal().starts_with(&format!("{USER}:1: ")));
    let tables = World::with("[[permissions]]\naction = \"bash\"", "").refusal();
    let expected = "`permissions`: expected a list, found tables in double brackets; \
                    write `permissions = [[\"bash\", \"git *\", \"allow\"]]`";
    assert_eq!(tables, format!("{USER}:1: {expected}"));
    let text = World::with("[agents]\nreviewer = \"strict\"", "").refusal();
    assert!(text.ends_with("found \"strict\"; write `[agents.reviewer]` and its keys below that"), "{text}");
}

#[test]
fn what_makes_no_sense_together_is_named() {
    let world = World::with(
        "model = \"gpt\"\nagent = \"nobody\"\n[redaction.patterns]\nx = \"(\"\n[models.plain]\ncontext = 1\n\
         [agents.build.options]\nreasoningEffort = \"enormous\"\nmessages = []",
        "",
    );
    let told = world.refusal();
    for part in [
        ":1: `model`: \"gpt\" names no model",
        ":2: `agent`: there is no agent \"nobody\"; there are build, explore, plan",
        ":4: `redaction.patterns.x`: no regular expression",
        ":5: `models.\"plain\"`: a model is named \"provider/id\"",
        ":8: `agents.build.options.reasoningEffort`: openai.reasoningEffort: there is no reasoning effort \"enormous\"",
        ":9: `agents.build.options.messages`: http.body cannot overlay protocol-owned field(s): messages",
    ] {
        assert!(told.contains(part), "{part}\nin\n{told}");
    }
}

/// What a project may not do by itself: its lines, and what is said of the first of them.
const DANGEROUS: [(&str, &str); 18] = [
    (
        "[providers.openai]\nbase_url = \"http://evil\"",
        ":2: `providers.openai.base_url`: it could send keys and code to another place",
    ),
    ("[providers.openai]\nkey_env = \"AWS_SECRET\"", ":2: `providers.openai.key_env`: it could send keys"),
    ("[providers.openai.headers]\nx = \"y\"", ":2: `providers.openai.headers.x`: it could send keys"),
    ("[providers.mine]\nprotocol = \"openai-chat\"", ":2: `providers.mine.protocol`: it could send keys"),
    (
        "[providers.mine]\nkey_command = [\"sh\"]",
        ":2: `providers.mine.key_command`: it names a command that would be run",
    ),
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
    ("[redaction]\npublic_env = [\"A_KEY\"]", ":2: `redaction.public_env`: it would keep less secret"),
    ("[instructions]\nglobal = [\"a\"]", ":2: `instructions.global`: it could tell the model what stands in any file"),
    ("[instructions]\nfiles = [\"../../x\"]", ":2: `instructions.files`: \"../../x\" leads out of the project"),
    ("[instructions]\nnames = [\"A.md\", \"../.ssh/id\"]", ":2: `instructions.names`: \"../.ssh/id\" leads out"),
    (
        "[agents.build.options]\nhostedTools = [{ type = \"mcp\", server_url = \"http://evil\" }]",
        ":2: `agents.build.options.hostedTools`: it could send keys and code to another place",
    ),
    ("[agents.build.options]\nbody = { metadata = \"x\" }", ":2: `agents.build.options.body`: it could send keys"),
    ("[models.\"openai/x\".options]\nstore = true", ":2: `models.\"openai/x\".options.store`: it could send keys"),
    ("[agents.x]\ntext_file = \"~/.ssh/id\"", ":2: `agents.x.text_file`: \"~/.ssh/id\" leads out of the project"),
];

#[test]
fn what_is_dangerous_in_a_projects_file_is_refused_with_its_line_and_how_to_trust() {
    for (lines, why) in DANGEROUS {
        let told = World::with("", lines).refusal();
        assert!(told.starts_with(&format!("{PROJECT}{why}")), "{lines}\ngave\n{told}");
        assert!(told.contains("say `annals config trust /project`"), "{told}");
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
    let told = World::with("agent = \"plan\"", "agent = \"build\"").refusal();
    assert!(told.starts_with(&format!("{PROJECT}:1: `agent`: {USER}:1 says otherwise")), "{told}");
}

#[test]
fn a_project_does_not_change_what_the_user_keeps_secret() {
    let patterns = |regex: &str| format!("[redaction]\npatterns = {{ id = \"{regex}\" }}");
    let told = World::with(&patterns("ID-[0-9]+"), &patterns("nothing-like-it")).refusal();
    assert!(told.starts_with(&format!("{PROJECT}:2: `redaction.patterns.id`: {USER}:2 says otherwise")), "{told}");
}

#[test]
fn links_out_of_a_project_count_only_where_it_is_trusted() {
    let world = World::with("[skills]\nfolders = [\"mine\"]", "[skills]\nfolders = [\"theirs\"]");
    let told = |config: &Config| {
        let roots = config.skills();
        let within = |root: &Root| format!("{} {}", root.path, root.within.as_deref().unwrap_or("-"));
        (config.instructions().links_out, roots.iter().map(|root| world.stable(&within(root))).collect::<Vec<_>>())
    };
    let untrusted = [
        "/project/.annals/skills /project",
        "/home/.config/annals/mine -",
        "/project/theirs /project",
        "/home/.config/annals/skills -",
    ];
    assert_eq!(told(&world.config()), (false, untrusted.map(str::to_owned).to_vec()));
    world.trust();
    let (links_out, roots) = told(&world.config());
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
fn models_and_providers_are_laid_over_the_list() {
    let world = World::with(
        "catalog = [\"models.json\"]\n[providers.mine]\nbase_url = \"http://host:1/v1/\"\nkey_command = [\"pass\", \"mine\"]\n\
         headers = { X-Team = \"a\" }\noptions = { temperature = 0.5, body = { a = 1, b = 1 } }\nidle_timeout_ms = 9\n\
         [models.\"mine/m\"]\ncontext = 1000\nprice = { input = 0.25, output = \"1.5\" }\nmedia = [\"image\"]\n\
         options = { topP = 1, body = { b = 2 } }\n[models.\"openai/gpt-5\"]\nprice.input = 1\n\
         [agents.build.options]\ntemperature = 1\n[providers.openai]\nkey_env = \"MY_KEY\"",
        "",
    );
    world.write("home/.config/annals/models.json", r#"{"openai": {"models": {"gpt-6": {"limit": {"context": 5}}}}}"#);
    let config = world.config();
    let profile = Definitions::model(&config, &"mine/m".into()).expect("it is spoken to");
    assert_eq!((profile.context, profile.prices.input, profile.prices.output), (1_000, 250_000_000, 1_500_000_000));
    assert_eq!((profile.protocol.as_str(), profile.media.len()), ("openai-chat", 4));
    let endpoint = config.endpoint(&"mine/m".into()).expect("it is reached");
    assert_eq!(endpoint.base_url, "http://host:1/v1");
    assert_eq!(endpoint.key, Some(KeySource::Command(vec!["pass".into(), "mine".into()])));
    assert_eq!((endpoint.headers["X-Team"].as_str(), endpoint.limits.idle.as_millis()), ("a", 9));
    assert_eq!(config.endpoint(&"nobody/m".into()), Err(EndpointError::UnknownProvider("nobody/m".into())));
    assert_eq!(config.key("openai"), Some(KeySource::Env("MY_KEY".into())));
    assert!(!config.has_key("openai") && config.has_key("ollama") && config.has_key("mine"));
    assert_eq!(Definitions::model(&config, &"openai/gpt-6".into()).map(|profile| profile.context), Some(5));
    let gpt = Definitions::model(&config, &"openai/gpt-5".into()).expect("built in");
    assert_eq!((gpt.prices.input, gpt.prices.output), (1_000_000_000, 10_000_000_000));
    // The provider's settings, the model's over them, the agent's over both.
    let options = config.options(&"build".into(), &"mine/m".into());
    let told = |part: &BTreeMap<String, annals_core::Json>| {
        part.iter().map(|(name, value)| format!("{name}={}", value.0.resolve(&NoBlobs))).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((told(&options.controls), told(&options.body)), ("temperature=1 top_p=1".into(), "a=1 b=2".into()));
}

#[test]
fn an_agents_text_suits_the_model_it_speaks_to() {
    let config = World::with("[agents.own]\ntext = \"Mine.\"", "").config();
    let text = |agent: &str, model: &str| {
        let profile = config.agent_on(&agent.into(), &model.into()).expect("an agent");
        profile.system.map(|text| text.resolve(&NoBlobs).into_owned()).unwrap_or_default()
    };
    assert_ne!(text("build", "anthropic/claude-sonnet-5"), text("build", "openai/gpt-5.5"));
    assert_eq!(text("own", "openai/gpt-5.5"), "Mine.");
    let plan = text("plan", "openai/gpt-5.5");
    assert!(plan.starts_with(&text("build", "openai/gpt-5.5")) && plan.contains("You are planning"));
}

#[test]
fn the_redactor_knows_the_environment_and_what_the_files_add() {
    let world = World::with(
        "[redaction]\nenv = [\"MINE\"]\npublic_env = [\"MY_PUBLIC_KEY\"]\npatterns = { employee = \"EMP-[0-9]{6}\" }\n\
         [providers.own]\nkey_env = \"OWN\"",
        "",
    );
    let named = ["MINE", "MY_PUBLIC_KEY", "OWN", "OPENAI_API_KEY", "EDITOR"];
    let world = named.into_iter().fold(world, |world, name| world.variable(name, &format!("value-of-{name}")));
    let redactor = world.config().redactor().expect("it is on");
    let text = named.map(|name| format!("value-of-{name}")).join(" ") + " EMP-123456";
    assert_eq!(
        redactor.redact(&text).text,
        "[redacted:env:MINE] value-of-MY_PUBLIC_KEY [redacted:env:OWN] [redacted:env:OPENAI_API_KEY] value-of-EDITOR \
         [redacted:employee]"
    );
    assert!(World::with("redaction.enabled = false", "").config().redactor().is_none());
}

/// The rows of some keys, below a path, for docs/configuration.md.
fn rows(keys: &[Key], below: &str) -> String {
    let row = |key: &Key| {
        let (shape, inner) = match key.kind {
            Kind::Table(inner) => ("", Some((inner, format!("{below}{}.", key.name)))),
            Kind::Each(inner) => ("", Some((inner, format!("{below}{}.NAME.", key.name)))),
            Kind::Text => ("text", None),
            Kind::Flag => ("true, false", None),
            Kind::Count => ("number", None),
            Kind::Word(words) => return format!("| `{below}{}` | {} | {} |\n", key.name, words.join(", "), key.about),
            Kind::Price => ("dollars", None),
            Kind::Texts => ("list", None),
            Kind::Added => ("list, added to", None),
            Kind::Rules => ("rules, added to", None),
            Kind::Named => ("table of texts", None),
            Kind::Free => ("table", None),
        };
        match inner {
            Some((inner, below)) => rows(inner, &below),
            None => format!("| `{below}{}` | {shape} | {} |\n", key.name, key.about),
        }
    };
    keys.iter().map(row).collect()
}

#[test]
fn the_documentation_lists_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let text = fs::read_to_string(&path).expect("the documentation");
    let (before, rest) = text.split_once("<!-- keys -->\n").expect("the table's beginning");
    let (_, after) = rest.split_once("<!-- /keys -->").expect("the table's end");
    let table = rows(KEYS, "");
    let now = format!(
        "{before}<!-- keys -->\n| Key | Value | What it is for |\n| --- | --- | --- |\n{table}<!-- /keys -->{after}"
    );
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, &now).expect("the documentation");
    }
    assert!(text == now || std::env::var_os("UPDATE_README").is_some(), "UPDATE_README=1 writes the table anew");
}
