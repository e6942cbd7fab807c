//! The processors behind the stateless operators.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use crate::streams::error::BoxError;
use crate::streams::processor::{Processor, ProcessorContext};
use crate::streams::record::{Data, Record};

/// A function of a record that forwards what it likes: every stateless operator is one.
pub(crate) struct Apply<F, KI, VI, KO, VO> {
    apply: Arc<F>,
    types: Types<KI, VI, KO, VO>,
}

/// Types that a processor takes and gives and does not hold.
type Types<KI, VI, KO, VO> = PhantomData<fn(KI, VI) -> (KO, VO)>;

impl<F, KI, VI, KO, VO> Processor for Apply<F, KI, VI, KO, VO>
where
    F: Fn(&mut ProcessorContext<'_, KO, VO>, Record<KI, VI>) -> Result<(), BoxError>
        + Send
        + Sync
        + 'static,
    KI: Data,
    VI: Data,
    KO: Data,
    VO: Data,
{
    type KeyIn = KI;
    type ValueIn = VI;
    type KeyOut = KO;
    type ValueOut = VO;

    #[inline]
    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, KO, VO>,
        record: Record<KI, VI>,
    ) -> Result<(), BoxError> {
        (self.apply)(cx, record)
    }
}

/// A supplier of [`Apply`]; the function is shared by all tasks.
pub(crate) fn apply<F, KI, VI, KO, VO>(
    apply: F,
) -> impl Fn() -> Apply<F, KI, VI, KO, VO> + Clone + Send + Sync + 'static
where
    F: Fn(&mut ProcessorContext<'_, KO, VO>, Record<KI, VI>) -> Result<(), BoxError>
        + Send
        + Sync
        + 'static,
    KI: Data,
    VI: Data,
    KO: Data,
    VO: Data,
{
    let function = Arc::new(apply);
    move || Apply { apply: function.clone(), types: PhantomData }
}

/// A condition of a branch.
pub(crate) type Predicate<K, V> = Arc<dyn Fn(Option<&K>, Option<&V>) -> bool + Send + Sync>;

/// Branches of a split stream by the name of their node; without a condition the default one.
pub(crate) type Routes<K, V> = Arc<Mutex<Vec<(Option<Predicate<K, V>>, String)>>>;

/// Hands a record to the first branch whose condition it meets.
pub(crate) struct Split<K, V> {
    pub(crate) routes: Vec<(Option<Predicate<K, V>>, String)>,
}

impl<K: Data, V: Data> Processor for Split<K, V> {
    type KeyIn = K;
    type ValueIn = V;
    type KeyOut = K;
    type ValueOut = V;

    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, K, V>,
        record: Record<K, V>,
    ) -> Result<(), BoxError> {
        let (key, value) = (record.key.as_ref(), record.value.as_ref());
        let meets = |predicate: &Option<Predicate<K, V>>| {
            predicate.as_ref().is_none_or(|predicate| predicate(key, value))
        };
        if let Some((_, child)) = self.routes.iter().find(|(predicate, _)| meets(predicate)) {
            cx.forward_to(child, record)?;
        }
        Ok(())
    }
}
