//! Reference guidance: further directories that may be looked at (`docs/reference/context.md#references`).

use super::fault::caught;
use super::source::{Loaded, Source};
use super::{ContextError, Fault, SystemContext, own_key, xml};
use crate::Boxed;
use serde::{Deserialize, Serialize};
use std::future::ready;

/// A directory outside the project. One without a description is not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Unique in its catalogue.
    pub name: String,
    /// Absolute path.
    pub path: String,
    /// What is in it.
    pub description: Option<String>,
}

/// The project references of a location. Read once per boundary.
pub trait ReferenceCatalogue: Send + Sync {
    /// Every reference, or why they cannot be read for now.
    fn references(&self) -> Boxed<'_, Loaded<Vec<Reference>>>;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedReference {
    name: String,
    path: String,
    description: String,
}

/// The source `core/reference-guidance`, or nothing where no reference has a description.
pub(super) async fn guidance(catalogue: Option<&dyn ReferenceCatalogue>) -> Result<SystemContext, ContextError> {
    let Some(catalogue) = catalogue else { return Ok(SystemContext::default()) };
    let key = own_key("core/reference-guidance");
    let loaded = match caught(async { Ok::<_, Fault>(catalogue.references().await) }).await {
        Ok(Loaded::Available(references)) => {
            let described = |found: Reference| {
                Some(ListedReference { name: found.name, path: found.path, description: found.description? })
            };
            let mut listed: Vec<ListedReference> = references.into_iter().filter_map(described).collect();
            listed.sort_by(|a, b| a.name.cmp(&b.name));
            if listed.is_empty() {
                return Ok(SystemContext::default());
            }
            Loaded::Available(listed)
        }
        Ok(Loaded::Absent) => return Ok(SystemContext::default()),
        Ok(Loaded::Unavailable { reason }) => Loaded::Unavailable { reason },
        Err(fault) => return Err(ContextError::Source { key, fault }),
    };
    let source = Source::new(key, move || ready(loaded.clone()), |listed: &Vec<ListedReference>| baseline(listed))
        .update(|_, listed| {
            let list = baseline(listed);
            format!("The available project references have changed. This list supersedes the previous reference list.\n{list}")
        })
        .removed(|_| "Project reference guidance is no longer available. Do not use previously listed references.".into());
    Ok(source.into())
}

fn baseline(listed: &[ListedReference]) -> String {
    let items: Vec<String> = listed
        .iter()
        .map(|found| {
            let fields = [("name", &*found.name), ("path", &*found.path), ("description", &*found.description)];
            xml::item("reference", &fields)
        })
        .collect();
    format!(
        "Project references provide additional directories that can be accessed when relevant.\n\
         <available_references>\n{}\n</available_references>",
        items.join("\n")
    )
}
