//! DescribeCluster (API key 60).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// DescribeClusterRequest, versions 0 to 2.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeClusterRequest {
    /// `IncludeClusterAuthorizedOperations`.
    pub include_cluster_authorized_operations: bool,
    /// `EndpointType`, versions 1 to 2, default 1.
    pub endpoint_type: i8,
    /// `IncludeFencedBrokers`, version 2.
    pub include_fenced_brokers: bool,
}

impl Default for DescribeClusterRequest {
    fn default() -> Self {
        Self {
            include_cluster_authorized_operations: false,
            endpoint_type: 1,
            include_fenced_brokers: false,
        }
    }
}

impl Codec for DescribeClusterRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            include_cluster_authorized_operations: r.get()?,
            endpoint_type: if v >= 1 { r.get()? } else { 1 },
            include_fenced_brokers: if v == 2 { r.get()? } else { false },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.include_cluster_authorized_operations)?;
        if v >= 1 {
            w.put(&self.endpoint_type)?;
        } else {
            w.absent(self.endpoint_type != 1, "DescribeClusterRequest.endpoint_type")?;
        }
        if v == 2 {
            w.put(&self.include_fenced_brokers)?;
        } else {
            w.absent(self.include_fenced_brokers, "DescribeClusterRequest.include_fenced_brokers")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeClusterRequest {
    const NAME: &'static str = "DescribeClusterRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Request for DescribeClusterRequest {
    const API_KEY: i16 = 60;
    type Response = DescribeClusterResponse;
}

/// DescribeClusterResponse, versions 0 to 2.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeClusterResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `EndpointType`, versions 1 to 2, default 1.
    pub endpoint_type: i8,
    /// `ClusterId`.
    pub cluster_id: String,
    /// `ControllerId`, default -1.
    pub controller_id: i32,
    /// `Brokers`.
    pub brokers: Vec<DescribeClusterBroker>,
    /// `ClusterAuthorizedOperations`, default -2147483648.
    pub cluster_authorized_operations: i32,
}

impl Default for DescribeClusterResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: None,
            endpoint_type: 1,
            cluster_id: String::new(),
            controller_id: -1,
            brokers: Vec::new(),
            cluster_authorized_operations: i32::MIN,
        }
    }
}

impl Codec for DescribeClusterResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            endpoint_type: if v >= 1 { r.get()? } else { 1 },
            cluster_id: r.get()?,
            controller_id: r.get()?,
            brokers: r.get()?,
            cluster_authorized_operations: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        if v >= 1 {
            w.put(&self.endpoint_type)?;
        } else {
            w.absent(self.endpoint_type != 1, "DescribeClusterResponse.endpoint_type")?;
        }
        w.put(&self.cluster_id)?;
        w.put(&self.controller_id)?;
        w.put(&self.brokers)?;
        w.put(&self.cluster_authorized_operations)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeClusterResponse {
    const NAME: &'static str = "DescribeClusterResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Response for DescribeClusterResponse {}

/// Part of [`DescribeClusterResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeClusterBroker {
    /// `BrokerId`.
    pub broker_id: i32,
    /// `Host`.
    pub host: String,
    /// `Port`.
    pub port: i32,
    /// `Rack`, may be null, default null.
    pub rack: Option<String>,
    /// `IsFenced`, version 2.
    pub is_fenced: bool,
}

impl Codec for DescribeClusterBroker {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            broker_id: r.get()?,
            host: r.get()?,
            port: r.get()?,
            rack: r.get()?,
            is_fenced: if v == 2 { r.get()? } else { false },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.broker_id)?;
        w.put(&self.host)?;
        w.put(&self.port)?;
        w.put(&self.rack)?;
        if v == 2 {
            w.put(&self.is_fenced)?;
        } else {
            w.absent(self.is_fenced, "DescribeClusterBroker.is_fenced")?;
        }
        w.no_tags();
        Ok(())
    }
}
