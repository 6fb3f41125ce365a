//! The filter of system calls: no sockets without a network, and nothing that reaches other processes, the kernel or the
//! terminal.

use crate::trouble::EnforceError;
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::collections::BTreeMap;

/// Calls that are refused with any arguments: other processes' memory, keys of the kernel, mounts, modules, time.
const REFUSED: [c_long; 30] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_open_by_handle_at,
];

/// Calls that are as if the kernel did not know them: `clone3`, whose flags cannot be seen (libraries take `clone` then),
/// and rings, through which other calls would pass unseen.
const UNKNOWN: [c_long; 4] =
    [libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Flags of `clone` that make name spaces; one of them is enough.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests of terminals that type into them or take them over.
const TERMINAL: [u64; 3] = [0x5412, 0x541c, 0x540e];

/// The bit of the system calls of x86-64 with short pointers, which the kernel may know as well.
#[cfg(target_arch = "x86_64")]
const SHORT_POINTERS: c_long = 0x4000_0000;

type CallRules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Filters the system calls of the current thread and of what it starts.
pub(crate) fn apply(network: bool) -> Result<(), EnforceError> {
    let trouble = |error: &dyn std::fmt::Display| EnforceError::Seccomp(error.to_string());
    let refused = program(refused(network).map_err(|error| trouble(&error))?, libc::EPERM);
    let unknown = program(UNKNOWN.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS);
    for program in [unknown, refused] {
        let program = program.map_err(|error| trouble(&error))?;
        apply_filter(&program).map_err(|error| trouble(&error))?;
    }
    Ok(())
}

fn refused(network: bool) -> Result<CallRules, seccompiler::BackendError> {
    let mut rules: CallRules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let when = |argument, operator, value| {
        SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?])
    };
    let clone = NAMESPACES.map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        when(0, SeccompCmpOp::MaskedEq(flag), flag)
    });
    rules.insert(libc::SYS_clone, clone.into_iter().collect::<Result<_, _>>()?);
    let terminal = TERMINAL.map(|request| when(1, SeccompCmpOp::Eq, request));
    rules.insert(libc::SYS_ioctl, terminal.into_iter().collect::<Result<_, _>>()?);
    if network {
        // No packets that bypass the tables of ports, and no changes of interfaces.
        let families = [libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG, libc::AF_BLUETOOTH, libc::AF_XDP];
        let raw = families.map(|family| when(0, SeccompCmpOp::Eq, u64::from(family.unsigned_abs())));
        rules.insert(libc::SYS_socket, raw.into_iter().collect::<Result<_, _>>()?);
    } else {
        // Pairs of sockets remain, which processes use among themselves. Sockets with a path would reach services
        // outside, such as those of containers, keys and the desktop.
        for call in [libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept4] {
            rules.insert(call, Vec::new());
        }
    }
    Ok(rules)
}

fn program(mut rules: CallRules, error: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    #[cfg(target_arch = "x86_64")]
    for (call, conditions) in rules.clone() {
        rules.insert(call | SHORT_POINTERS, conditions);
    }
    let errno = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, std::env::consts::ARCH.try_into()?)?.try_into()
}
