//! Where a cluster is, and which store in it: `nats://host:4222,host2:4222/NAME`.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::str::FromStr;

/// The port of a server that names none.
const PORT: u16 = 4222;
/// The longest name of a store.
const NAME: usize = 32;

/// A store in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsAddress {
    /// The servers, as `host:port`: any of them that answers is used.
    pub servers: Vec<String>,
    /// The name of the store.
    pub name: String,
    /// Whether the connection must be encrypted (`tls://`).
    pub tls: bool,
    /// How to prove who one is.
    pub login: NatsLogin,
}

/// How a client proves who it is, and whom it believes.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NatsLogin {
    /// A user and a password.
    pub user: Option<(String, String)>,
    /// A token.
    pub token: Option<String>,
    /// A file with a JWT and a seed (`creds`).
    pub credentials: Option<PathBuf>,
    /// A file with the seed of an NKey.
    pub nkey: Option<PathBuf>,
    /// A file with certificates of authorities, in addition to those of the system.
    pub ca: Option<PathBuf>,
    /// Files with this client's certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl fmt::Debug for NatsLogin {
    /// Without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsLogin").finish_non_exhaustive()
    }
}

/// The text is not an address of a store in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{text}\": {reason}; the form is nats://HOST:PORT[,HOST:PORT...]/NAME, or tls:// for an encrypted connection"
)]
pub struct AddressError {
    /// What was given, without what may be secret.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// The beginnings of an address.
pub const SCHEMES: [&str; 2] = ["nats://", "tls://"];

impl NatsAddress {
    /// Whether a text is meant as an address of a cluster.
    pub fn is_meant(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// The same with what variables say about logging in, where the address says nothing: `ANNALS_NATS_CREDS`, `ANNALS_NATS_NKEY`,
    /// `ANNALS_NATS_CA`, `ANNALS_NATS_CERT` with `ANNALS_NATS_KEY`, `ANNALS_NATS_USER` with `ANNALS_NATS_PASSWORD`,
    /// `ANNALS_NATS_TOKEN`.
    #[must_use]
    pub fn with_variables(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(&format!("ANNALS_NATS_{name}")).filter(|value| !value.is_empty());
        let login = &mut self.login;
        login.credentials = login.credentials.take().or_else(|| given("CREDS").map(PathBuf::from));
        login.nkey = login.nkey.take().or_else(|| given("NKEY").map(PathBuf::from));
        login.ca = login.ca.take().or_else(|| given("CA").map(PathBuf::from));
        login.certificate = login.certificate.take().or_else(|| Some((given("CERT")?.into(), given("KEY")?.into())));
        login.user = login.user.take().or_else(|| Some((given("USER")?, given("PASSWORD")?)));
        login.token = login.token.take().or_else(|| given("TOKEN"));
        self
    }
}

impl FromStr for NatsAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        // What is before an `@` may be a password, and is in no message.
        let shown = text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, rest)| format!("nats://...@{rest}"));
        let wrong = |reason| AddressError { text: shown.clone(), reason };
        let scheme = SCHEMES.iter().find(|scheme| text.starts_with(**scheme));
        let scheme = scheme.ok_or_else(|| wrong("it does not begin with nats:// or tls://"))?;
        let rest = text.strip_prefix(*scheme).unwrap_or_default();
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (servers, name) = rest.split_once('/').ok_or_else(|| wrong("the name of the store is missing"))?;
        let mut login = NatsLogin::default();
        let servers = match servers.rsplit_once('@') {
            Some((user, servers)) => {
                match user.split_once(':') {
                    Some((user, password)) => login.user = Some((user.to_owned(), password.to_owned())),
                    None => login.token = Some(user.to_owned()),
                }
                servers
            }
            None => servers,
        };
        let mut certificate = (None, None);
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').ok_or_else(|| wrong("an option has no value"))?;
            match key {
                "creds" => login.credentials = Some(value.into()),
                "nkey" => login.nkey = Some(value.into()),
                "ca" => login.ca = Some(value.into()),
                "cert" => certificate.0 = Some(PathBuf::from(value)),
                "key" => certificate.1 = Some(PathBuf::from(value)),
                _ => return Err(wrong("the options are creds, nkey, ca, cert and key, each with a path")),
            }
        }
        login.certificate = match certificate {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(wrong("cert and key belong together")),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > NAME || !name.chars().all(plain) {
            return Err(wrong("the name of a store is 1 to 32 letters, digits, - and _"));
        }
        let server = |server: &str| {
            let host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':');
            let (name, port) = match server.rsplit_once(':') {
                Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
                _ => (server, Some(PORT)),
            };
            let fine = !name.is_empty() && server.chars().all(host);
            port.filter(|_| fine).map(|port| format!("{name}:{port}"))
        };
        let servers: Option<Vec<String>> = servers.split(',').map(server).collect();
        let servers = servers.ok_or_else(|| wrong("a server is HOST or HOST:PORT"))?;
        Ok(Self { servers, name: name.to_owned(), tls: *scheme == "tls://", login })
    }
}

/// Without secrets: servers and name.
impl Display for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "tls" } else { "nats" };
        write!(f, "{scheme}://{}/{}", self.servers.join(","), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::NatsAddress;

    #[test]
    fn an_address_names_servers_a_store_and_how_to_log_in() {
        let address: NatsAddress = "nats://one,two:4333/team?creds=/etc/team.creds&ca=/etc/ca.pem".parse().unwrap();
        assert_eq!(address.servers, ["one:4222", "two:4333"]);
        assert_eq!((address.name.as_str(), address.tls), ("team", false));
        assert_eq!(address.login.credentials.as_deref(), Some("/etc/team.creds".as_ref()));
        assert_eq!(address.to_string(), "nats://one:4222,two:4333/team");
        let address: NatsAddress = "tls://me:secret@[::1]:4222/x".parse().unwrap();
        assert_eq!(address.login.user, Some(("me".into(), "secret".into())));
        assert_eq!(address.to_string(), "tls://[::1]:4222/x");
    }

    #[test]
    fn what_is_no_address_says_why_and_shows_no_password() {
        for wrong in
            ["nats://one:4222", "nats://one/", "nats:///x", "nats://one:x/y", "nats://one/a b", "nats://one/a?b=c"]
        {
            assert!(wrong.parse::<NatsAddress>().is_err(), "{wrong}");
        }
        let error = "nats://me:secret@one/a?b=c".parse::<NatsAddress>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn variables_say_how_to_log_in_where_the_address_does_not() {
        let variable = |name: &str| match name {
            "ANNALS_NATS_CREDS" => Some("/v".to_owned()),
            "ANNALS_NATS_USER" => Some("u".to_owned()),
            "ANNALS_NATS_PASSWORD" => Some("p".to_owned()),
            _ => None,
        };
        let plain = "nats://one/x".parse::<NatsAddress>().unwrap().with_variables(variable);
        assert_eq!(plain.login.credentials.as_deref(), Some("/v".as_ref()));
        assert_eq!(plain.login.user, Some(("u".into(), "p".into())));
        let named = "nats://one/x?creds=/a".parse::<NatsAddress>().unwrap().with_variables(variable);
        assert_eq!(named.login.credentials.as_deref(), Some("/a".as_ref()));
    }
}
