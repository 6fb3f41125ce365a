/* Links the static library against nothing but libc, and runs the proof. */
extern int annals_without_std(void);

/* The compiler's own build of `alloc` names this. Nothing here unwinds, so nothing calls it. */
void rust_eh_personality(void) {}

int main(void) {
    return annals_without_std();
}
