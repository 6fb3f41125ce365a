//! The import secret: what the keys of imported sessions are derived from (`docs/reference/digest.md`).

use crate::error::{CliError, ImportCommandError};
use annals_config::{Environment, Variables};
use annals_core::ImportSecret;
use annals_import::kept_secret;
use annals_runtime::ports::{Ids, SeededIds};
use std::io;

/// The variable that sets the secret: 64 lower-case hex digits.
pub const VARIABLE: &str = "ANNALS_IMPORT_SECRET";

/// The file with the secret, in the folder of the user's configuration.
const FILE: &str = "import-secret";

/// The import secret of the user: the variable, else the file, which is created with 32 random bytes, readable by the user alone.
///
/// # Errors
/// When the variable or the file holds something else, or the file cannot be read or created.
pub fn obtain(environment: &Environment) -> Result<ImportSecret, CliError> {
    match from_variable(&environment.variables)? {
        Some(secret) => Ok(secret),
        None => {
            let places = environment.places().map_err(|_| ImportCommandError::NoFolderForSecret)?;
            let path = places.user_dir.join(FILE);
            kept_secret(&path, random).map_err(|source| CliError::File { path, source })
        }
    }
}

/// A secret for a file that is exported and not imported: the variable, else random bytes, which are kept nowhere.
///
/// # Errors
/// When the variable holds something else, or the system gives no random bytes.
pub fn unshared(environment: &Environment) -> Result<ImportSecret, CliError> {
    match from_variable(&environment.variables)? {
        Some(secret) => Ok(secret),
        None => Ok(random()?),
    }
}

fn random() -> io::Result<ImportSecret> {
    Ok(ImportSecret(SeededIds::from_entropy().map_err(io::Error::other)?.session_key().0))
}

fn from_variable(variables: &Variables) -> Result<Option<ImportSecret>, CliError> {
    let parsed = variables.get(VARIABLE).map(|text| text.trim().parse());
    parsed.transpose().map_err(|_| ImportCommandError::BadImportSecret.into())
}

#[cfg(test)]
mod tests {
    use super::{VARIABLE, obtain};
    use crate::error::{CliError, ImportCommandError};
    use annals_config::{Environment, Variables};
    use std::path::Path;

    fn environment(home: &Path, secret: Option<&str>) -> Environment {
        let home = ("HOME", home.display().to_string());
        let secret = secret.map(|secret| (VARIABLE, secret.to_owned()));
        Environment { variables: Variables::fixed([home].into_iter().chain(secret)), directory: "/".into() }
    }

    #[test]
    fn each_user_has_a_secret_of_their_own() {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = obtain(&environment(home.path(), None)).unwrap();
        assert!(first == obtain(&environment(home.path(), None)).unwrap());
        assert!(home.path().join(".config/annals/import-secret").is_file());
        assert!(first != obtain(&environment(other.path(), None)).unwrap());
    }

    #[test]
    fn the_variable_sets_it_and_writes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let secret = obtain(&environment(home.path(), Some(&"0a".repeat(32)))).unwrap();
        assert_eq!(secret.0, [0x0a; 32]);
        assert_eq!(home.path().read_dir().unwrap().count(), 0);
        let wrong = obtain(&environment(home.path(), Some("short")));
        assert!(matches!(wrong, Err(CliError::Import(ImportCommandError::BadImportSecret))));
    }
}
