//! Containing panics of code that is not ours, and knowing when a thread is
//! inside a handler.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`; a panic gives its message. The payload's own drop may panic too.
pub(crate) fn contained<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = message(&*payload);
        let _ = catch_unwind(AssertUnwindSafe(move || drop(payload)));
        text
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .map(|s| (*s).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    bounded(text.unwrap_or_else(|| "a panic without a text".to_owned()))
}

/// Error texts travel in headers and logs: longer ones are cut.
const TEXT_MAX: usize = 8 << 10;

pub(crate) fn bounded(mut text: String) -> String {
    if text.len() > TEXT_MAX {
        let cut = (0..=TEXT_MAX).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        text.truncate(cut);
        text.push_str(" [cut]");
    }
    text
}

thread_local! {
    static ATTEMPT: Cell<u32> = const { Cell::new(0) };
}

/// Marks this thread as running a handler until dropped.
pub(crate) struct InHandler(u32);

impl InHandler {
    pub(crate) fn enter(attempt: u32) -> InHandler {
        InHandler(ATTEMPT.replace(attempt))
    }
}

impl Drop for InHandler {
    fn drop(&mut self) {
        ATTEMPT.set(self.0);
    }
}

/// Which run of the record this is, counted from 1; `None` outside a handler
/// of this engine.
///
/// Works in process and dead-letter handlers, sync and async, on the thread
/// that the engine calls them on.
pub fn current_attempt() -> Option<u32> {
    match ATTEMPT.get() {
        0 => None,
        n => Some(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_of_every_kind_become_a_text() {
        assert_eq!(contained(|| 1), Ok(1));
        assert_eq!(contained(|| panic!("plain")), Err::<(), _>("plain".into()));
        assert_eq!(contained(|| panic!("with {}", 1)), Err::<(), _>("with 1".into()));
        let odd = contained(|| std::panic::panic_any(7u8));
        assert_eq!(odd, Err::<(), _>("a panic without a text".into()));
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        assert!(contained(|| std::panic::panic_any(Bomb)).is_err());
    }

    #[test]
    fn the_attempt_is_known_inside_and_nested_scopes_restore_it() {
        assert_eq!(current_attempt(), None);
        let outer = InHandler::enter(2);
        {
            let _inner = InHandler::enter(1);
            assert_eq!(current_attempt(), Some(1));
        }
        assert_eq!(current_attempt(), Some(2));
        drop(outer);
        assert_eq!(current_attempt(), None);
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = bounded("\u{e4}".repeat(TEXT_MAX));
        assert!(text.len() <= TEXT_MAX + 6 && text.ends_with(" [cut]"));
    }
}
