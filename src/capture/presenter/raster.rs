//! A z-buffered triangle painter in software, at twice the picture's size for smooth edges.
//!
//! Knows nothing of people. Space: pixels of the large canvas, x right, y down; nearness is `1 / distance`.

/// A corner of a triangle on the canvas.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Corner {
    /// Canvas pixels, right and down.
    pub x: f32,
    /// Canvas pixels, right and down.
    pub y: f32,
    /// One over the distance from the camera; 0 or less is behind it and is not drawn.
    pub nearness: f32,
    /// What is blended over the triangle: texture u and v in texels, then red, green, blue.
    /// With a texture the colours are factors (1 leaves the texel), without one they are 0..255.
    pub blend: [f32; 5],
}

/// A picture that colours come from; sampled to the nearest texel.
#[derive(Clone, Debug)]
pub(super) struct Texture {
    /// Texels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row from the top left.
    pub texels: Vec<[f32; 3]>,
}

/// Which part of the canvas has been drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    pub x0: usize,
    pub y0: usize,
    pub x1: usize,
    pub y1: usize,
}

impl Rect {
    const EMPTY: Self = Self { x0: usize::MAX, y0: usize::MAX, x1: 0, y1: 0 };

    fn grow(&mut self, other: Self) {
        self.x0 = self.x0.min(other.x0);
        self.y0 = self.y0.min(other.y0);
        self.x1 = self.x1.max(other.x1);
        self.y1 = self.y1.max(other.y1);
    }

    /// True if it holds no pixel.
    pub fn is_empty(&self) -> bool {
        self.x0 >= self.x1 || self.y0 >= self.y1
    }
}

/// Which sides of a triangle are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    /// The outside only.
    Front,
    /// Both.
    Both,
}

/// The large canvas: colour as 0x00RRGGBB and depth.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    colors: Vec<u32>,
    nearness: Vec<f32>,
    drawn: Rect,
}

/// Spans are widened by this much, so that rounding never leaves a gap between neighbours; the depth test makes the
/// overlap harmless.
const SEAM_PX: f32 = 1.0 / 64.0;

impl Canvas {
    pub fn new(width: usize, height: usize, background: &[u32]) -> Self {
        let mut colors = background.to_vec();
        colors.resize(width * height, 0);
        Self { width, height, colors, nearness: vec![0.0; width * height], drawn: Rect::EMPTY }
    }

    /// What has been drawn on since the last `restore`.
    pub fn drawn(&self) -> Rect {
        self.drawn
    }

    /// The colours of part of a row, 0x00RRGGBB.
    pub fn row(&self, y: usize, x0: usize, x1: usize) -> &[u32] {
        self.colors.get(y * self.width + x0..y * self.width + x1).unwrap_or_default()
    }

    /// Puts the background back where something has been drawn.
    pub fn restore(&mut self, background: &[u32]) {
        if self.drawn.is_empty() {
            return;
        }
        for y in self.drawn.y0..self.drawn.y1 {
            let span = y * self.width + self.drawn.x0..y * self.width + self.drawn.x1;
            if let (Some(to), Some(from)) = (self.colors.get_mut(span.clone()), background.get(span.clone())) {
                to.copy_from_slice(from);
            }
            if let Some(depth) = self.nearness.get_mut(span) {
                depth.fill(0.0);
            }
        }
        self.drawn = Rect::EMPTY;
    }

    /// Draws a triangle whose corners, seen from outside, run counter-clockwise with y up.
    pub fn triangle(&mut self, [a, b, c]: [&Corner; 3], sides: Sides, texture: Option<&Texture>) {
        let near_enough = |p: &Corner| p.nearness > 0.0 && p.nearness < 1.0 && p.x.is_finite() && p.y.is_finite();
        if !(near_enough(a) && near_enough(b) && near_enough(c)) {
            return;
        }
        let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        // y points down here, so what was counter-clockwise has a negative area.
        if area == 0.0 || (sides == Sides::Front && area > 0.0) {
            return;
        }
        let (b, c, area) = if area < 0.0 { (c, b, -area) } else { (b, c, area) };
        let min_y = a.y.min(b.y).min(c.y);
        let max_y = a.y.max(b.y).max(c.y);
        let min_x = a.x.min(b.x).min(c.x);
        let max_x = a.x.max(b.x).max(c.x);
        let y0 = (min_y - 0.5).ceil().max(0.0) as usize;
        let y1 = ((max_y - 0.5).floor() + 1.0).clamp(0.0, self.height as f32) as usize;
        if y0 >= y1 || max_x < 0.5 || min_x > self.width as f32 {
            return;
        }
        let x0 = (min_x - 0.5).floor().clamp(0.0, self.width as f32) as usize;
        let x1 = ((max_x - 0.5).ceil() + 1.0).clamp(0.0, self.width as f32) as usize;
        self.drawn.grow(Rect { x0, y0, x1, y1 });

        let (ab, ac) = ((b.x - a.x, b.y - a.y), (c.x - a.x, c.y - a.y));
        let per_area = 1.0 / area;
        let slope = |fa: f32, fb: f32, fc: f32| {
            let (db, dc) = (fb - fa, fc - fa);
            ((db * ac.1 - dc * ab.1) * per_area, (dc * ab.0 - db * ac.0) * per_area)
        };
        let near_slope = slope(a.nearness, b.nearness, c.nearness);
        let mut step_x = [0.0f32; 5];
        let mut step_y = [0.0f32; 5];
        for i in 0..5 {
            (step_x[i], step_y[i]) = slope(a.blend[i], b.blend[i], c.blend[i]);
        }
        let edges = [edge(a, b), edge(b, c), edge(c, a)];
        for y in y0..y1 {
            let py = y as f32 + 0.5;
            let (mut left, mut right) = (x0 as f32, x1 as f32);
            for e in &edges {
                let x = e.x + e.slope * (py - e.y);
                left = if e.is_left { left.max(x - 0.5 - SEAM_PX) } else { left };
                right = if e.is_right { right.min(x - 0.5 + SEAM_PX) } else { right };
            }
            let from = left.ceil() as usize;
            let to = (right.floor() + 1.0).max(0.0).min(x1 as f32) as usize;
            if from >= to {
                continue;
            }
            let (dx, dy) = (from as f32 + 0.5 - a.x, py - a.y);
            let near = a.nearness + near_slope.0 * dx + near_slope.1 * dy;
            let mut start = [0.0f32; 5];
            for i in 0..5 {
                start[i] = a.blend[i] + step_x[i] * dx + step_y[i] * dy;
            }
            let span = y * self.width + from..y * self.width + to;
            let (Some(colors), Some(depths)) = (self.colors.get_mut(span.clone()), self.nearness.get_mut(span)) else {
                continue;
            };
            match texture {
                Some(texture) => fill_textured(colors, depths, near, near_slope.0, start, &step_x, texture),
                None => fill_plain(colors, depths, near, near_slope.0, start, &step_x),
            }
        }
    }
}

struct Edge {
    x: f32,
    y: f32,
    slope: f32,
    is_left: bool,
    is_right: bool,
}

/// The line through an edge as x over y, and on which side of it the inside lies.
fn edge(from: &Corner, to: &Corner) -> Edge {
    let dy = to.y - from.y;
    let flat = dy.abs() < 1e-6;
    Edge {
        x: from.x,
        y: from.y,
        slope: if flat { 0.0 } else { (to.x - from.x) / dy },
        is_left: !flat && dy < 0.0,
        is_right: !flat && dy > 0.0,
    }
}

fn pack(r: f32, g: f32, b: f32) -> u32 {
    // `as` saturates, so no clamp is needed.
    (u32::from(r as u8) << 16) | (u32::from(g as u8) << 8) | u32::from(b as u8)
}

fn fill_plain(
    colors: &mut [u32],
    depths: &mut [f32],
    mut near: f32,
    near_step: f32,
    at: [f32; 5],
    step: &[f32; 5],
) {
    let [_, _, mut r, mut g, mut b] = at;
    for (color, depth) in colors.iter_mut().zip(depths) {
        if near > *depth {
            *depth = near;
            *color = pack(r, g, b);
        }
        near += near_step;
        r += step[2];
        g += step[3];
        b += step[4];
    }
}

fn fill_textured(
    colors: &mut [u32],
    depths: &mut [f32],
    mut near: f32,
    near_step: f32,
    at: [f32; 5],
    step: &[f32; 5],
    texture: &Texture,
) {
    let [mut u, mut v, mut r, mut g, mut b] = at;
    for (color, depth) in colors.iter_mut().zip(depths) {
        if near > *depth {
            *depth = near;
            let (x, y) = ((u as usize).min(texture.width - 1), (v as usize).min(texture.height - 1));
            if let Some(texel) = texture.texels.get(y * texture.width + x) {
                *color = pack(texel[0] * r, texel[1] * g, texel[2] * b);
            }
        }
        near += near_step;
        u += step[0];
        v += step[1];
        r += step[2];
        g += step[3];
        b += step[4];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(x: f32, y: f32, nearness: f32, value: f32) -> Corner {
        Corner { x, y, nearness, blend: [0.0, 0.0, value, value, value] }
    }

    fn count(canvas: &Canvas) -> usize {
        canvas.colors.iter().filter(|c| **c != 0).count()
    }

    #[test]
    fn a_triangle_covers_its_area_and_neighbours_leave_no_gap() {
        let mut canvas = Canvas::new(64, 64, &[]);
        let p = [corner(3.2, 4.7, 0.1, 200.0), corner(60.1, 9.3, 0.1, 200.0), corner(50.6, 58.8, 0.1, 200.0), corner(6.4, 51.5, 0.1, 200.0)];
        canvas.triangle([&p[0], &p[1], &p[2]], Sides::Both, None);
        let half = count(&canvas);
        canvas.triangle([&p[0], &p[2], &p[3]], Sides::Both, None);
        let shoelace: f32 = (0..4).map(|i| p[i].x * p[(i + 1) % 4].y - p[(i + 1) % 4].x * p[i].y).sum::<f32>() / 2.0;
        assert!(half > 0);
        assert!((count(&canvas) as f32 - shoelace).abs() < 60.0, "{} {shoelace}", count(&canvas));
        for y in 12..48 {
            let row = canvas.row(y, 8, 50);
            assert!(row.iter().all(|c| *c != 0), "gap in row {y}");
        }
    }

    #[test]
    fn the_nearer_one_is_seen_whatever_the_order_and_backs_are_hidden() {
        for order in [[0, 1], [1, 0]] {
            let mut canvas = Canvas::new(16, 16, &[]);
            for i in order {
                let (near, value) = [(0.1, 50.0), (0.2, 250.0)][i];
                let (a, b, c) =
                    (corner(0.0, 0.0, near, value), corner(0.0, 16.0, near, value), corner(16.0, 0.0, near, value));
                canvas.triangle([&a, &b, &c], Sides::Front, None);
                canvas.triangle([&c, &b, &a], Sides::Front, None);
            }
            assert_eq!(canvas.row(2, 2, 3), &[0x00fa_fafa]);
        }
        let mut canvas = Canvas::new(16, 16, &[]);
        let (a, b, c) = (corner(0.0, 0.0, 0.1, 9.0), corner(0.0, 16.0, 0.1, 9.0), corner(16.0, 0.0, 0.1, 9.0));
        canvas.triangle([&c, &b, &a], Sides::Front, None);
        assert_eq!(count(&canvas), 0);
    }

    #[test]
    fn what_is_far_out_or_no_number_is_left_alone_and_restore_clears() {
        let mut canvas = Canvas::new(16, 16, &[]);
        for (x, near) in [(f32::NAN, 0.1), (f32::INFINITY, 0.1), (1e30, 0.1), (-1e30, 0.1), (5.0, -1.0), (5.0, f32::NAN)] {
            canvas.triangle(
                [&corner(x, 1.0, near, 9.0), &corner(2.0, 9.0, 0.1, 9.0), &corner(8.0, 3.0, 0.1, 9.0)],
                Sides::Both,
                None,
            );
        }
        canvas.restore(&[0; 256]);
        assert_eq!(count(&canvas), 0);
        assert!(canvas.drawn().is_empty());
    }
}
