//! The one place that decides whether a failed request is worth another attempt.
//!
//! Callers own what happens between attempts (backoff, deadline, which broker); the answer here
//! says whether there should be one, and what must be learned anew before it.

use super::error::{Error, ErrorCode};

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Another attempt may succeed, after backoff and after the named thing was done.
    Retry(Before),
    /// Another attempt cannot succeed: hand the error to the caller.
    Fail,
}

/// What has to happen before the next attempt, besides waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing: the same broker will be able to answer.
    Nothing,
    /// Metadata must be fetched: leader, topic id or broker list are out of date.
    Metadata,
    /// The coordinator must be looked up again.
    Coordinator,
    /// A fresh connection; who leads or coordinates may have changed with the old one.
    Reconnect,
    /// The broker list is useless: start from the bootstrap addresses (KIP-1102).
    Rebootstrap,
}

impl Verdict {
    pub(crate) fn is_retry(self) -> bool {
        matches!(self, Self::Retry(_))
    }
}

/// Decides by error; each branch gives the failure it stands for.
pub(crate) fn decide(error: &Error) -> Verdict {
    use Before::*;
    use Verdict::*;
    match error {
        Error::Broker { code, .. } => decide_code(*code),
        // The broker may be restarting, or its leadership moved away with it.
        Error::Connect { .. } | Error::Disconnected { .. } => Retry(Reconnect),
        // The answer may still come, but not to this request: its connection was given up.
        Error::Timeout { .. } => Retry(Reconnect),
        // A wrong certificate or CA stays wrong until somebody changes a setting.
        Error::Tls { .. } => Fail,
        // Repeating a refused login locks accounts and floods audit logs.
        Error::Authentication { .. } => Fail,
        // The broker's release decides; asking again changes nothing.
        Error::UnsupportedVersion { .. } => Fail,
        // The stream was given up with it; a fresh one starts at a frame border. Without a bound
        // this would loop, which is why every caller has a deadline.
        Error::Malformed { .. } => Retry(Reconnect),
        // The same bytes would come again.
        Error::CorruptRecords { .. } => Fail,
        Error::Config(_) | Error::State(_) | Error::Closed => Fail,
    }
}

/// Decides by a broker's code. Codes that only one request knows how to treat (sequence numbers,
/// member epochs, session epochs) are final here and handled by that request's owner first.
pub(crate) fn decide_code(code: ErrorCode) -> Verdict {
    use Before::*;
    use Verdict::*;
    match code {
        // Damaged in transit: the broker verified the checksum and refused it.
        ErrorCode::CorruptMessage => Retry(Nothing),
        // Just created topics are not known on every broker yet.
        ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId => Retry(Metadata),
        // The topic was deleted and created again: its cached id is wrong.
        ErrorCode::InconsistentTopicId | ErrorCode::FetchSessionTopicIdError => Retry(Metadata),
        // An election runs, or we asked the former leader.
        ErrorCode::LeaderNotAvailable
        | ErrorCode::NotLeaderOrFollower
        | ErrorCode::ReplicaNotAvailable
        | ErrorCode::FencedLeaderEpoch
        | ErrorCode::PreferredLeaderNotAvailable
        | ErrorCode::EligibleLeadersNotAvailable
        | ErrorCode::ListenerNotFound
        | ErrorCode::BrokerNotAvailable => Retry(Metadata),
        // We know a newer leader epoch than the broker: it will catch up.
        ErrorCode::UnknownLeaderEpoch => Retry(Metadata),
        // A disk of the leader failed; the partition moves to another broker.
        ErrorCode::KafkaStorageError => Retry(Metadata),
        // The leader does not know its high watermark yet.
        ErrorCode::OffsetNotAvailable => Retry(Nothing),
        // Replication did not finish in time, or replicas are missing for the moment.
        ErrorCode::RequestTimedOut
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::NotEnoughReplicasAfterAppend => Retry(Nothing),
        // The broker lost its own connection to the node it forwarded to.
        ErrorCode::NetworkException => Retry(Reconnect),
        // The coordinator reads its log; it stays the coordinator.
        ErrorCode::CoordinatorLoadInProgress => Retry(Nothing),
        ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => Retry(Coordinator),
        // Requests to the controller go by way of any broker, which found a new one meanwhile.
        ErrorCode::NotController => Retry(Metadata),
        // The previous transaction of this id is still being completed by the coordinator.
        ErrorCode::ConcurrentTransactions => Retry(Nothing),
        // Transactions with open offsets end within moments.
        ErrorCode::UnstableOffsetCommit => Retry(Nothing),
        ErrorCode::ThrottlingQuotaExceeded => Retry(Nothing),
        // The broker forgot the session or saw an older request of it; a full fetch opens anew.
        ErrorCode::FetchSessionIdNotFound
        | ErrorCode::InvalidFetchSessionEpoch
        | ErrorCode::ShareSessionNotFound
        | ErrorCode::InvalidShareSessionEpoch => Retry(Nothing),
        // All session slots of the broker are taken for the moment.
        ErrorCode::ShareSessionLimitReached => Retry(Nothing),
        // The brokers answering here are no longer part of the cluster.
        ErrorCode::RebootstrapRequired => Retry(Rebootstrap),
        // Everything else is about the request, the caller's rights or the caller's state.
        _ => Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_login_is_final_and_a_broken_stream_is_not() {
        let broker = "b:9092".into();
        let refused = Error::Authentication {
            broker: "b:9092".into(),
            mechanism: "PLAIN",
            cause: "no".into(),
        };
        assert_eq!(decide(&refused), Verdict::Fail);
        assert_eq!(
            decide(&Error::disconnected(&broker, "reset")),
            Verdict::Retry(Before::Reconnect)
        );
    }

    #[test]
    fn a_moved_leader_asks_for_metadata_and_a_moved_coordinator_for_a_lookup() {
        assert_eq!(decide_code(ErrorCode::NotLeaderOrFollower), Verdict::Retry(Before::Metadata));
        assert_eq!(decide_code(ErrorCode::NotCoordinator), Verdict::Retry(Before::Coordinator));
        assert_eq!(
            decide_code(ErrorCode::CoordinatorLoadInProgress),
            Verdict::Retry(Before::Nothing)
        );
    }

    #[test]
    fn whatever_kafkas_own_client_tries_again_is_tried_again_here() {
        for code in ErrorCode::ALL.iter().filter(|code| code.is_retriable()) {
            // Nothing is left to elect: the caller has what it asked for.
            let expected = *code != ErrorCode::ElectionNotNeeded;
            assert_eq!(decide_code(*code).is_retry(), expected, "{code}");
        }
    }

    #[test]
    fn rights_fencing_and_unknown_codes_are_final() {
        for code in [
            ErrorCode::TopicAuthorizationFailed,
            ErrorCode::ProducerFenced,
            ErrorCode::InvalidProducerEpoch,
            ErrorCode::OutOfOrderSequenceNumber,
            ErrorCode::UnknownServerError,
            ErrorCode::from(9999),
        ] {
            assert_eq!(decide_code(code), Verdict::Fail, "{code}");
        }
    }
}
