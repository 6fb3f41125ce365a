//! Environment variables.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Environment variables. They may hold secrets: the `Debug` form shows none.
#[derive(Clone)]
pub enum Variables {
    /// Those of this process, read at each use. One that is not UTF-8 counts as unset.
    OfProcess,
    /// These and no others.
    Fixed(Arc<BTreeMap<String, String>>),
}

impl Variables {
    /// These and no others.
    pub fn fixed<'a>(variables: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        Self::Fixed(Arc::new(variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    /// One of them, unless it is empty.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match self {
            Self::OfProcess => std::env::var(name).ok(),
            Self::Fixed(all) => all.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// All of them.
    pub fn all(&self) -> Vec<(String, String)> {
        match self {
            Self::OfProcess => std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            Self::Fixed(all) => all.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables")
    }
}
