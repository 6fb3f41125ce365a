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
    /// `variable` gives.
    pub fn new(
        program: impl Into<String>,
        version: impl Into<String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let system = rustix::system::uname();
        let host = system.nodename().to_str().ok().filter(|name| !name.is_empty());
        let user = ["USER", "LOGNAME"].into_iter().filter_map(variable).find(|name| !name.is_empty());
        Self { program: program.into(), version: version.into(), build: None, host: host.map(str::to_owned), user }
    }
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
