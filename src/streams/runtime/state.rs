//! States of an instance.
//!
//! ```text
//! Created -> Rebalancing <-> Running -> PendingShutdown -> NotRunning
//!                     \---------\-----> PendingError ----> Error
//! ```

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// Where an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Not started.
    Created,
    /// Some thread is getting its tasks, or restores their state.
    Rebalancing,
    /// All threads process.
    Running,
    /// Closing in order.
    PendingShutdown,
    /// Closed.
    NotRunning,
    /// Closing after an error.
    PendingError,
    /// Ended by an error.
    Error,
}

impl State {
    /// Whether nothing can follow.
    pub fn is_final(self) -> bool {
        matches!(self, Self::NotRunning | Self::Error)
    }

    fn may_become(self, next: Self) -> bool {
        use State::{
            Created, Error, NotRunning, PendingError, PendingShutdown, Rebalancing, Running,
        };
        matches!(
            (self, next),
            (Created, Rebalancing | PendingShutdown)
                | (Rebalancing, Running | PendingShutdown | PendingError)
                | (Running, Rebalancing | PendingShutdown | PendingError)
                | (PendingShutdown, NotRunning)
                | (PendingError, Error)
        )
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "CREATED",
            Self::Rebalancing => "REBALANCING",
            Self::Running => "RUNNING",
            Self::PendingShutdown => "PENDING_SHUTDOWN",
            Self::NotRunning => "NOT_RUNNING",
            Self::PendingError => "PENDING_ERROR",
            Self::Error => "ERROR",
        })
    }
}

/// What happens after a thread failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum UncaughtAction {
    /// The thread ends and another one takes its place.
    ReplaceThread,
    /// This instance ends in [`State::Error`].
    #[default]
    ShutdownClient,
    /// All instances of the application end.
    ShutdownApplication,
}

/// Hears of each change as (new, old), on the thread that causes it.
pub(super) type Listener = Box<dyn Fn(State, State) + Send + Sync>;

/// The state, with those who wait for it.
pub(super) struct StateCell {
    now: watch::Sender<State>,
    listener: Option<Listener>,
    /// Held while a change is made and told, so that the listener hears of them in order.
    turn: Mutex<()>,
}

impl StateCell {
    pub(super) fn new(listener: Option<Listener>) -> Self {
        Self { now: watch::channel(State::Created).0, listener, turn: Mutex::new(()) }
    }

    pub(super) fn get(&self) -> State {
        *self.now.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<State> {
        self.now.subscribe()
    }

    /// Changes the state if it may; returns whether it did.
    pub(super) fn become_(&self, next: State) -> bool {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.get();
        if !old.may_become(next) {
            return false;
        }
        log::info!(target: crate::LOG_TARGET, "streams: {old} -> {next}");
        if let Some(listener) = &self.listener
            && catch_unwind(AssertUnwindSafe(|| listener(next, old))).is_err()
        {
            log::error!(target: crate::LOG_TARGET, "the state listener panicked");
        }
        self.now.send_replace(next);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_the_drawn_changes_are_made_and_each_is_told_once() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let listener: Listener = Box::new(move |new, old| heard.lock().unwrap().push((old, new)));
        let state = StateCell::new(Some(listener));
        assert!(!state.become_(State::Running));
        assert!(state.become_(State::Rebalancing));
        assert!(!state.become_(State::Rebalancing));
        assert!(state.become_(State::Running));
        assert!(state.become_(State::PendingError));
        assert!(!state.become_(State::PendingShutdown));
        assert!(state.become_(State::Error));
        assert!(!state.become_(State::Rebalancing));
        let expected = [
            (State::Created, State::Rebalancing),
            (State::Rebalancing, State::Running),
            (State::Running, State::PendingError),
            (State::PendingError, State::Error),
        ];
        assert_eq!(*told.lock().unwrap(), expected);
    }

    #[test]
    fn a_listener_that_panics_stops_nothing() {
        let state = StateCell::new(Some(Box::new(|_, _| panic!("listener"))));
        assert!(state.become_(State::Rebalancing));
        assert_eq!(state.get(), State::Rebalancing);
    }
}
