//! The media that a model takes besides text.

use super::ModelEntry;

/// The images that every supported protocol carries (`docs/wire.md#media`).
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Media types from the kinds of input that are written of a model; with none written, an `attachment` means images.
pub(super) fn types(model: &ModelEntry) -> Vec<String> {
    let written = model.modalities.as_ref().and_then(|modalities| modalities.input.as_ref());
    let mut types: Vec<&str> = Vec::new();
    match written {
        None if model.attachment == Some(true) => types.extend(IMAGES),
        None => {}
        Some(kinds) => {
            for kind in kinds {
                match kind.as_str() {
                    "image" => types.extend(IMAGES),
                    "pdf" => types.push("application/pdf"),
                    "audio" => types.push("audio/*"),
                    "video" => types.push("video/*"),
                    kind if kind.contains('/') => types.push(kind),
                    _ => {}
                }
            }
        }
    }
    types.into_iter().map(str::to_owned).collect()
}
