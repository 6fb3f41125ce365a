use super::{PatternError, Redactor};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

#[test]
fn a_value_of_a_secret_variable_is_replaced_in_every_form_that_it_turns_up_in() {
    let redactor = Redactor::default().with_variable("DB_PASSWORD", "p\"ss wörd/1");
    for (text, redacted) in [
        ("it is p\"ss wörd/1.", "it is [redacted:env:DB_PASSWORD]."),
        (r#"{"a":"p\"ss wörd/1"}"#, r#"{"a":"[redacted:env:DB_PASSWORD]"}"#),
        ("x?p=p%22ss%20w%C3%B6rd%2F1&y", "x?p=[redacted:env:DB_PASSWORD]&y"),
    ] {
        assert_eq!(redactor.redact(text).text, redacted);
    }
}

#[test]
fn variables_are_secret_by_name_unless_their_value_is_plainly_none() {
    let variables = [
        ("OPENAI_API_KEY", "value-of-openai"),
        ("EDITOR", "value-of-editor"),
        ("SHORT_TOKEN", "short"),
        ("MAX_TOKENS", "1280000000"),
        ("SSH_AUTH_SOCK", "/run/user/1000/agent"),
        ("TLS_KEY", "/etc/ssl/private/key"),
        ("MINE", "value-of-mine"),
        ("PUBLIC_KEY", "value-of-public"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let redactor = Redactor::default().with_environment(variables.clone(), &["MINE".into()], &["PUBLIC_KEY".into()]);
    let text = variables.map(|(_, value)| value).join(" | ");
    assert_eq!(
        redactor.redact(&text).text,
        "[redacted:env:OPENAI_API_KEY] | value-of-editor | short | 1280000000 | /run/user/1000/agent | \
         /etc/ssl/private/key | [redacted:env:MINE] | value-of-public"
    );
}

#[test]
fn the_rest_of_a_private_key_is_one_without_its_beginning() {
    let line = "MIIEpAIBAAKCAQEA1b2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ+/abcdefghij";
    let end = "-----END RSA PRIVATE KEY-----";
    for text in [
        format!("{line}\n{line}\nMIIEpA==\n{end}\n"),
        format!("{line}\r\n{line}\r\n{end}\n"),
        format!("     8\t{line}\n     9\t{line}\n    10\tMIIEpA==\n    11\t{end}\n"),
        format!(r"{line}\n{line}\nMIIEpA==\n{end}\n"),
    ] {
        let redacted = Redactor::default().redact(&text);
        assert!(
            redacted.text.contains("[redacted:private-key]") && !redacted.text.contains("MII"),
            "{}",
            redacted.text
        );
        assert_eq!(redacted.counts.values().sum::<u64>(), 1, "{}", redacted.text);
    }
    let message = "The file ends with -----END RSA PRIVATE KEY-----.";
    assert_eq!(Redactor::default().redact(message).text, message);
}

#[test]
fn overlapping_secrets_are_replaced_together() {
    let key = format!("sk-ant-api03-{}", "aB3".repeat(20));
    let redactor = Redactor::default().with_variable("ANTHROPIC_API_KEY", &key).with_variable("PART_KEY", &key[20..40]);
    let redacted = redactor.redact(&key);
    assert_eq!(redacted.text, "[redacted:env:ANTHROPIC_API_KEY]");
    assert_eq!(redacted.counts.into_iter().collect::<Vec<_>>(), [("env:ANTHROPIC_API_KEY".to_owned(), 1)]);
    let longer = format!("{key}-and-more-of-it");
    assert_eq!(redactor.redact(&longer).text, "[redacted:anthropic-key]");
}

#[test]
fn a_value_that_stands_in_placeholders_is_no_secret() {
    let redactor = Redactor::default().with_variable("A_TOKEN", "redacted").with_variable("B_TOKEN", "env:B_TOKEN");
    let text = "redacted env:B_TOKEN [redacted:env:B_TOKEN]";
    assert_eq!(redactor.redact(text).text, text);
}

#[test]
fn patterns_of_ones_own_are_checked() {
    let employee = |text: &str| {
        let redactor = Redactor::default().with_pattern("employee", r"EMP-(\d{6})").expect("a pattern");
        redactor.redact(text).text.into_owned()
    };
    assert_eq!(employee("EMP-123456, EMP-12"), "EMP-[redacted:employee], EMP-12");
    let refused = |kind: &str, regex: &str| Redactor::default().with_pattern(kind, regex).err();
    assert!(matches!(refused("x", "("), Some(PatternError::Regex(_))));
    assert_eq!(refused("x", "a*"), Some(PatternError::Empty));
    assert_eq!(refused("x", "[a-z]+"), Some(PatternError::TooBroad));
    assert_eq!(refused("a b]", "x1"), Some(PatternError::Kind("a b]".into())));
}

#[test]
fn what_is_redacted_holds_nothing_more_to_redact() {
    // What stands before a secret of one kind can belong to one of another kind.
    let redactor = Redactor::default().with_variable("ODD_TOKEN", "]abc12345");
    let text = format!("ghp_{}abc12345 ghp_{}]abc12345", "a1B2".repeat(9), "a1B2".repeat(9));
    let once = redactor.redact(&text).text.into_owned();
    assert_eq!(redactor.redact(&once).text, once);
    assert!(!once.contains("]abc12345"), "{once}");
}

#[test]
fn the_debug_form_shows_no_value() {
    let redactor = Redactor::default().with_variable("MY_TOKEN", "very-secret-value");
    let shown = format!("{redactor:?}");
    assert!(shown.contains("env:MY_TOKEN") && !shown.contains("very-secret"), "{shown}");
}

proptest! {
    #[test]
    fn redaction_is_idempotent_and_leaves_no_known_value(
        pieces in prop::collection::vec(prop_oneof![
            Just("correct-horse".to_owned()), Just("Bearer ".to_owned()), Just("authorization: ".to_owned()),
            Just(format!("sk-ant-{}", "x1".repeat(12))), Just("://u:pw@h".to_owned()), Just("[redacted:jwt]".to_owned()),
            Just("API_KEY=".to_owned()), Just("\"".to_owned()), Just("a1B2c3D4e5F6g7H8i9".to_owned()), "[ -~é\n]{0,6}",
        ], 0..12),
    ) {
        let redactor = Redactor::default().with_variable("ODD_TOKEN", "correct-horse");
        let text = pieces.concat();
        let once = redactor.redact(&text);
        prop_assert!(!once.text.contains("correct-horse"));
        prop_assert_eq!(once.counts.is_empty(), once.text == text.as_str());
        let twice = redactor.redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
    }
}

#[test]
fn facts_lose_what_came_from_the_world_and_keep_what_a_model_wrote() {
    use annals_core::Event;
    use annals_core::event::{RedactionApplied, RevertStaged, SessionTitled, ShellRan, SyntheticAdded, TextEnded};
    let secret = "correct-horse-battery";
    let redactor = std::sync::Arc::new(Redactor::default().with_variable("DB_PASSWORD", secret));
    let said = TextEnded { index: 0, text: secret.into(), metadata: None };
    let mut events: Vec<Event> = vec![
        ShellRan { command: format!("login {secret}").into(), output: secret.into(), exit: Some(0) }.into(),
        RedactionApplied { counts: [("jwt".to_owned(), 1)].into() }.into(),
        said.clone().into(),
        SyntheticAdded { text: secret.into() }.into(),
        SessionTitled::given(secret).into(),
        RevertStaged {
            first_removed: annals_core::Seq(3),
            original: None,
            diff: Some(format!("-{secret}").into()),
            files: Vec::new(),
        }
        .into(),
    ];
    super::redact_events(&redactor, &mut events);
    let text = events.iter().map(|event| event.to_json().to_string()).collect::<Vec<_>>();
    assert_eq!(events.get(1), Some(&said.into()));
    assert_eq!(text.iter().filter(|text| text.contains(secret)).count(), 1, "{text:#?}");
    let counts = [("env:DB_PASSWORD".to_owned(), 5), ("jwt".to_owned(), 1)].into();
    assert_eq!(events.last(), Some(&RedactionApplied { counts }.into()), "one fact of it, at the end");
}

/// What an import appends for some facts, as JSON texts.
async fn imported(redactor: Redactor, events: Vec<annals_core::Event>) -> Vec<String> {
    use annals_store::{Draft, EventLog, MemoryLog};
    let log = super::RedactingLog::over(std::sync::Arc::new(MemoryLog::new()), std::sync::Arc::new(redactor));
    let created = annals_core::event::SessionCreated {
        location: annals_core::event::Location { directory: "/srv".into(), workspace: None },
        agent: "build".into(),
        model: "test/alpha".into(),
        policy: Default::default(),
        title: None,
        parent: None,
        origin: None,
        process: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    };
    let events = std::iter::once(created.into()).chain(events).collect();
    let (session, expected, at) = (annals_core::SessionId([1; 16]), annals_core::Seq(0), annals_core::Time(0));
    let appended = log.append(Draft { session, expected, at, events, digest: None, states: Vec::new() }).await;
    let events = appended.map(|committed| committed.batch.events.clone()).unwrap_or_default();
    events.iter().skip(1).map(|event| event.to_json().to_string()).collect()
}

#[tokio::test]
async fn an_imported_fact_loses_its_secrets_also_where_a_form_of_its_own_holds_one() {
    use annals_core::event::{ContextAdmitted, ToolCalled};
    // A key of a Context Source has a form; its text has none.
    let redactor = Redactor::default().with_variable("ODD_TOKEN", "acme/notes");
    let key: annals_core::Key = "acme/notes".parse().expect("a legal key");
    let admitted = ContextAdmitted { keys: vec![key], text: "acme/notes say hello".into() };
    let called = ToolCalled {
        index: 0,
        call: "acme/notes".into(),
        name: "read".into(),
        input: annals_core::Json::received(r#"{"path": "acme/notes", "n": 1e999}"#),
        hosted: false,
        metadata: None,
    };
    let texts = imported(redactor, vec![admitted.into(), called.into()]).await;
    let [context, call] = texts.as_slice() else { panic!("two facts: {texts:?}") };
    assert!(context.contains("[redacted:env:ODD_TOKEN] say hello") && context.contains(r#""acme/notes""#), "{context}");
    assert!(call.contains(r#"{\"path\": \"[redacted:env:ODD_TOKEN]\", \"n\": 1e999}"#), "{call}");
}

#[tokio::test]
async fn an_imported_attachment_is_decoded_to_find_what_is_secret_in_it() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let secret = "correct-horse-battery";
    let uri = format!("data:text/plain;base64,{}", STANDARD.encode(format!("x={secret}")));
    let admitted = annals_core::event::InputAdmitted {
        input: "m1".into(),
        text: "see there".into(),
        attachments: vec![annals_core::event::Attachment { mime: "text/plain".into(), name: None, uri: uri.into() }],
        delivery: annals_core::event::Delivery::Steer,
    };
    let redactor = Redactor::default().with_variable("DB_PASSWORD", secret);
    let texts = imported(redactor, vec![admitted.into()]).await.join("\n");
    let redacted = STANDARD.encode("x=[redacted:env:DB_PASSWORD]");
    assert!(texts.contains(&redacted), "{texts}");
}

#[test]
fn names_of_fields_that_become_one_placeholder_stay_as_many() {
    let redactor = Redactor::default().with_variable("A_TOKEN", "correct-horse").with_variable("Z_TOKEN", "battery-x");
    let mut redaction = super::Redaction::new(Some(&std::sync::Arc::new(redactor)));
    let text = r#"{"a":{"sk-ant-api03-aaaaaaaaaaaaaaaaaaaa":1,"sk-ant-api03-bbbbbbbbbbbbbbbbbbbb":2},"b":[1.50]}"#;
    let mut json = annals_core::Json::received(text);
    redaction.json(&mut json);
    let expected = r#"{"a":{"[redacted:anthropic-key]":1,"[redacted:anthropic-key]-2":2},"b":[1.50]}"#;
    assert_eq!(json.0.inline(), Some(expected));
    let mut value = serde_json::json!({"correct-horse": 1, "[redacted:env:A_TOKEN]": 2, "battery-x": 3});
    redaction.value(&mut value);
    let expected =
        serde_json::json!({"[redacted:env:A_TOKEN]-2": 1, "[redacted:env:A_TOKEN]": 2, "[redacted:env:Z_TOKEN]": 3});
    assert_eq!(value, expected);
    redaction.value(&mut value);
    assert_eq!(value, expected, "redacting again changes nothing");
}

#[test]
fn the_name_of_a_field_gives_its_value_away_in_a_text_and_in_a_value() {
    let redactor = std::sync::Arc::new(Redactor::default());
    let text = r#"{"env":{"API_KEY":"a1B2c3D4e5F6g7H8i9","authorization":"Bearer a1B2c3D4e5F6g7H8i9","HOME":"a1B2c3D4e5F6g7H8i9"}}"#;
    let redacted = r#"{"env":{"API_KEY":"[redacted:assigned-secret]","HOME":"a1B2c3D4e5F6g7H8i9","authorization":"Bearer [redacted:authorization]"}}"#;
    let redacted: serde_json::Value = serde_json::from_str(redacted).expect("JSON");
    let as_text = redactor.redact(text).text;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&as_text).ok(), Some(redacted.clone()));
    let mut redaction = super::Redaction::new(Some(&redactor));
    let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    redaction.value(&mut value);
    assert_eq!(value, redacted);
    assert_eq!(redaction.counts().values().sum::<u64>(), 2);
}

#[test]
fn a_text_that_comes_again_is_looked_at_again_once_a_redactor_knows_more() {
    let text = || annals_core::Text::from("the horse is correct-horse");
    let redactor = std::sync::Arc::new(Redactor::default());
    for _ in 0..2 {
        let (mut clean, mut redaction) = (text(), super::Redaction::new(Some(&redactor)));
        redaction.repeated(&mut clean);
        assert_eq!((clean, redaction.applied()), (text(), None));
    }
    let knowing = std::sync::Arc::new((*redactor).clone().with_variable("DB_PASSWORD", "correct-horse"));
    for _ in 0..2 {
        let (mut secret, mut redaction) = (text(), super::Redaction::new(Some(&knowing)));
        redaction.repeated(&mut secret);
        assert_eq!(secret.inline(), Some("the horse is [redacted:env:DB_PASSWORD]"));
        assert_eq!(redaction.counts().values().sum::<u64>(), 1);
    }
}

#[test]
fn a_known_value_is_found_when_simple_means_turn_it() {
    let value = "tr0ub4dor-and-three";
    let redactor = Redactor::default().with_variable("DEPLOY", value);
    let reversed: String = value.chars().rev().collect();
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    for text in [reversed, hex] {
        assert_eq!(redactor.redact(&text).text, "[redacted:env:DEPLOY]");
    }
    // As `base64` is used: of the value alone, of a line, and in the middle of a text at each of three places.
    for before in ["", "a", "ab", "abc", "user:", "DEPLOY="] {
        for after in ["", "\n", "zz"] {
            let encoded = STANDARD.encode(format!("{before}{value}{after}"));
            let redacted = redactor.redact(&encoded).text.into_owned();
            assert!(redacted.contains("[redacted:env:DEPLOY]"), "{before}{value}{after}: {redacted}");
            let left = redacted.replace("[redacted:env:DEPLOY]", "").len();
            assert!(left <= before.len() * 8 / 6 + after.len() * 8 / 6 + 6, "{redacted}");
        }
    }
}

#[test]
fn the_values_of_a_file_kept_for_secrets_are_found_elsewhere() {
    let env =
        "# shop\nDB_PASSWORD=tr0ub4dor3\nexport SALT='0f8e7d6c5b4a39281706f5e4'\nTITLE=An ordinary shop\nPORT=8080\n";
    let redactor = Redactor::default().with_file("/p/.env.local", env).with_file("notes.txt", "X_TOKEN=abcdefgh12345");
    assert_eq!(
        redactor.redact("connected with tr0ub4dor3; salt 0f8e7d6c5b4a39281706f5e4; An ordinary shop on 8080").text,
        "connected with [redacted:env:DB_PASSWORD]; salt [redacted:env:SALT]; An ordinary shop on 8080"
    );
    assert_eq!(redactor.redact("abcdefgh12345").text, "abcdefgh12345");
}

#[test]
fn the_work_grows_as_the_text_does() {
    let pieces = [
        "\"",
        "'",
        "a",
        "key",
        "\\",
        "password=",
        "password=\"",
        "password='\\\\",
        "password:\n ",
        "password {\n",
        "<password ",
        "<a:token ",
        "| password |\n",
        "token,user\n",
        "insert into t (password) values (",
        "insert into t (password) values ('a'), ",
        "QUJDREVGR0g",
        "[redacted:",
        "[redacted:jwt]",
        "\u{1b}[31mpassword",
        "\u{a0}",
        "{\"password\":",
        "[",
        "{\"a\":[",
        "password is ",
        "--password ",
        "kind: Secret\ndata:\n a: b\n",
        "\"password\": \"",
        "password\t",
        "name: ",
        "${PASSWORD:",
        "password.",
        "-----BEGIN PRIVATE KEY-----",
        "curl -u a:",
    ];
    let redactor = Redactor::default();
    let work = |piece: &str, length: usize| {
        super::work::counted();
        redactor.redact(&piece.repeat(length / piece.len()));
        super::work::counted()
    };
    for piece in pieces {
        let (once, twice) = (work(piece, 8 * 1024), work(piece, 32 * 1024));
        assert!(
            twice <= 5 * once + 8 * 1024,
            "{piece:?}: {once} bytes looked at, and {twice} of a text four times as long"
        );
        assert!(twice <= 400 * 32 * 1024, "{piece:?}: {twice} bytes looked at");
    }
    // Texts of JSON in texts of JSON, which end at some depth.
    let nested =
        |depth: usize| (0..depth).fold("x".to_owned(), |text, _| serde_json::json!({ "password": text }).to_string());
    super::work::counted();
    redactor.redact(&nested(12));
    assert!(super::work::counted() <= 100 * nested(12).len());
}

#[test]
fn a_placeholder_is_never_replaced_again() {
    let redactor = Redactor::default();
    for text in [
        "mysql -p[redacted:command-password] -e 'select 1'",
        "mysql -u root -p[redacted:assigned-secret]",
        "mysql -p[redacted:env:DB_PASSWORD]",
        "password: [redacted:assigned-secret]",
        "\"password\": \"[redacted:env:OF_ANOTHER]\"",
        "{\"command\":\"mysql -p[redacted:command-password]\",\"output\":\"password=[redacted:assigned-secret]\"}",
        "postgres://app:[redacted:url-password]@db/app?password=[redacted:assigned-secret]",
        "| user | password |\n| --- | --- |\n| me | [redacted:assigned-secret] |\n",
        "kind: Secret\ndata:\n  a: [redacted:assigned-secret]\n",
        "Authorization: Bearer [redacted:authorization]",
        "[redacted:assigned-secret]=[redacted:command-password]",
        "password [redacted:assigned-secret]",
        "curl -u me:[redacted:command-password] https://h",
    ] {
        assert_eq!(redactor.redact(text).text, text);
        let json = serde_json::json!({"command": text, "password": text}).to_string();
        let once = redactor.redact(&json).text.into_owned();
        assert_eq!(redactor.redact(&once).text, once);
    }
}

#[test]
fn a_password_that_is_a_number_of_json_becomes_a_text() {
    let redactor = std::sync::Arc::new(Redactor::default());
    let (text, redacted) = (
        r#"{"password": 48291057, "port": 5432, "n": [48291057]}"#,
        r#"{"password": "[redacted:assigned-secret]", "port": 5432, "n": [48291057]}"#,
    );
    assert_eq!(redactor.redact(text).text, redacted);
    let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    super::Redaction::new(Some(&redactor)).value(&mut value);
    assert_eq!(Some(value), serde_json::from_str(redacted).ok());
}
