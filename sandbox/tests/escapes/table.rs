//! The ways out. `$OUT` is a folder outside the project, `$VICTIM` a process outside the sandbox.

/// One way out.
pub struct Escape {
    pub name: &'static str,
    pub script: &'static str,
    /// Whether it works without a sandbox for every user on every machine; some need the administrator.
    pub everywhere: bool,
}

const fn always(name: &'static str, script: &'static str) -> Escape {
    Escape { name, script, everywhere: true }
}

const fn sometimes(name: &'static str, script: &'static str) -> Escape {
    Escape { name, script, everywhere: false }
}

pub const ESCAPES: &[Escape] = &[
    // Files outside are changed.
    always("a redirection", "echo x > $OUT/new"),
    always("an appending redirection", "echo x >> $OUT/file"),
    always("a copy", "cp main.c $OUT/new"),
    always("a move out", "mv main.c $OUT/new"),
    always("a hard link out", "ln main.c $OUT/new"),
    always("a hard link in", "ln $OUT/file here && echo x > here"),
    always("a link out", "ln -s $OUT/file here && echo x > here"),
    always("a link to a folder", "ln -s $OUT here && echo x > here/new"),
    always("a link through the folder of links", "ln -s /proc/self/root here && echo x > here$OUT/new"),
    always("a new folder", "mkdir $OUT/new"),
    always("a removal", "rm -f $OUT/file"),
    always("a removed folder", "rmdir $OUT/dir"),
    always("another name", "mv $OUT/file $OUT/renamed"),
    always("a shortened file", "truncate -s 1 $OUT/file"),
    always("a written device of dd", "dd if=/dev/zero of=$OUT/file count=1 2>&1"),
    always("tee", "echo x | tee $OUT/new"),
    always("an edit in place", "sed -i s/as/was/ $OUT/file"),
    always("a named pipe", "mkfifo $OUT/new"),
    sometimes("a device", "mknod $OUT/new c 1 3"),
    sometimes("a disk", "mknod disk b 8 0 && echo S3CRET-KEY"),
    always("the root of a process", "echo x > /proc/self/root$OUT/new"),
    always("the folder of a process", "echo x > /proc/self/cwd/../outside/new"),
    sometimes("the folder of another process", "echo x > /proc/$VICTIM/cwd/new"),
    always("another folder first", "cd $OUT && echo x > new"),
    always("two dots", "echo x > ../outside/new"),
    always("the background", "(echo x > $OUT/new) & wait"),
    always("another session", "setsid sh -c 'echo x > $OUT/new'; sleep 0.1"),
    always("another program", "python3 -c 'import os; open(os.environ[\"OUT\"] + \"/new\", \"w\")'"),
    always("a nameless file", "python3 -c '
import ctypes, os
f = os.open(os.environ[\"OUT\"], os.O_TMPFILE | os.O_RDWR)
ctypes.CDLL(None).linkat(-100, f\"/proc/self/fd/{f}\".encode(), -100, os.environ[\"OUT\"].encode() + b\"/new\", 0x400)'"),
    always("an exchange of two names", "python3 -c 'import ctypes, os; ctypes.CDLL(None).renameat2(-100, b\"main.c\", -100, os.environ[\"OUT\"].encode() + b\"/file\", 2)'"),
    always("an archive", "tar cf a.tar main.c && tar xf a.tar -C $OUT"),
    always("a new repository", "git init -q $OUT/new"),
    always("another worktree", "git add . && git -c user.name=a -c user.email=a@b commit -qm x && git worktree add -q $OUT/new"),
    always("a bundle", "git add . && git -c user.name=a -c user.email=a@b commit -qm x && git bundle create $OUT/new HEAD"),
    always("awk", "awk 'BEGIN { print \"x\" > (ENVIRON[\"OUT\"] \"/new\") }'"),
    always("awk's system", "awk 'BEGIN { system(\"echo x > $OUT/new\") }'"),
    always("sed's w", "sed \"w $OUT/new\" main.c"),
    always("sed's e", "echo | sed '1e echo x > $OUT/new'"),
    always("find's output", "find . -maxdepth 0 -fprintf $OUT/new x"),
    always("the output of sort", "sort -o $OUT/new main.c"),
    always("a compiler", "printf '#include <stdio.h>\\n#include <stdlib.h>\\nint main(){char p[999];snprintf(p,999,\"%%s/new\",getenv(\"OUT\"));fopen(p,\"w\");}' > e.c && gcc -o e e.c && ./e"),
    always("a hidden home", "echo x >> ~/.bashrc"),
    always("a changed key file", "echo x >> ~/.ssh/authorized_keys"),
    sometimes("a mount of its own", "unshare -rm sh -c 'mount --bind $OUT sub && echo x > sub/new'"),
    sometimes("another root", "mkdir -p r && chroot / sh -c 'echo x > $OUT/new'"),
    sometimes("a file by its handle", "python3 -c '
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
h = ctypes.create_string_buffer(b\"\\x80\\0\\0\\0\" + bytes(132)); m = ctypes.c_int()
c.name_to_handle_at(-100, os.environ[\"OUT\"].encode() + b\"/file\", h, ctypes.byref(m), 0)
f = c.open_by_handle_at(os.open(\"/\", 0), h, os.O_WRONLY | os.O_APPEND)
os.write(f, b\"x\")'"),
    // What git and agents obey.
    always("a hook", "echo '#!/bin/sh' > .git/hooks/pre-commit"),
    always("a setting of git", "git config core.fsmonitor ./evil"),
    always("hooks elsewhere", "git config core.hooksPath ."),
    always("hooks replaced by a link", "rm -rf .git/hooks && ln -s .. .git/hooks"),
    always("hooks moved away", "mv .git/hooks .git/old"),
    always("a setting of this program", "echo 'agent = \"evil\"' > .annals/config.toml"),
    always("git's common folder elsewhere", "cp -r .git .evil; git config -f .evil/config core.fsmonitor \"echo x > $OUT/new #\"; echo ../.evil > .git/commondir"),
    always("a file in the place of git's folder", "mv .git .evil; git config -f .evil/config core.fsmonitor \"echo x > $OUT/new #\"; echo 'gitdir: .evil' > .git"),
    always("a link in the place of git's folder", "mv .git .evil; git config -f .evil/config core.fsmonitor \"echo x > $OUT/new #\"; ln -s .evil .git"),
    always("another folder in the place of git's", "cp -r .git .evil; git config -f .evil/config core.fsmonitor \"echo x > $OUT/new #\"; mv .git .old; mv .evil .git"),
    always("git's folder removed and made again", "rm -rf .git; git init -q; git add main.c; git config core.fsmonitor \"echo x > $OUT/new #\""),
    always("the project as a repository", "cp -r .git/HEAD .git/objects .git/refs .git/config .git/index .; git config -f config core.worktree $PWD; git config -f config core.fsmonitor \"echo x > $OUT/new #\"; rm .git/HEAD"),
    always("the project as a repository, without objects in git's folder", "cp -r .git/HEAD .git/objects .git/refs .git/config .git/index .; git config -f config core.worktree $PWD; git config -f config core.fsmonitor \"echo x > $OUT/new #\"; mv .git/objects .git/old"),
    always("git's folder that cannot be read", "cp -r .git/HEAD .git/objects .git/refs .git/config .git/index .; git config -f config core.worktree $PWD; git config -f config core.fsmonitor \"echo x > $OUT/new #\"; echo x > .git/HEAD"),
    always("a repository that the index lists", "git init -q inner; git -C inner -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git add inner 2>&1; git -C inner config core.fsmonitor \"echo x > $OUT/new #\"; touch inner/x"),
    always("a submodule with settings of its own", "mkdir -p .git/modules inner; git init -q --separate-git-dir $PWD/.git/modules/inner inner; git -C inner -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git add inner 2>&1; git -C inner config core.fsmonitor \"echo x > $OUT/new #\"; touch inner/x"),
    always("a filter of git", "git config filter.x.clean \"echo x > $OUT/new; cat\"; echo '* filter=x' > .git/info/attributes; echo more >> main.c"),
    always("another program for differences", "git config diff.external \"echo x > $OUT/new #\"; echo more >> main.c"),
    always("a task of an editor", "mkdir -p .vscode; echo '{}' > .vscode/tasks.json"),
    always("a shell's environment file", "echo 'touch evil' > .envrc"),
    always("a server for agents", "echo '{}' > .mcp.json"),
    always("a hook of husky", "mkdir -p .husky; echo evil > .husky/pre-commit"),
    // Secrets are read.
    always("a key", "cat ~/.ssh/id_ed25519"),
    always("a password file", "cat ~/.netrc"),
    always("a key through a link", "ln -s ~/.ssh here && cat here/id_ed25519"),
    always("a key through a hard link", "ln ~/.ssh/id_ed25519 here && cat here"),
    always("a key through the root of a process", "cat /proc/self/root$HOME/.ssh/id_ed25519"),
    always("a copy of the home", "cp -r ~ home 2>/dev/null; cat home/.ssh/id_ed25519"),
    always("an archive of the home", "tar c -C ~ . 2>/dev/null | tar xO 2>/dev/null"),
    always("a search of the home", "grep -rh S3CRET ~ 2>/dev/null"),
    always("keys moved into the project", "mv ~/.ssh here && cat here/id_ed25519"),
    always("a key by a descriptor", "python3 -c 'import os; f = os.open(os.path.expanduser(\"~/.ssh/id_ed25519\"), os.O_PATH); print(open(f\"/proc/self/fd/{f}\").read())'"),
    sometimes("the passwords of the system", "cat /etc/shadow > /dev/null && echo S3CRET-KEY"),
    sometimes("a raw disk", "for d in /dev/vda /dev/sda /dev/nvme0n1; do head -c 512 $d > /dev/null 2>&1 && echo S3CRET-KEY; done"),
    // Other processes.
    sometimes("the environment of another process", "tr '\\0' '\\n' < /proc/$VICTIM/environ"),
    sometimes("the descriptors of another process", "echo x >> /proc/$VICTIM/fd/1"),
    sometimes("the memory of another process", "head -c 1 /proc/$VICTIM/mem; grep -q stack /proc/$VICTIM/maps && echo S3CRET-KEY"),
    sometimes("a debugger", "python3 -c 'import ctypes, os; r = ctypes.CDLL(None).ptrace(16, int(os.environ[\"VICTIM\"]), 0, 0); print(\"S3CRET-KEY\" if r == 0 else \"no\")'"),
    always("a signal", "kill -9 $VICTIM; sleep 0.2"),
    // Networks and services.
    always("a connection of the shell", "exec 3<>/dev/tcp/127.0.0.1/$TCP"),
    always("a connection", "python3 -c 'import socket, os; socket.create_connection((\"127.0.0.1\", int(os.environ[\"TCP\"])))'"),
    always("a packet", "echo x > /dev/udp/127.0.0.1/$UDP"),
    always("a service with a path", "python3 -c 'import socket, os; socket.socket(socket.AF_UNIX).connect(os.environ[\"OUT\"] + \"/socket\")'"),
    always("a service with an abstract name", "python3 -c 'import socket, os; socket.socket(socket.AF_UNIX).connect(\"\\0\" + os.environ[\"ABSTRACT\"])'"),
    always("a server of its own", "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); print(\"S3CRET-KEY\")'"),
    sometimes("raw packets", "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print(\"S3CRET-KEY\")'"),
    sometimes("the tables of the network", "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print(\"S3CRET-KEY\")'"),
    sometimes("a ring of system calls", "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(200)); print(\"S3CRET-KEY\" if r >= 0 else \"no\")'"),
    sometimes("a socket by short pointers", "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(41 | 0x40000000, 2, 1, 0); print(\"S3CRET-KEY\" if r >= 0 else \"no\")'"),
    sometimes("keys of the kernel", "python3 -c 'import ctypes; r = ctypes.CDLL(None).syscall(250, 0, -3, 0); print(\"S3CRET-KEY\" if r >= 0 else \"no\")'"),
];
