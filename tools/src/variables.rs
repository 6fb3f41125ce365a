//! Which environment variables a command sees: an allow-list.

use annals_core::permission::wildcard;
use annals_guard::redaction::is_secret_name;

/// What programs need to find themselves, their tools and their caches. `*` matches any rest.
const USUAL: [&str; 62] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "PWD",
    "HOSTNAME",
    "XDG_*",
    "COLORTERM",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
    "CI",
    "DEBIAN_FRONTEND",
    "LD_LIBRARY_PATH",
    "DYLD_*",
    "NIX_*",
    "PKG_CONFIG*",
    "CC",
    "CXX",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "CMAKE_*",
    "CARGO*",
    "RUST*",
    "GO*",
    "CGO_*",
    "NODE_*",
    "NVM_*",
    "PNPM_*",
    "BUN_*",
    "DENO_*",
    "PYTHON*",
    "PYENV*",
    "VIRTUAL_ENV*",
    "CONDA*",
    "UV_*",
    "JAVA_*",
    "MAVEN_*",
    "M2_HOME",
    "GRADLE_*",
    "ANDROID_*",
    "RUBY*",
    "GEM_*",
    "RBENV*",
    "PERL*",
    "LUA_*",
    "SSL_CERT_*",
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
];

/// Whether a command sees a variable: one of the usual ones, or one that the configuration names. Of those that match by
/// a pattern, names of secrets are left out.
pub(super) fn is_shown(name: &str, allowed: &[String]) -> bool {
    let named = allowed.iter().any(|pattern| pattern == name);
    let matched =
        USUAL.iter().copied().chain(allowed.iter().map(String::as_str)).any(|pattern| wildcard(pattern, name));
    named || matched && !is_secret_name(name)
}

#[cfg(test)]
mod tests {
    use super::is_shown;

    #[test]
    fn a_command_sees_the_usual_variables_and_those_that_are_named() {
        let allowed = ["DATABASE_URL".to_owned(), "SHOP_*".to_owned(), "DEPLOY_TOKEN".to_owned()];
        for name in ["PATH", "LC_ALL", "CARGO_HOME", "DATABASE_URL", "SHOP_REGION", "DEPLOY_TOKEN"] {
            assert!(is_shown(name, &allowed), "{name}");
        }
        for name in ["OTHER", "CARGO_REGISTRY_TOKEN", "SHOP_PASSWORD", "AWS_PROFILE", "SSH_AUTH_SOCK", "PATHS"] {
            assert!(!is_shown(name, &allowed), "{name}");
        }
    }
}
