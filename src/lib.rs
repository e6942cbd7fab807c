//! llingr-kafka
