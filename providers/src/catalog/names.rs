//! Which listed model a name means that is written otherwise: with a date, a version, or its maker before it.

use super::{Catalog, CostEntry};
use annals_core::ModelName;
use annals_core::event::Prices;

impl Catalog {
    /// What a model costs, also where its name is dated (`claude-sonnet-4-5-20250929`) or names its maker
    /// (`openrouter/anthropic/claude-sonnet-4.5`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`). `None` when no price
    /// is listed.
    ///
    /// ```
    /// use annals_providers::catalog::Catalog;
    /// let catalog = Catalog::built_in();
    /// let dated = catalog.prices(&"anthropic/claude-sonnet-4-5-20250929".into());
    /// assert_eq!(dated, catalog.prices(&"anthropic/claude-sonnet-4-5".into()));
    /// assert_eq!(catalog.prices(&"anthropic/claude-of-next-year".into()), None);
    /// ```
    pub fn prices(&self, name: &ModelName) -> Option<Prices> {
        let (provider, id) = name.as_str().split_once('/')?;
        let listed = |provider: &str, id: &str| {
            // A provider without listed models has no listed price either.
            spellings(id).iter().find_map(|id| {
                let name = ModelName(format!("{provider}/{id}"));
                let added = || self.prices.models.get(name.as_str()).map(CostEntry::prices);
                self.model(&name).and_then(|model| model.prices).or_else(added)
            })
        };
        listed(provider, id).or_else(|| made_by(id).find_map(|(maker, id)| listed(maker, id)))
    }
}

/// An id as it is, and without what is appended to it: a version, a date; then with the number of the model joined by a
/// hyphen.
fn spellings(id: &str) -> Vec<String> {
    let versioned = id.split_once(':').map_or(id, |(id, _)| id);
    let versioned = versioned.rsplit_once("-v").filter(|(_, v)| is_number(v)).map_or(versioned, |(id, _)| id);
    let mut all = vec![id.to_owned(), versioned.to_owned(), undated(versioned).to_owned()];
    let hyphens: Vec<String> = all.iter().map(|id| id.replace('.', "-")).collect();
    all.extend(hyphens);
    all.dedup();
    all
}

/// An id without the date that it ends in: `-20250929`, `@20250929`, `-2025-09-29`; or without `-latest`.
fn undated(id: &str) -> &str {
    if let Some(id) = id.strip_suffix("-latest") {
        return id;
    }
    let is_date = |text: &str| text.len() == 8 && is_number(text);
    match id.rsplit_once(['-', '@']) {
        Some((rest, date)) if is_date(date) => return rest,
        _ => {}
    }
    let mut parts = id.rsplitn(4, '-');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(day), Some(month), Some(year), Some(rest))
            if day.len() == 2 && month.len() == 2 && year.len() == 4 && is_number(&[year, month, day].concat()) =>
        {
            rest
        }
        _ => id,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Makers that an id may name before the model, with the rest of it.
fn made_by(id: &str) -> impl Iterator<Item = (&str, &str)> {
    let slashes = id.match_indices('/').map(|(at, _)| at);
    let dots = id.match_indices('.').map(|(at, _)| at);
    slashes.chain(dots).filter_map(move |at| {
        let (maker, rest) = (id.get(..at)?, id.get(at + 1..)?);
        // A region may precede the maker.
        Some((maker.rsplit(['.', '/']).next()?, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::{made_by, undated};
    use crate::catalog::Catalog;

    #[test]
    fn dated_and_prefixed_names_have_the_price_of_their_model() {
        let catalog = Catalog::built_in();
        let price = |name: &str| catalog.prices(&name.into()).map(|prices| prices.input);
        let sonnet = price("anthropic/claude-sonnet-4-5");
        assert!(sonnet.is_some());
        for name in [
            "anthropic/claude-sonnet-4-5-20250929",
            "anthropic/claude-sonnet-4-5-latest",
            "anthropic/claude-sonnet-4-5@20250929",
            "openrouter/anthropic/claude-sonnet-4.5",
            "amazon-bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ] {
            assert_eq!(price(name), sonnet, "{name}");
        }
        assert_eq!(price("openai/gpt-5-codex"), price("openai/gpt-5"));
        assert_eq!(price("openai/gpt-5-2025-08-07"), price("openai/gpt-5"));
        // One that is not listed has none, however alike its name.
        assert_eq!(["openai/gpt-5-turbo", "mine/gpt-5", "gpt-5", "anthropic/", "/"].map(price), [None; 5]);
    }

    #[test]
    fn what_is_no_date_stays() {
        assert_eq!(["a-1234567", "a-2025-9-29", "gpt-4.1"].map(undated), ["a-1234567", "a-2025-9-29", "gpt-4.1"]);
        assert_eq!(made_by("us.anthropic.x").collect::<Vec<_>>(), [("us", "anthropic.x"), ("anthropic", "x")]);
    }
}
