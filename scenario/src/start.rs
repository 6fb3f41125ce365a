//! The starter scenario.

/// A commented scenario that passes; `annals dev scenario new` writes it.
pub const STARTER: &str = include_str!("start.jsonc");

#[cfg(test)]
mod tests {
    use super::STARTER;
    use crate::Scenario;
    use std::path::Path;

    #[test]
    fn the_start_is_a_valid_scenario_with_comments() {
        let scenario = Scenario::parse(STARTER, Path::new("start")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.script.len(), 7);
        assert!(STARTER.lines().filter(|line| line.trim_start().starts_with("//")).count() >= 8);
    }
}
