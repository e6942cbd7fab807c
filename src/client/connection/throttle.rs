//! Answers that may ask the client to hold back (KIP-219).

use crate::wire::messages as m;

/// An answer with, for most requests, a throttle time.
pub(crate) trait Throttled {
    /// How long this connection should send nothing, in milliseconds.
    fn throttle_time_ms(&self) -> i32;
}

macro_rules! throttled {
    ($($response:ident),+ $(,)?) => {
        $(impl Throttled for m::$response {
            fn throttle_time_ms(&self) -> i32 {
                self.throttle_time_ms
            }
        })+
    };
}

throttled! {
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    AlterShareGroupOffsetsResponse,
    ApiVersionsResponse,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeleteGroupsResponse,
    DeleteRecordsResponse,
    DeleteShareGroupOffsetsResponse,
    DeleteTopicsResponse,
    DescribeClusterResponse,
    DescribeConfigsResponse,
    DescribeGroupsResponse,
    DescribeShareGroupOffsetsResponse,
    DescribeTopicPartitionsResponse,
    EndTxnResponse,
    FetchResponse,
    FindCoordinatorResponse,
    HeartbeatResponse,
    IncrementalAlterConfigsResponse,
    InitProducerIdResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListGroupsResponse,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    OffsetForLeaderEpochResponse,
    ProduceResponse,
    ShareAcknowledgeResponse,
    ShareFetchResponse,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatResponse,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatResponse,
    SyncGroupResponse,
    TxnOffsetCommitResponse,
}

impl Throttled for m::SaslAuthenticateResponse {
    fn throttle_time_ms(&self) -> i32 {
        0
    }
}

impl Throttled for m::SaslHandshakeResponse {
    fn throttle_time_ms(&self) -> i32 {
        0
    }
}
