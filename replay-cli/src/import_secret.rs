//! The import secret: what the keys of imported sessions are derived from (`docs/reference/digest.md`).

use crate::config::{Environment, Variables};
use crate::error::CliError;
use annals_core::ImportSecret;
use annals_runtime::ports::{Ids, SeededIds};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// The variable that sets the secret: 64 lower-case hex digits.
pub const VARIABLE: &str = "ANNALS_IMPORT_SECRET";

/// The file with the secret, in the folder of the user's configuration.
const FILE: &str = "import-secret";

/// The longest file that is read, in bytes.
const FILE_MAX: u64 = 4096;

/// The import secret of the user: the variable, else the file, which is created with 32 random bytes, readable by the user alone.
///
/// # Errors
/// When the variable or the file holds something else, or the file cannot be read or created.
pub fn obtain(environment: &Environment) -> Result<ImportSecret, CliError> {
    match from_variable(&environment.variables)? {
        Some(secret) => Ok(secret),
        None => {
            let places = environment.places().map_err(|_| CliError::NoPlaceForSecret)?;
            let path = places.user_dir.join(FILE);
            kept(&path).map_err(|source| CliError::File { path, source })
        }
    }
}

fn from_variable(variables: &Variables) -> Result<Option<ImportSecret>, CliError> {
    let parsed = variables.get(VARIABLE).map(|text| text.trim().parse());
    parsed.transpose().map_err(|_| CliError::BadImportSecret)
}

/// The secret in a file, which is made if it is missing. Of several processes that make it at once one wins.
fn kept(path: &Path) -> io::Result<ImportSecret> {
    if let Some(secret) = read(path)? {
        return Ok(secret);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let secret = SeededIds::from_entropy().map_err(io::Error::other)?.session_key();
    // Readable by this user alone.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(format!("{}\n", ImportSecret(secret.0).hex()).as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(refused) if refused.error.kind() != io::ErrorKind::AlreadyExists => return Err(refused.error),
        _ => File::open(folder)?.sync_all()?,
    }
    read(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn read(path: &Path) -> io::Result<Option<ImportSecret>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = String::new();
    file.take(FILE_MAX).read_to_string(&mut text)?;
    let refused =
        || io::Error::new(io::ErrorKind::InvalidData, "not an import secret: expected 64 lower-case hex digits");
    text.trim().parse().map(Some).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::{VARIABLE, obtain};
    use crate::config::{Environment, Variables};
    use crate::error::CliError;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn environment(home: &Path, secret: Option<&str>) -> Environment {
        let home = ("HOME", home.display().to_string());
        let secret = secret.map(|secret| (VARIABLE, secret.to_owned()));
        Environment { variables: Variables::fixed([home].into_iter().chain(secret)), directory: "/".into() }
    }

    #[test]
    fn a_secret_is_made_once_and_for_the_user_alone() {
        let home = tempfile::tempdir().unwrap();
        let first = obtain(&environment(home.path(), None)).unwrap();
        assert!(first == obtain(&environment(home.path(), None)).unwrap());
        let path = home.path().join(".config/annals/import-secret");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let files = path.parent().unwrap().read_dir().unwrap().count();
        assert_eq!(files, 1, "nothing but the file is left");
        let other = tempfile::tempdir().unwrap();
        assert!(first != obtain(&environment(other.path(), None)).unwrap());
    }

    #[test]
    fn processes_that_make_it_at_once_have_the_same() {
        let home = tempfile::tempdir().unwrap();
        let obtained: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| obtain(&environment(home.path(), None)))).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect()
        });
        assert!(!obtained.is_empty() && obtained.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn the_variable_sets_it_and_writes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let secret = obtain(&environment(home.path(), Some(&"0a".repeat(32)))).unwrap();
        assert_eq!(secret.0, [0x0a; 32]);
        assert_eq!(home.path().read_dir().unwrap().count(), 0);
        let wrong = obtain(&environment(home.path(), Some("short")));
        assert!(matches!(wrong, Err(CliError::BadImportSecret)));
    }

    #[test]
    fn a_damaged_file_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".config/annals/import-secret");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "damaged").unwrap();
        assert!(matches!(obtain(&environment(home.path(), None)), Err(CliError::File { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "damaged");
    }
}
