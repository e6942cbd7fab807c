//! Which versions of which requests a broker knows.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{Error, Result};
use crate::wire::Request;
use crate::wire::messages::ApiVersionsResponse;

/// A broker's answer to ApiVersions.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApiVersions {
    ranges: Arc<HashMap<i16, (i16, i16)>>,
    features: Arc<HashMap<String, i16>>,
}

impl ApiVersions {
    pub(crate) fn new(response: &ApiVersionsResponse) -> Self {
        let ranges = response
            .api_keys
            .iter()
            .map(|api| (api.api_key, (api.min_version, api.max_version)))
            .collect();
        let features = response
            .finalized_features
            .iter()
            .map(|feature| (feature.name.clone(), feature.max_version_level))
            .collect();
        Self { ranges: Arc::new(ranges), features: Arc::new(features) }
    }

    pub(crate) fn max(&self, api_key: i16) -> Option<i16> {
        self.ranges.get(&api_key).map(|(_, max)| *max)
    }

    /// Finalized level of a cluster feature such as `transaction.version`; 0 if it has none.
    pub(crate) fn feature(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }

    /// The newest version that broker, wire module and caller all know.
    pub(crate) fn negotiate<R: Request>(
        &self,
        broker: &Arc<str>,
        allowed: RangeInclusive<i16>,
    ) -> Result<i16> {
        let ours_min = R::MIN_VERSION.max(*allowed.start());
        let ours_max = R::MAX_VERSION.min(*allowed.end());
        let unsupported = |detail: String| Error::UnsupportedVersion {
            broker: broker.clone(),
            api: R::NAME,
            detail: detail.into(),
        };
        let Some(&(min, max)) = self.ranges.get(&R::API_KEY) else {
            return Err(unsupported(
                "the broker does not offer this request: its release is too old, or the feature \
                 is not enabled there"
                    .into(),
            ));
        };
        if ours_min > max || min > ours_max {
            return Err(unsupported(format!(
                "broker: {min} to {max}, client: {ours_min} to {ours_max}"
            )));
        }
        Ok(max.min(ours_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::messages::MetadataRequest;

    fn broker_with(min: i16, max: i16) -> ApiVersions {
        let ranges = HashMap::from([(MetadataRequest::API_KEY, (min, max))]);
        ApiVersions { ranges: Arc::new(ranges), features: Arc::default() }
    }

    #[test]
    fn the_newest_common_version_is_chosen() {
        use crate::wire::Message as _;
        let broker = "b:1".into();
        let newer = broker_with(0, i16::MAX);
        let ours = newer.negotiate::<MetadataRequest>(&broker, 0..=i16::MAX).unwrap();
        assert_eq!(ours, MetadataRequest::MAX_VERSION);
        assert_eq!(newer.negotiate::<MetadataRequest>(&broker, 0..=9).unwrap(), 9);
    }

    #[test]
    fn ranges_that_do_not_meet_give_an_error_with_both() {
        let error = broker_with(i16::MAX, i16::MAX)
            .negotiate::<MetadataRequest>(&"b:1".into(), 0..=i16::MAX)
            .unwrap_err();
        assert!(error.to_string().contains("b:1"), "{error}");
        assert!(error.to_string().contains("client:"), "{error}");
        let missing = ApiVersions::default()
            .negotiate::<MetadataRequest>(&"b:1".into(), 0..=i16::MAX)
            .unwrap_err();
        assert!(missing.to_string().contains("does not offer"), "{missing}");
    }
}
