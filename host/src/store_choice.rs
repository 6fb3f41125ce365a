//! Which store a command works on, and opening it without creating it.

use crate::error::HostError;
use crate::opened_log::OpenedLog;
use crate::remarks::HostRemarks;
use annals_config::Variables;
use annals_store::cache::ViewCache;
#[cfg(feature = "nats")]
use annals_store::nats::{NatsAddress as ClusterAddress, NatsLog, NatsOptions};
use annals_store::{OpenMode, SharedLog};
use etcetera::BaseStrategy;
// Without `nats`, no cluster can be chosen.
#[cfg(not(feature = "nats"))]
use std::convert::Infallible as ClusterAddress;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The variable that names the store when `--store` does not.
pub const VARIABLE: &str = "ANNALS_STORE";

/// How an address of a cluster begins.
const SCHEMES: [&str; 2] = ["nats://", "tls://"];

/// The store that a command works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreChoice {
    dir: PathBuf,
    cluster: Option<ClusterAddress>,
}

impl StoreChoice {
    /// The folder, or the address `nats://HOST:PORT/NAME`, that was named; else that of `ANNALS_STORE`; else the folder `annals` in the
    /// platform's data folder.
    ///
    /// # Errors
    /// When the address is none, or nothing is named and there is no home folder.
    pub fn of(named: Option<&Path>, variable: Option<&OsStr>) -> Result<Self, HostError> {
        let named = named.map(Path::as_os_str).or(variable.filter(|named| !named.is_empty()));
        let data = || match etcetera::choose_base_strategy() {
            Ok(platform) => Ok(platform.data_dir()),
            Err(_) => Err(HostError::NoPlace),
        };
        match named {
            Some(named) if Self::names_cluster(named) => Self::in_cluster(&named.to_string_lossy(), &data()?),
            Some(dir) => Ok(Self { dir: dir.into(), cluster: None }),
            None => Ok(Self { dir: data()?.join("annals"), cluster: None }),
        }
    }

    /// Whether a text is meant as an address of a cluster, not as a folder.
    pub fn names_cluster(named: &OsStr) -> bool {
        named.to_str().is_some_and(|named| SCHEMES.iter().any(|scheme| named.starts_with(scheme)))
    }

    #[cfg(feature = "nats")]
    fn in_cluster(address: &str, data: &Path) -> Result<Self, HostError> {
        let address: ClusterAddress = address.parse()?;
        // Of each store its own folder, wherever the address names its servers in another order.
        let mut servers = address.servers.clone();
        servers.sort_unstable();
        let key = annals_core::Digest::of(servers.join(",").as_bytes()).to_string();
        let dir = data.join("annals-clusters").join(format!("{}-{}", address.name, key.get(..12).unwrap_or_default()));
        Ok(Self { dir, cluster: Some(address) })
    }

    #[cfg(not(feature = "nats"))]
    fn in_cluster(_: &str, _: &Path) -> Result<Self, HostError> {
        Err(HostError::NoClusters)
    }

    /// The folder of the store; of one in a cluster, the folder where this machine keeps saved views, the index and files of tools.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the store is in a cluster.
    pub const fn is_in_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// The address in a cluster.
    #[cfg(feature = "nats")]
    pub const fn cluster(&self) -> Option<&ClusterAddress> {
        self.cluster.as_ref()
    }

    /// The folder of the store, for what works on its files. `what` names that.
    ///
    /// # Errors
    /// When the store is in a cluster.
    pub fn folder(&self, what: &'static str) -> Result<&Path, HostError> {
        match &self.cluster {
            None => Ok(&self.dir),
            Some(address) => Err(HostError::OnlyInAFolder { what, store: address.to_string() }),
        }
    }

    /// The store as messages name it.
    pub fn shown(&self) -> String {
        self.cluster.as_ref().map_or_else(|| self.dir.display().to_string(), ToString::to_string)
    }

    /// Opens the store; with [`OpenMode::Create`] a missing one in a folder is created.
    ///
    /// # Errors
    /// See [`SharedError`](annals_store::SharedError); of a cluster, see `NatsError`.
    pub async fn open(
        &self,
        mode: OpenMode,
        variables: &Variables,
        remarks: &Arc<dyn HostRemarks>,
    ) -> Result<OpenedLog, HostError> {
        #[cfg(feature = "nats")]
        if let Some(address) = &self.cluster {
            let caches = mode != OpenMode::ReadOnly;
            if caches {
                let made = crate::private_folder::make(&self.dir);
                made.map_err(|source| HostError::File { path: self.dir.clone(), source })?;
            }
            let remarks = remarks.clone();
            let notice = Arc::new(move |text: &str| remarks.remark(text));
            let options = NatsOptions { cache: Some(self.dir.join("texts")), caches, notice };
            let address = address.clone().with_variables(|name| variables.get(name));
            let log = NatsLog::open(&address, options).await?;
            self.drop_kept(&log, caches).await?;
            return Ok(OpenedLog::Cluster(log));
        }
        let _ = (variables, remarks);
        Ok(OpenedLog::Folder(SharedLog::open(&self.dir, mode).await?))
    }

    /// Removes what this machine keeps of a store in a cluster, if texts were erased there since: it may hold them. `writes`: notes that.
    ///
    /// # Errors
    /// When the cluster does not answer, or a file cannot be removed.
    #[cfg(feature = "nats")]
    pub async fn drop_kept(&self, log: &NatsLog, writes: bool) -> Result<(), HostError> {
        let erasures = log.erasures().await?.to_string();
        let noted = self.dir.join("erasures");
        let known = std::fs::read_to_string(&noted).unwrap_or_else(|_| "0".to_owned());
        if known.trim() == erasures {
            return Ok(());
        }
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| HostError::File { path, source }
        };
        for folder in ["texts", "cache"].map(|name| self.dir.join(name)) {
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(at(&folder)(error)),
                _ => {}
            }
        }
        match writes {
            true => std::fs::write(&noted, erasures).map_err(at(&noted)),
            false => Ok(()),
        }
    }

    /// Saved views, in the store's folder; a command that only reads saves none.
    pub fn cache(&self, mode: OpenMode) -> ViewCache {
        match mode {
            OpenMode::ReadOnly => ViewCache::read_only(&self.dir),
            OpenMode::Existing | OpenMode::Create => ViewCache::in_store(&self.dir),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_the_named_one_else_that_of_the_variable() {
        let named = StoreChoice::of(Some(Path::new("/a")), Some(OsStr::new("/b")));
        assert_eq!(named.map(|place| place.dir().to_owned()).ok(), Some(PathBuf::from("/a")));
        let variable = StoreChoice::of(None, Some(OsStr::new("/b")));
        assert_eq!(variable.map(|place| place.dir().to_owned()).ok(), Some(PathBuf::from("/b")));
    }

    #[cfg(feature = "nats")]
    #[test]
    fn an_address_of_a_cluster_names_one_folder_whatever_the_order_of_its_servers() {
        let of = |named: &str| StoreChoice::of(None, Some(OsStr::new(named)));
        let (one, other) = (of("nats://a:1,b:2/team").unwrap(), of("nats://b:2,a:1/team").unwrap());
        assert_eq!(one.dir(), other.dir());
        assert_ne!(one.dir(), of("nats://a:1,b:2/other").unwrap().dir());
        assert!(one.is_in_cluster());
        assert_eq!(one.shown(), "nats://a:1,b:2/team");
        assert!(one.folder("annals doctor").unwrap_err().to_string().contains("nats://a:1,b:2/team"));
        assert!(of("nats://a:1").is_err(), "no name");
    }
}
