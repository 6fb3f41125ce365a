//! Names in scenario files.

use annals_core::ModelName;

/// Whether a text is the name of a model.
pub(crate) fn model_name(name: &str) -> Result<ModelName, String> {
    match name.split_once('/') {
        Some((provider, id)) if !provider.is_empty() && !id.is_empty() => Ok(ModelName::from(name)),
        _ => Err(format!("{name:?} is not a model: expected `provider/id`")),
    }
}
