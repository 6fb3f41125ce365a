//! The description of this process, with the git state of a session's directory.

mod git;

use crate::Boxed;
use crate::process::DescribeProcess;
use annals_core::event::{Location, ProcessInfo};
use std::path::Path;

/// Describes this process by its program, the machine, and the environment variables `USER` or `LOGNAME`.
#[derive(Clone, Debug)]
pub struct ThisProcess {
    /// The name of the program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// Distinguishes builds of one version.
    pub build: Option<String>,
}

impl DescribeProcess for ThisProcess {
    fn describe<'a>(&'a self, location: Option<&'a Location>) -> Boxed<'a, ProcessInfo> {
        Box::pin(async move {
            let system = rustix::system::uname();
            let host = system.nodename().to_str().ok().filter(|name| !name.is_empty());
            let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
            let git = match location {
                Some(location) => git::state(Path::new(&location.directory)).await,
                None => None,
            };
            ProcessInfo {
                program: self.program.clone(),
                version: Some(self.version.clone()),
                build: self.build.clone(),
                host: host.map(str::to_owned),
                user: user.filter(|name| !name.is_empty()),
                git,
            }
        })
    }
}
