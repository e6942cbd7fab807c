//! The words that options with a fixed set of values take.

/// Defines an enum whose variants stand for the words of one option key.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
        }

        impl $name {
            /// The word that stands for this value in an option.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            #[cfg(test)]
            pub(crate) const ALL: &'static [$name] = &[$($name::$variant),+];
        }
    };
}

words! {
    /// How the partitions of a topic are divided among the members of a group
    /// (`partition.assignment.strategy`, classic protocol).
    BalanceStrategy {
        /// Keeps as much of the previous assignment as possible, and moves only
        /// the partitions that change owner while the others are processed on
        /// (KIP-429). The default.
        CooperativeSticky = "cooperative-sticky",
        /// Keeps as much of the previous assignment as possible, but all members
        /// give everything up during a rebalance.
        Sticky = "sticky",
        /// Deals the partitions out in turn.
        RoundRobin = "roundrobin",
        /// Gives each member one contiguous range of partitions.
        Range = "range",
    }
}

words! {
    /// How detailed the Kafka client's own log lines are (`llingr.client.log.level`).
    ClientLogLevel {
        /// No line at all.
        None = "none",
        /// Errors.
        Error = "error",
        /// And warnings.
        Warn = "warn",
        /// And what changes the client's state. The default.
        Info = "info",
        /// And what it does in detail.
        Debug = "debug",
    }
}

words! {
    /// Which records of transactions are seen (`isolation.level`).
    IsolationLevel {
        /// Only those of committed transactions. The default.
        ReadCommitted = "read_committed",
        /// All, also those of open and aborted transactions.
        ReadUncommitted = "read_uncommitted",
    }
}

words! {
    /// Who assigns the partitions of a group (`group.protocol`).
    GroupProtocol {
        /// A member of the group, by [`BalanceStrategy`]. The default.
        Classic = "classic",
        /// The broker (KIP-848); needs Apache Kafka 4.0 or later.
        Consumer = "consumer",
    }
}

words! {
    /// When records of a share group count as acknowledged
    /// (`share.acknowledgement.mode`).
    ShareAcknowledgementMode {
        /// The next poll accepts all records of the last one. The default.
        Implicit = "implicit",
        /// Each record is acknowledged by the program.
        Explicit = "explicit",
    }
}

words! {
    /// How strictly a share consumer keeps to `max.poll.records`
    /// (`share.acquire.mode`, KIP-1206).
    ShareAcquireMode {
        /// Whole batches, so that the limit may be exceeded. The default.
        BatchOptimized = "batch_optimized",
        /// Never more than the limit; needs Apache Kafka 4.2 or later.
        RecordLimit = "record_limit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::catalogue::Catalogue;

    #[test]
    fn every_enum_has_exactly_the_words_of_the_catalogue() {
        fn check<T: Copy>(key: &str, all: &[T], word: fn(T) -> &'static str) {
            let words: Vec<_> = all.iter().map(|value| word(*value)).collect();
            assert_eq!(Catalogue::get().find(key).expect(key).words, words, "{key}");
        }
        check("partition.assignment.strategy", BalanceStrategy::ALL, BalanceStrategy::as_str);
        check("llingr.client.log.level", ClientLogLevel::ALL, ClientLogLevel::as_str);
        check("isolation.level", IsolationLevel::ALL, IsolationLevel::as_str);
        check("group.protocol", GroupProtocol::ALL, GroupProtocol::as_str);
        check(
            "share.acknowledgement.mode",
            ShareAcknowledgementMode::ALL,
            ShareAcknowledgementMode::as_str,
        );
        check("share.acquire.mode", ShareAcquireMode::ALL, ShareAcquireMode::as_str);
        use crate::options::AutoOffsetReset;
        check(
            "auto.offset.reset",
            &[AutoOffsetReset::Earliest, AutoOffsetReset::Latest],
            |reset| reset.as_str(),
        );
    }
}
