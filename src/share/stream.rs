//! Records one after the other, for programs that work with streams.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;

use super::AckType;
use super::consumer::ShareConsumer;
use super::error::ShareError;
use super::record::{ShareRecord, ShareRecords};

type Next = dyn Future<Output = Result<ShareRecords, ShareError>> + Send;

/// The records of a consumer as a [`Stream`]; see [`ShareConsumer::stream`].
#[must_use = "a stream does nothing until it is asked for records"]
pub struct ShareStream {
    consumer: ShareConsumer,
    batch: std::vec::IntoIter<ShareRecord>,
    poll: Option<Pin<Box<Next>>>,
    ended: bool,
}

impl ShareConsumer {
    /// The records one after the other, for as long as the consumer lives. It polls whenever the
    /// records of the last poll are used up; in implicit mode that poll accepts them, so ask for
    /// the next record when the last one is done with.
    ///
    /// Errors come as items. After a fatal one, and after
    /// [`close`](ShareConsumer::close), the stream ends. Use one stream at a time: several
    /// accept each other's records in implicit mode, as several poll loops do.
    ///
    /// Dropping the stream releases the records that it polled and did not yield; the others keep
    /// what was said about them.
    ///
    /// ```no_run
    /// # async fn work(consumer: llingr_kafka::share::ShareConsumer) {
    /// let mut records = consumer.stream();
    /// while let Some(record) = records.next().await {
    ///     match record {
    ///         Ok(record) => println!("{} at {}", record.topic(), record.offset()),
    ///         Err(error) => eprintln!("{error}"),
    ///     }
    /// }
    /// # }
    /// ```
    pub fn stream(&self) -> ShareStream {
        ShareStream {
            consumer: self.clone(),
            batch: Vec::new().into_iter(),
            poll: None,
            ended: false,
        }
    }
}

impl ShareStream {
    /// The next record or error, without a trait in scope; `None` at the end.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<ShareRecord, ShareError>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for ShareStream {
    type Item = Result<ShareRecord, ShareError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(record) = this.batch.next() {
                return Poll::Ready(Some(Ok(record)));
            }
            if this.ended {
                return Poll::Ready(None);
            }
            let poll = this.poll.get_or_insert_with(|| {
                let consumer = this.consumer.clone();
                Box::pin(async move { consumer.poll(Duration::MAX).await })
            });
            let outcome = ready!(poll.as_mut().poll(cx));
            this.poll = None;
            match outcome {
                Ok(records) => this.batch = records.into_iter(),
                Err(ShareError::Closed) => this.ended = true,
                Err(error) => {
                    this.ended = error.is_fatal();
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.batch.len(), None)
    }
}

impl Drop for ShareStream {
    fn drop(&mut self) {
        for record in self.batch.by_ref() {
            // Not held any more: nothing to give back.
            drop(self.consumer.acknowledge(&record, AckType::Release));
        }
    }
}

impl std::fmt::Debug for ShareStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShareStream")
            .field("consumer", &self.consumer)
            .field("polled", &self.batch.len())
            .finish_non_exhaustive()
    }
}
