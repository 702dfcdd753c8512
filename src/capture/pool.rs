//! Picture buffers that are used again once nobody holds them.

use std::sync::Arc;

/// Buffers kept for reuse. A pipeline holds two or three at a time; more in flight means somebody keeps frames.
const KEPT: usize = 6;

/// A pool of RGB buffers. Not shared: it belongs to the thread that fills frames.
#[derive(Debug, Default)]
pub struct FramePool {
    buffers: Vec<Arc<[u8]>>,
    /// The buffer to look at first, so that the one used longest ago comes next.
    next: usize,
}

impl FramePool {
    /// A buffer of `len` bytes after `fill` has written it; its contents before are unspecified.
    /// Allocates only while all kept buffers are held by somebody, or after a change of size.
    ///
    /// # Errors
    /// What `fill` returns.
    pub fn frame<E>(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Arc<[u8]>, E> {
        self.buffers.retain(|b| b.len() == len);
        let count = self.buffers.len();
        let start = self.next;
        let free = (0..count).map(|i| (start + i) % count).find(|i| {
            // Only this pool could hand out another clone, so a count of one stays one.
            self.buffers.get_mut(*i).is_some_and(|b| Arc::get_mut(b).is_some())
        });
        let index = match free {
            Some(index) => index,
            None => {
                let buffer: Arc<[u8]> = vec![0; len].into();
                if count < KEPT {
                    self.buffers.push(buffer);
                    count
                } else {
                    // All are in use: the one looked at first leaves the pool and dies with its last holder.
                    let index = start % KEPT;
                    if let Some(slot) = self.buffers.get_mut(index) {
                        *slot = buffer;
                    }
                    index
                }
            }
        };
        self.next = index + 1;
        match self.buffers.get_mut(index) {
            Some(buffer) => {
                if let Some(bytes) = Arc::get_mut(buffer) {
                    fill(bytes)?;
                }
                Ok(buffer.clone())
            }
            None => Ok(Arc::from(Vec::new())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(pool: &mut FramePool, value: u8) -> Arc<[u8]> {
        pool.frame(3, |b| {
            b.fill(value);
            Ok::<_, ()>(())
        })
        .expect("fill")
    }

    #[test]
    fn a_held_buffer_is_never_written_again() {
        let mut pool = FramePool::default();
        let held: Vec<_> = (0..20).map(|i| fill(&mut pool, i)).collect();
        for (i, buffer) in held.iter().enumerate() {
            assert_eq!(&buffer[..], [i as u8; 3]);
        }
    }

    #[test]
    fn free_buffers_are_used_again() {
        let mut pool = FramePool::default();
        let mut places = std::collections::HashSet::new();
        for i in 0..100 {
            let a = fill(&mut pool, i);
            places.insert(a.as_ptr());
        }
        assert!(places.len() <= 2, "{} buffers for one frame at a time", places.len());
    }

    #[test]
    fn a_new_size_replaces_the_old_buffers() {
        let mut pool = FramePool::default();
        fill(&mut pool, 1);
        assert_eq!(pool.frame(5, |_| Ok::<_, ()>(())).expect("fill").len(), 5);
        assert!(pool.frame(5, |_| Err("bad")).is_err());
    }
}
