//! Random instances of every message.

// Written by tools/wiregen from Kafka's schemas; change that, not this.

mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod alter_share_group_offsets;
mod api_versions;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod create_partitions;
mod create_topics;
mod delete_groups;
mod delete_records;
mod delete_share_group_offsets;
mod delete_topics;
mod describe_cluster;
mod describe_configs;
mod describe_groups;
mod describe_share_group_offsets;
mod describe_topic_partitions;
mod end_txn;
mod fetch;
mod find_coordinator;
mod header;
mod heartbeat;
mod incremental_alter_configs;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_groups;
mod list_offsets;
mod metadata;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod sasl_authenticate;
mod sasl_handshake;
mod share_acknowledge;
mod share_fetch;
mod share_group_describe;
mod share_group_heartbeat;
mod streams_group_describe;
mod streams_group_heartbeat;
mod sync_group;
mod txn_offset_commit;
