//! What is found in the contents of results: in JSON at every depth, and in files that are kept for secrets.

use super::{look, looked};
use crate::world::Tested;
use annals_core::event::Attachment;
use annals_runtime::tools::ToolOutput;
use serde_json::json;

const PASSWORD: &str = "Tr0ub4dor3xyz1";

/// A secret that only its name gives away, at the beginning of a line.
fn lines() -> String {
    format!("PORT=1\nDB_PASSWORD={PASSWORD}\nAuthorization: Bearer q7w8{PASSWORD}")
}

#[tokio::test]
async fn secrets_at_the_beginning_of_lines_in_json_are_found_in_every_field_of_a_result() -> Tested {
    let output = || {
        let inner = json!({"stdout": lines(), "big": 12_345_678_901_234_567_890_u64}).to_string();
        let structured = ToolOutput::structured(&json!({"z": [{"deep": [lines()]}], "a": inner}));
        let text = serde_json::to_string_pretty(&json!({"cell": lines()})).unwrap_or_default();
        let uri = format!("data:application/json,{}", json!({"k": lines()})).into();
        let attachments = vec![Attachment { mime: "application/json".into(), name: None, uri }];
        Ok(ToolOutput { text: Some(text), attachments, ..structured })
    };
    let (guarded, session) = looked(look(output)).await?;
    let all = guarded.everything(&session).await?;
    assert!(!all.contains(PASSWORD), "{all}");
    assert!(all.contains("12345678901234567890"), "numbers stay as they are: {all}");
    // Two in each of: the text, the list, the inner JSON, the attachment.
    assert_eq!(guarded.counted(&session).await?, 8);
    Ok(())
}

#[tokio::test]
async fn every_value_of_a_file_that_is_kept_for_secrets_counts() -> Tested {
    for (path, line, value) in [
        ("/project/.env.local", "     1\tGREETING=Correct Horse 9", "Correct Horse 9"),
        ("/project/server.pem", "    12\tMIIEpAIBAAKCAQEA1b2c3D4e5F6g7H8i9J0kLmNo", "MIIEpAIBAAKCAQEA"),
        ("/home/me/.aws/credentials", "profile_note = Zq8wT5vKx2mY", "Zq8wT5vKx2mY"),
    ] {
        let output =
            move || Ok(ToolOutput { read: vec![path.into()], ..ToolOutput::text(format!("{line}\nPORT=3000\n")) });
        let (guarded, session) = looked(look(output)).await?;
        let all = guarded.everything(&session).await?;
        assert!(!all.contains(value) && all.contains("[redacted:"), "{path}: {all}");
        assert!(all.contains("PORT=3000"), "{path}: {all}");
    }
    // The same line of another file says nothing.
    let output =
        || Ok(ToolOutput { read: vec!["/project/notes".into()], ..ToolOutput::text("GREETING=Correct Horse 9") });
    let (guarded, session) = looked(look(output)).await?;
    assert!(guarded.everything(&session).await?.contains("Correct Horse 9"));
    Ok(())
}
