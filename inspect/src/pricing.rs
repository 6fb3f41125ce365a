//! What sessions cost; where the log does not contain it, estimated from the prices of a catalog.

use crate::format::money;
use annals_core::ModelName;
use annals_core::event::Usage;
use annals_projections::UsageByModel;
use annals_providers::catalog::Catalog;
use std::collections::BTreeMap;

/// A list of prices.
#[derive(Clone, Debug)]
pub struct Pricing {
    catalog: Catalog,
}

/// What something cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// What the log says, in nano-dollars.
    pub recorded: u64,
    /// What the prices of the catalog add, in nano-dollars.
    pub estimated: u64,
    /// Whether the catalog knew a price for some of what the log does not know.
    pub is_estimated: bool,
    /// Whether there is more of which no price is known.
    pub is_incomplete: bool,
}

impl Pricing {
    /// The prices of a catalog.
    pub fn new(catalog: Catalog) -> Self {
        Self { catalog }
    }

    /// What something cost of which the log knows `recorded` nano-dollars, and of `unpriced` tokens no cost.
    pub fn cost(&self, recorded: u64, unpriced: &BTreeMap<ModelName, Usage>) -> Cost {
        let mut total = Cost { recorded, ..Cost::default() };
        for (model, usage) in unpriced {
            match self.catalog.prices(model) {
                Some(prices) => {
                    total.estimated = total.estimated.saturating_add(prices.cost(*usage));
                    total.is_estimated = true;
                }
                None => total.is_incomplete = true,
            }
        }
        total
    }

    /// What a session cost.
    pub fn total(&self, usage: &UsageByModel) -> Cost {
        self.cost(usage.total.cost, &usage.unpriced.tokens)
    }

    /// What one model of a session cost.
    pub fn of_model(&self, usage: &UsageByModel, model: &ModelName) -> Cost {
        let tokens = usage.unpriced.tokens.get(model).map(|usage| (model.clone(), *usage));
        self.cost(usage.models.get(model).map_or(0, |totals| totals.cost), &tokens.into_iter().collect())
    }
}

impl Cost {
    /// What the log alone knows: `recorded` nano-dollars, and whether something was used at an unknown price.
    pub fn of_log(recorded: u64, has_unpriced: bool) -> Self {
        Self { recorded, is_incomplete: has_unpriced, ..Self::default() }
    }

    /// As one item of a list: `$0.0231`, `cost -` when it is unknown; `None` without a cost.
    pub fn fact(&self) -> Option<String> {
        match (self.is_unknown(), self.known()) {
            (true, _) => Some("cost -".to_owned()),
            (false, 0) => None,
            (false, _) => Some(self.shown()),
        }
    }

    /// All that is known, in nano-dollars.
    pub fn known(&self) -> u64 {
        self.recorded.saturating_add(self.estimated)
    }

    /// Whether nothing is known although something was used.
    pub fn is_unknown(&self) -> bool {
        self.is_incomplete && self.known() == 0
    }

    /// For people: `$0.0231`, `~$0.0231` where some of it is estimated, `>$0.0231` where some of it is unknown, `-` where
    /// all of it is.
    pub fn shown(&self) -> String {
        let sign = match (self.is_incomplete, self.is_estimated) {
            (true, _) => ">",
            (false, true) => "~",
            (false, false) => "",
        };
        if self.is_unknown() { "-".to_owned() } else { format!("{sign}{}", money(self.known())) }
    }

    /// What the sign before a cost means; `None` for one without.
    pub fn remark(costs: impl IntoIterator<Item = Self>) -> Option<&'static str> {
        let (mut estimated, mut incomplete) = (false, false);
        for cost in costs {
            estimated |= cost.is_estimated && !cost.is_incomplete;
            incomplete |= cost.is_incomplete && !cost.is_unknown();
        }
        match (estimated, incomplete) {
            (true, false) => Some("~ estimated from list prices (annals models)"),
            (false, true) => Some("> at least: the price of some models is not known"),
            (true, true) => {
                Some("~ estimated from list prices (annals models); > at least: the price of some models is not known")
            }
            (false, false) => None,
        }
    }

    /// For programs: nano-dollars, and `null` where nothing is known.
    pub fn in_json(&self) -> Option<u64> {
        (!self.is_unknown()).then(|| self.known())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        Catalog::built_in()
    }

    #[test]
    fn a_recorded_cost_is_exact_an_estimate_is_marked_and_an_unknown_price_says_so() {
        let pricing = Pricing::new(catalog());
        let priced = pricing.catalog.models().find(|model| model.prices.is_some()).map(|model| model.model);
        let usage = Usage { input: 1_000_000, ..Usage::default() };
        assert_eq!(pricing.cost(2_310_000_000, &BTreeMap::new()).shown(), "$2.31");
        let estimated = pricing.cost(0, &priced.into_iter().map(|model| (model, usage)).collect());
        assert!(estimated.is_estimated && estimated.shown().starts_with('~'), "{estimated:?}");
        let unknown = pricing.cost(0, &BTreeMap::from([("nobody/nothing".into(), usage)]));
        assert_eq!((unknown.shown().as_str(), unknown.in_json()), ("-", None));
        assert_eq!(Cost::of_log(100_000, true).shown(), ">$0.0001");
        assert_eq!(Cost::remark([estimated]), Some("~ estimated from list prices (annals models)"));
    }
}
