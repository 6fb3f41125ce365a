//! Retention rules: which texts are erased at which age, on request (`docs/configuration.md#retention`).

use crate::config::Config;
use crate::origin::{ConfigLayer, ValueOrigin};
use crate::reading::Setting;
use annals_core::Time;
use annals_store::exchange::WithholdRule;

/// Which texts are erased, and at which age.
#[derive(Clone, Debug)]
pub struct RetentionRule {
    /// Which texts.
    pub selects: WithholdRule,
    /// The age as it is written, such as `90d`.
    pub age: String,
    /// The age in milliseconds.
    pub after_ms: u64,
}

impl RetentionRule {
    /// Reads the setting of a rule.
    ///
    /// # Errors
    /// What is wrong with it, for the user.
    pub(crate) fn read(rule: &str, setting: &Setting) -> Result<Self, String> {
        if matches!(setting.origin, ValueOrigin::File { layer: ConfigLayer::Project, .. }) {
            return Err("a project cannot say what is erased; put it into your own configuration".to_owned());
        }
        let selects: WithholdRule =
            rule.parse().map_err(|error: annals_store::exchange::InvalidRule| error.to_string())?;
        if !selects.is_general() {
            return Err(
                "event numbers mean another event in every session; use tool:, path:, kind: or text:".to_owned()
            );
        }
        let age = setting.value.as_str().unwrap_or_default();
        let after_ms = milliseconds(age).ok_or_else(|| format!("{age:?} is not an age such as 12h, 90d, 12w or 2y"))?;
        Ok(Self { selects, age: age.to_owned(), after_ms })
    }

    /// The rule for texts that have this age now.
    pub fn at(&self, now: Time) -> WithholdRule {
        self.selects.clone().before(Time(now.millis().saturating_sub(self.after_ms)))
    }

    /// The rule for a record, such as `tool:bash after 90d`. It does not contain an expression.
    pub fn recordable(&self) -> String {
        format!("{} after {}", self.selects.recordable(), self.age)
    }
}

impl Config {
    /// The retention rules of the user.
    pub fn retention(&self) -> Vec<RetentionRule> {
        let rules = self.settings.all().iter().filter_map(|setting| match setting.path.as_slice() {
            // Each was read when the configuration was loaded.
            [table, rule] if table == "retention" => RetentionRule::read(rule, setting).ok(),
            _ => None,
        });
        rules.collect()
    }
}

/// Milliseconds of `12h`, `90d`, `12w`, `2y` (of 365 days); `None` for anything else, and for 0.
fn milliseconds(age: &str) -> Option<u64> {
    const HOUR: u64 = 3_600_000;
    let (number, unit) = age.split_at_checked(age.len().checked_sub(1)?)?;
    let unit = match unit {
        "h" => HOUR,
        "d" => 24 * HOUR,
        "w" => 7 * 24 * HOUR,
        "y" => 365 * 24 * HOUR,
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|number| is_number && *number > 0)?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        let day = 86_400_000;
        assert_eq!(["12h", "90d", "2w", "1y"].map(milliseconds), [day / 2, 90 * day, 14 * day, 365 * day].map(Some));
        assert_eq!(
            ["", "d", "90", "0d", "-1d", "+1d", "9m", "99999999999999999999y", "ä"].map(milliseconds),
            [None; 9]
        );
    }
}
