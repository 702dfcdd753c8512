//! Which face to follow: searches the picture while none is followed, and knows what else is there.
//!
//! The near detector is cheap and comes first; the far one sweeps over windows of the picture only where that finds
//! nothing, one window a search. For two seconds after a live face was lost only that face may be taken: a face about
//! where it was and about as large, not one that was already seen beside it, and not a known picture.
//!
//! Space: frame pixels.

use std::time::Duration;

use glam::{Vec2, Vec3};

use crate::types::Timestamp;

use super::FaceError;
use super::detector::{Detection, Detector};
use super::far_detector::{FarDetector, window_around, windows};
use super::picture::Picture;
use super::roi::{Roi, bounds};

/// While no face is followed the picture is searched at most this often; a search is cheap beside the landmarks.
const SEARCH_EVERY: Duration = Duration::from_millis(45);
/// After a loss or a start each search has a far window; later only every [`PATIENT_EVERY`]th, to save power in front
/// of an empty chair.
const EAGER_FOR: Duration = Duration::from_secs(3);
const PATIENT_EVERY: u32 = 4;
/// No other face is taken so soon after a live one.
const HOLD_FOR: Duration = Duration::from_secs(2);
/// How far a head may have got, in face widths: at once, and more with each second.
const REACH: f32 = 0.9;
const REACH_PER_SEC: f32 = 1.5;
/// Faces that differ by more than this factor in width are not the same.
const SIZE_FACTOR: f32 = 1.8;
/// Faces nearer to each other than this share of their width are one.
const SAME_PLACE: f32 = 0.6;
/// While a face is followed the others are looked for this often; while it may be a picture, more often.
const LOOK_BESIDE_EVERY: Duration = Duration::from_secs(2);
const LOOK_FOR_RIVALS_EVERY: Duration = Duration::from_millis(300);
/// Known pictures are forgotten after so long without being seen, and so many are remembered.
const PICTURES_KEPT_FOR: Duration = Duration::from_secs(60);
const MAX_PICTURES: usize = 8;

/// Where a face is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub center: Vec2,
    /// The longer side of the box around the face.
    pub size_px: f32,
}

impl Place {
    /// Of a followed face. `None` for broken landmarks.
    pub fn of_landmarks(landmarks_px: &[Vec3]) -> Option<Self> {
        let (min, max) = bounds(landmarks_px)?;
        Some(Self { center: (min + max) / 2.0, size_px: (max - min).max_element() })
    }

    fn of_detection(detection: &Detection) -> Self {
        Self { center: detection.center, size_px: detection.size.max_element() }
    }

    fn is_about_as_large_as(self, other: Self) -> bool {
        let factor = self.size_px / other.size_px.max(1e-3);
        (1.0 / SIZE_FACTOR..=SIZE_FACTOR).contains(&factor)
    }

    /// True for two looks at one face at one time.
    fn is_at(self, other: Self) -> bool {
        self.center.distance(other.center) < SAME_PLACE * self.size_px.max(other.size_px)
    }
}

/// A face to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Find {
    pub roi: Roi,
    /// The far detector's boxes are rough: the landmarks' own region is needed.
    pub is_far: bool,
    place: Place,
    weight: f32,
}

impl Find {
    fn new(detection: &Detection, is_far: bool) -> Self {
        let place = Place::of_detection(detection);
        let weight = detection.score * detection.size.x * detection.size.y;
        Self { roi: detection.roi(), is_far, place, weight }
    }
}

/// A live face that was lost.
#[derive(Clone, Copy, Debug)]
struct Lost {
    place: Place,
    at: Timestamp,
}

/// Finds the face to follow.
pub(super) struct Acquire {
    near: Detector,
    /// Loaded when it is first needed: at a desk that is never.
    far: Option<FarDetector>,
    searched_at: Option<Timestamp>,
    /// When this search began.
    since: Option<Timestamp>,
    searches: u32,
    next_window: usize,
    lost: Option<Lost>,
    beside_at: Option<Timestamp>,
    /// Faces seen beside the followed one.
    others: Vec<Place>,
    /// Faces that have proved to be pictures, and when they were last there.
    pictures: Vec<(Place, Timestamp)>,
}

impl Acquire {
    pub fn load() -> Result<Self, FaceError> {
        Ok(Self {
            near: Detector::load()?,
            far: None,
            searched_at: None,
            since: None,
            searches: 0,
            next_window: 0,
            lost: None,
            beside_at: None,
            others: Vec::new(),
            pictures: Vec::new(),
        })
    }

    /// Forgets all it knows of the scene.
    pub fn reset(&mut self) {
        (self.searched_at, self.since, self.lost, self.beside_at) = (None, None, None, None);
        (self.searches, self.next_window) = (0, 0);
        self.others.clear();
        self.pictures.clear();
    }

    /// True while other faces are there beside the followed one.
    pub fn sees_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// The followed face is gone: the next search begins at once. `live` is where it was, unless it was a picture.
    pub fn begin(&mut self, live: Option<Place>, at: Timestamp) {
        if let Some(place) = live {
            self.lost = Some(Lost { place, at });
        }
        (self.searched_at, self.since) = (None, None);
    }

    /// The face at this place has proved to be a picture.
    pub fn note_picture(&mut self, place: Place, at: Timestamp) {
        self.pictures.retain(|(known, _)| !known.is_at(place));
        if self.pictures.len() >= MAX_PICTURES {
            self.pictures.remove(0);
        }
        self.pictures.push((place, at));
    }

    /// A live face is followed there: what was thought a picture was none.
    pub fn note_live(&mut self, place: Place) {
        self.pictures.retain(|(known, _)| !known.is_at(place));
    }

    /// Faces to try in this picture, best first. Empty also where it is not yet time to search again.
    pub fn search(&mut self, picture: Picture<'_>, at: Timestamp) -> Result<Vec<Find>, FaceError> {
        // A time that goes backwards is a new start.
        if self.searched_at.is_some_and(|last| at >= last && at.saturating_since(last) < SEARCH_EVERY) {
            return Ok(Vec::new());
        }
        self.searched_at = Some(at);
        let since = *self.since.get_or_insert(at);
        if at < since {
            self.since = Some(at);
        }
        self.forget(at);
        let mut finds: Vec<Find> = self.near.detect(picture)?.iter().map(|d| Find::new(d, false)).collect();
        let places: Vec<Place> = finds.iter().map(|find| find.place).collect();
        finds.retain(|find| self.may_be_taken(find.place, at));
        let is_eager = at.saturating_since(since) < EAGER_FOR;
        if finds.is_empty() && (is_eager || self.searches.is_multiple_of(PATIENT_EVERY)) {
            finds = self.search_far(picture)?;
            finds.retain(|find| self.may_be_taken(find.place, at));
        }
        self.searches = self.searches.wrapping_add(1);
        // The largest sure one is the person at the desk; pictures come after people.
        finds.sort_by(|a, b| {
            let is_picture = |find: &Find| self.is_picture(find.place);
            is_picture(a).cmp(&is_picture(b)).then(b.weight.total_cmp(&a.weight))
        });
        self.others = match finds.first() {
            Some(best) => places.into_iter().filter(|place| !place.is_at(best.place)).collect(),
            None => std::mem::take(&mut self.others),
        };
        Ok(finds)
    }

    fn search_far(&mut self, picture: Picture<'_>) -> Result<Vec<Find>, FaceError> {
        let far = match &mut self.far {
            Some(far) => far,
            None => self.far.insert(FarDetector::load()?),
        };
        let around = self.lost.map(|lost| window_around(lost.place.center, lost.place.size_px));
        // Where a face was just lost every second look goes there, the first one too.
        let all = around.filter(|_| self.next_window.is_multiple_of(2));
        let window = match all {
            Some(window) => window,
            None => {
                let sweep = if around.is_some() { self.next_window / 2 } else { self.next_window };
                let mut windows = windows(picture.width, picture.height);
                let count = windows.clone().count();
                match windows.nth(sweep % count) {
                    Some(window) => window,
                    None => return Ok(Vec::new()),
                }
            }
        };
        self.next_window = self.next_window.wrapping_add(1);
        Ok(far.detect(picture, window)?.iter().map(|d| Find::new(d, true)).collect())
    }

    /// Looks now and then what faces are there beside the followed one. While that one seems to be a picture: a face
    /// that may be followed instead.
    pub fn look_beside(
        &mut self,
        picture: Picture<'_>,
        at: Timestamp,
        followed: Place,
        is_picture: bool,
    ) -> Result<Option<Find>, FaceError> {
        let every = if is_picture { LOOK_FOR_RIVALS_EVERY } else { LOOK_BESIDE_EVERY };
        if self.beside_at.is_some_and(|last| at >= last && at.saturating_since(last) < every) {
            return Ok(None);
        }
        // The search has just seen what else is there.
        if self.beside_at.replace(at).is_none() && !is_picture {
            return Ok(None);
        }
        self.forget(at);
        let mut finds: Vec<Find> = self.near.detect(picture)?.iter().map(|d| Find::new(d, false)).collect();
        finds.retain(|find| !find.place.is_at(followed));
        self.others = finds.iter().map(|find| find.place).collect();
        finds.retain(|find| !self.is_picture(find.place));
        Ok(finds.into_iter().max_by(|a, b| a.weight.total_cmp(&b.weight)).filter(|_| is_picture))
    }

    fn is_picture(&self, place: Place) -> bool {
        self.pictures.iter().any(|(known, _)| known.is_at(place))
    }

    fn forget(&mut self, at: Timestamp) {
        self.pictures.retain(|(_, seen)| *seen <= at && at.saturating_since(*seen) < PICTURES_KEPT_FOR);
        if self.lost.is_some_and(|lost| lost.at > at || at.saturating_since(lost.at) >= HOLD_FOR) {
            self.lost = None;
            // Whoever was beside the lost face may now be followed.
            self.others.clear();
        }
    }

    /// Whether a face may be followed, so soon after the one that was lost.
    fn may_be_taken(&self, place: Place, at: Timestamp) -> bool {
        let Some(lost) = self.lost else { return true };
        let secs = at.saturating_since(lost.at).as_secs_f32();
        let reach = (REACH + REACH_PER_SEC * secs) * lost.place.size_px;
        let is_known_other = self.others.iter().any(|other| other.is_at(place) && !other.is_at(lost.place));
        place.center.distance(lost.place.center) <= reach
            && place.is_about_as_large_as(lost.place)
            && !is_known_other
            && !self.is_picture(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(x: f32, size_px: f32) -> Place {
        Place { center: Vec2::new(x, 100.0), size_px }
    }

    fn secs(secs: f64) -> Timestamp {
        Timestamp::from_secs_f64(secs)
    }

    #[test]
    fn for_two_seconds_only_the_lost_face_may_be_taken() {
        let mut acquire = Acquire::load().unwrap();
        assert!(acquire.may_be_taken(place(500.0, 40.0), secs(0.0)), "at first any face");
        acquire.others = vec![place(230.0, 100.0)];
        acquire.begin(Some(place(100.0, 100.0)), secs(10.0));
        assert!(acquire.may_be_taken(place(150.0, 90.0), secs(10.1)), "it has moved");
        assert!(!acquire.may_be_taken(place(300.0, 100.0), secs(10.1)), "too far for a tenth of a second");
        assert!(acquire.may_be_taken(place(300.0, 100.0), secs(11.5)), "but not for longer");
        assert!(!acquire.may_be_taken(place(225.0, 100.0), secs(11.5)), "someone who sat beside it");
        assert!(!acquire.may_be_taken(place(110.0, 40.0), secs(10.1)), "smaller: someone behind");
        acquire.note_picture(place(150.0, 90.0), secs(10.0));
        assert!(!acquire.may_be_taken(place(150.0, 90.0), secs(10.1)), "a known poster");
        acquire.forget(secs(11.9));
        assert!(!acquire.may_be_taken(place(500.0, 40.0), secs(11.9)));
        acquire.forget(secs(12.0));
        assert!(acquire.may_be_taken(place(500.0, 40.0), secs(12.0)), "then any face again");
        acquire.begin(None, secs(20.0));
        assert!(acquire.may_be_taken(place(500.0, 40.0), secs(20.0)), "a picture leaves no trace");
    }
}
