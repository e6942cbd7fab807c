//! Against brokers whose every answer the test decides.
