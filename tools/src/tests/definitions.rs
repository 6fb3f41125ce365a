//! What models are told of the tools.

use crate::{Workplace, further_tools, tools};
use annals_core::NoBlobs;
use annals_runtime::tools::Tool;
use std::sync::Arc;

fn rendered(tool: &Arc<dyn Tool>) -> String {
    let definition = tool.definition();
    let schema = definition.schema.value(&NoBlobs);
    format!("{} ({}): {}\n{schema:#}\n", definition.name, tool.action(), definition.description.resolve(&NoBlobs))
}

#[test]
fn the_definitions_are_stable_and_hold_nothing_but_what_a_model_needs() {
    let tools = tools(&Workplace::at("/project", "/project"));
    let lines: Vec<String> = tools.iter().map(rendered).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_further_definitions_are_stable_and_short() {
    let further = further_tools(&Workplace::at("/project", "/project"), None, None);
    let lines: Vec<String> = further.iter().map(rendered).collect();
    let all = lines.join("\n");
    let length: usize = further
        .iter()
        .map(|tool| tool.definition())
        .map(|one| (one.description.chars() + one.schema.0.chars()) as usize)
        .sum();
    assert!(length < 4_500, "{length} characters: every request of every session sends them");
    insta::assert_snapshot!(all);
}

#[test]
fn a_schema_is_canonical_text_that_does_not_depend_on_the_place() {
    let schemas = |at: &str| -> Vec<_> {
        tools(&Workplace::at(at, at))
            .iter()
            .map(|tool| (tool.definition().schema, tool.definition().description))
            .collect()
    };
    assert_eq!(schemas("/project"), schemas("/elsewhere"));
    for (schema, _) in schemas("/project") {
        let text = schema.0.resolve(&NoBlobs).into_owned();
        assert!(
            !text.contains("$schema") && !text.contains("\"null\"") && text.contains("\"additionalProperties\":false")
        );
    }
}
