//! An entry point for fuzzing: files of configuration.

use annals_config::{Config, PROJECT_FILE, Places, VARIABLE, Variables};
use std::io;
use std::path::Path;

/// Reads a text as the user's configuration and as that of a project, and asks for everything that it configures. It is written
/// into `folder`, a directory.
///
/// # Errors
/// When `folder` cannot be written.
pub fn config(text: &str, folder: &Path) -> io::Result<()> {
    let (user, project) = (folder.join("user.toml"), folder.join("project"));
    let file = project.join(PROJECT_FILE);
    std::fs::create_dir_all(file.parent().unwrap_or(&project))?;
    std::fs::write(&user, text)?;
    std::fs::write(file, text)?;
    let file = user.to_string_lossy().into_owned();
    let variables = Variables::fixed([(VARIABLE, file), ("HOME", folder.to_string_lossy().into_owned())]);
    let Ok(places) = Places::of(&variables) else { return Ok(()) };
    let Ok(loaded) = Config::examine(&places, &project, variables) else { return Ok(()) };
    let config = loaded.config;
    let agent = config.default_agent();
    drop((config.default_model(&agent), config.small_model(), config.titles(), config.compaction(), config.output()));
    drop((config.instructions(), config.skills(), config.redaction(), config.redactor()));
    Ok(())
}
