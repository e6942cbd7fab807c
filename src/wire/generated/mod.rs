//! Kafka's messages, one module for each API.

// Written by tools/wiregen from Kafka's schemas; change that, not this.

pub mod add_offsets_to_txn;
pub mod add_partitions_to_txn;
pub mod alter_share_group_offsets;
pub mod api_versions;
pub mod consumer_group_describe;
pub mod consumer_group_heartbeat;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_share_group_offsets;
pub mod delete_topics;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_groups;
pub mod describe_share_group_offsets;
pub mod describe_topic_partitions;
pub mod end_txn;
pub mod fetch;
pub mod find_coordinator;
pub mod header;
pub mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod join_group;
pub mod leave_group;
pub mod list_groups;
pub mod list_offsets;
pub mod metadata;
pub mod offset_commit;
pub mod offset_delete;
pub mod offset_fetch;
pub mod offset_for_leader_epoch;
pub mod produce;
pub mod sasl_authenticate;
pub mod sasl_handshake;
pub mod share_acknowledge;
pub mod share_fetch;
pub mod share_group_describe;
pub mod share_group_heartbeat;
pub mod streams_group_describe;
pub mod streams_group_heartbeat;
pub mod sync_group;
pub mod txn_offset_commit;

pub use add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
pub use add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
pub use alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse,
};
pub use api_versions::{ApiVersionsRequest, ApiVersionsResponse};
pub use consumer_group_describe::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse};
pub use consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
pub use create_partitions::{CreatePartitionsRequest, CreatePartitionsResponse};
pub use create_topics::{CreateTopicsRequest, CreateTopicsResponse};
pub use delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse};
pub use delete_records::{DeleteRecordsRequest, DeleteRecordsResponse};
pub use delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse,
};
pub use delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse};
pub use describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
pub use describe_configs::{DescribeConfigsRequest, DescribeConfigsResponse};
pub use describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};
pub use describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse,
};
pub use describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
};
pub use end_txn::{EndTxnRequest, EndTxnResponse};
pub use fetch::{FetchRequest, FetchResponse};
pub use find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
pub use header::{RequestHeader, ResponseHeader};
pub use heartbeat::{HeartbeatRequest, HeartbeatResponse};
pub use incremental_alter_configs::{
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
pub use init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
pub use join_group::{JoinGroupRequest, JoinGroupResponse};
pub use leave_group::{LeaveGroupRequest, LeaveGroupResponse};
pub use list_groups::{ListGroupsRequest, ListGroupsResponse};
pub use list_offsets::{ListOffsetsRequest, ListOffsetsResponse};
pub use metadata::{MetadataRequest, MetadataResponse};
pub use offset_commit::{OffsetCommitRequest, OffsetCommitResponse};
pub use offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse};
pub use offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};
pub use offset_for_leader_epoch::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};
pub use produce::{ProduceRequest, ProduceResponse};
pub use sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
pub use sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
pub use share_acknowledge::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};
pub use share_fetch::{ShareFetchRequest, ShareFetchResponse};
pub use share_group_describe::{ShareGroupDescribeRequest, ShareGroupDescribeResponse};
pub use share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
pub use streams_group_describe::{StreamsGroupDescribeRequest, StreamsGroupDescribeResponse};
pub use streams_group_heartbeat::{StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};
pub use sync_group::{SyncGroupRequest, SyncGroupResponse};
pub use txn_offset_commit::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};

/// Calls `$each!(Request, Response)` for every API, for code that must cover all.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_api {
    ($each:ident) => {
        $each!(AddOffsetsToTxnRequest, AddOffsetsToTxnResponse);
        $each!(AddPartitionsToTxnRequest, AddPartitionsToTxnResponse);
        $each!(AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse);
        $each!(ApiVersionsRequest, ApiVersionsResponse);
        $each!(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse);
        $each!(ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse);
        $each!(CreatePartitionsRequest, CreatePartitionsResponse);
        $each!(CreateTopicsRequest, CreateTopicsResponse);
        $each!(DeleteGroupsRequest, DeleteGroupsResponse);
        $each!(DeleteRecordsRequest, DeleteRecordsResponse);
        $each!(DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse);
        $each!(DeleteTopicsRequest, DeleteTopicsResponse);
        $each!(DescribeClusterRequest, DescribeClusterResponse);
        $each!(DescribeConfigsRequest, DescribeConfigsResponse);
        $each!(DescribeGroupsRequest, DescribeGroupsResponse);
        $each!(DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse);
        $each!(DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse);
        $each!(EndTxnRequest, EndTxnResponse);
        $each!(FetchRequest, FetchResponse);
        $each!(FindCoordinatorRequest, FindCoordinatorResponse);
        $each!(HeartbeatRequest, HeartbeatResponse);
        $each!(IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse);
        $each!(InitProducerIdRequest, InitProducerIdResponse);
        $each!(JoinGroupRequest, JoinGroupResponse);
        $each!(LeaveGroupRequest, LeaveGroupResponse);
        $each!(ListGroupsRequest, ListGroupsResponse);
        $each!(ListOffsetsRequest, ListOffsetsResponse);
        $each!(MetadataRequest, MetadataResponse);
        $each!(OffsetCommitRequest, OffsetCommitResponse);
        $each!(OffsetDeleteRequest, OffsetDeleteResponse);
        $each!(OffsetFetchRequest, OffsetFetchResponse);
        $each!(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse);
        $each!(ProduceRequest, ProduceResponse);
        $each!(SaslAuthenticateRequest, SaslAuthenticateResponse);
        $each!(SaslHandshakeRequest, SaslHandshakeResponse);
        $each!(ShareAcknowledgeRequest, ShareAcknowledgeResponse);
        $each!(ShareFetchRequest, ShareFetchResponse);
        $each!(ShareGroupDescribeRequest, ShareGroupDescribeResponse);
        $each!(ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse);
        $each!(StreamsGroupDescribeRequest, StreamsGroupDescribeResponse);
        $each!(StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse);
        $each!(SyncGroupRequest, SyncGroupResponse);
        $each!(TxnOffsetCommitRequest, TxnOffsetCommitResponse);
    };
}
