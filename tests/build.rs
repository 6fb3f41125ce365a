//! Links the program that tests start thousands of times without relocations: applying them is half of a start.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).as_deref() == Ok(value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bin=annals-test=-no-pie");
    }
}
