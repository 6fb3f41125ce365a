//! The description of this process, with the git state of a session's directory.

mod git;

use crate::Boxed;
use crate::process::DescribeProcess;
use annals_core::event::{Location, ProcessInfo};
use std::path::Path;

/// Describes this process by its program, the machine, the user, and the git state of the session's directory.
#[derive(Clone, Debug)]
pub struct ThisProcess {
    /// The name of the program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// Distinguishes builds of one version.
    pub build: Option<String>,
    /// The name of the machine.
    pub host: Option<String>,
    /// The name of the user.
    pub user: Option<String>,
}

impl ThisProcess {
    /// The machine as the operating system names it; the user is the environment variable `USER`, else `LOGNAME`, which
    /// `variable` gives, else the name of the process's user in `/etc/passwd`.
    pub fn new(
        program: impl Into<String>,
        version: impl Into<String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let system = rustix::system::uname();
        let host = system.nodename().to_str().ok().filter(|name| !name.is_empty());
        let user = ["USER", "LOGNAME"].into_iter().filter_map(variable).find(|name| !name.is_empty());
        let user =
            user.or_else(|| named(&std::fs::read_to_string("/etc/passwd").ok()?, rustix::process::getuid().as_raw()));
        Self { program: program.into(), version: version.into(), build: None, host: host.map(str::to_owned), user }
    }
}

/// The name of a user in the text of `/etc/passwd`. A service started by the system often has no variable that names it.
fn named(passwd: &str, user: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(user)).then(|| name.to_owned())
    })
}

impl DescribeProcess for ThisProcess {
    fn describe<'a>(&'a self, location: Option<&'a Location>) -> Boxed<'a, ProcessInfo> {
        Box::pin(async move {
            let git = match location {
                Some(location) => git::state(Path::new(&location.directory)).await,
                None => None,
            };
            ProcessInfo {
                program: self.program.clone(),
                version: Some(self.version.clone()),
                build: self.build.clone(),
                host: self.host.clone(),
                user: self.user.clone(),
                git,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_user_is_found_by_number() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nbroken\n:x:7:7::/:\nada:x:1000:1000:Ada:/home/ada:/bin/sh\n";
        assert_eq!(super::named(passwd, 1000).as_deref(), Some("ada"));
        assert_eq!((super::named(passwd, 7), super::named(passwd, 12)), (None, None));
    }
}
