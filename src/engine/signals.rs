//! Lets the program's signal handlers run beside Go.
//!
//! The kernel may deliver a signal to a thread of Go's while that runs on a
//! goroutine's small stack. A handler is safe there only if it asks for the
//! thread's alternate stack (`SA_ONSTACK`), which every thread of Go's has. Go
//! sees to that for handlers it finds when it starts, which is before `main`;
//! handlers of later, signal-hook's and tokio's among them, do not ask for it.

use std::ptr;

/// Real-time signals end at 64 on Linux; macOS has fewer signals.
const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;

/// Adds `SA_ONSTACK` to all handlers that are installed now and lack it. On a
/// thread without an alternate stack the flag changes nothing.
///
/// A handler that another thread replaces at the same moment might be put
/// back: install handlers before `build`, or before `run` at the latest.
pub(crate) fn use_alternate_stacks() {
    for signal in SIGNALS {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: asks for the present action, with room for one.
        if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
            continue; // no signal of this system
        }
        // SAFETY: filled in, as the call succeeded.
        let mut action = unsafe { action.assume_init() };
        let handled = action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN;
        if !handled || action.sa_flags & libc::SA_ONSTACK != 0 {
            continue;
        }
        action.sa_flags |= libc::SA_ONSTACK;
        // SAFETY: the same handler as before, on another stack.
        unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static HEARD: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn hear(_: libc::c_int) {
        HEARD.fetch_add(1, Ordering::SeqCst);
    }

    fn flags(signal: i32) -> libc::c_int {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: asks for the present action, with room for one.
        assert_eq!(unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) }, 0);
        // SAFETY: filled in, as the call succeeded.
        unsafe { action.assume_init() }.sa_flags
    }

    #[test]
    fn a_handler_gets_the_alternate_stack_and_still_works() {
        let handler: extern "C" fn(libc::c_int) = hear;
        // SAFETY: all-zero is a valid sigaction: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler does nothing but count.
        assert_eq!(unsafe { libc::sigaction(libc::SIGUSR2, &action, ptr::null_mut()) }, 0);
        let ignored = flags(libc::SIGPIPE);

        use_alternate_stacks();

        assert_eq!(flags(libc::SIGUSR2) & libc::SA_ONSTACK, libc::SA_ONSTACK);
        assert_eq!(flags(libc::SIGUSR2) & libc::SA_RESTART, libc::SA_RESTART, "kept");
        assert_eq!(flags(libc::SIGPIPE), ignored, "an ignored signal stays as it is");
        // SAFETY: a signal to this thread, which has a handler.
        unsafe { libc::raise(libc::SIGUSR2) };
        assert_eq!(HEARD.load(Ordering::SeqCst), 1);
    }
}
