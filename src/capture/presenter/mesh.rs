//! Triangle meshes of the drawn person: simple solids, and smooth subdivision prepared once and applied every frame.
//!
//! Space: centimetres in the person's own frame, +x the person's left, +y up, +z to the front; outsides run
//! counter-clockwise.

use std::collections::HashMap;

use glam::{Mat3, Vec2, Vec3};

/// A mesh with what is painted on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Mesh {
    pub positions: Vec<Vec3>,
    /// Unit length, outwards.
    pub normals: Vec<Vec3>,
    /// Texels; unused without a texture.
    pub uvs: Vec<Vec2>,
    /// Red, green, blue, 0..255; factors around 1 with a texture.
    pub colors: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// Adds a corner; its number.
    pub fn push(&mut self, position: Vec3, color: Vec3, uv: Vec2) -> u32 {
        self.positions.push(position);
        self.colors.push(color);
        self.uvs.push(uv);
        (self.positions.len() - 1) as u32
    }

    /// Puts another mesh into this one.
    pub fn append(&mut self, other: &Mesh) {
        let base = self.positions.len() as u32;
        self.positions.extend_from_slice(&other.positions);
        self.normals.extend_from_slice(&other.normals);
        self.uvs.extend_from_slice(&other.uvs);
        self.colors.extend_from_slice(&other.colors);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|i| i + base)));
    }

    /// Joins the rows of a grid of `columns` corners into triangles; `wraps` joins the last column to the first.
    /// Rows run downwards and columns to the right as seen from outside.
    pub fn join_grid(&mut self, first: u32, columns: u32, rows: u32, wraps: bool) {
        let last = if wraps { columns } else { columns.saturating_sub(1) };
        for row in 0..rows.saturating_sub(1) {
            for column in 0..last {
                let next = (column + 1) % columns;
                let (a, b) = (first + row * columns + column, first + row * columns + next);
                let (c, d) = (a + columns, b + columns);
                self.triangles.push([a, c, b]);
                self.triangles.push([b, c, d]);
            }
        }
    }

    /// Makes the normals anew from the triangles.
    pub fn update_normals(&mut self) {
        self.normals.resize(self.positions.len(), Vec3::ZERO);
        normals_of(&self.positions, &self.triangles, &mut self.normals);
    }

    /// Every position and normal put through a function of the position.
    pub fn map(mut self, f: impl Fn(Vec3) -> Vec3) -> Self {
        for p in &mut self.positions {
            *p = f(*p);
        }
        self.update_normals();
        self
    }

    /// An ellipsoid of one colour, turned by `turn` and moved to `center`.
    pub fn ellipsoid(center: Vec3, radii: Vec3, turn: Mat3, color: Vec3) -> Self {
        const COLUMNS: u32 = 20;
        const ROWS: u32 = 12;
        let mut mesh = Self::default();
        for row in 0..ROWS {
            let (sin_v, cos_v) = (std::f32::consts::PI * row as f32 / (ROWS - 1) as f32).sin_cos();
            for column in 0..COLUMNS {
                let (sin_u, cos_u) = (std::f32::consts::TAU * column as f32 / COLUMNS as f32).sin_cos();
                let p = Vec3::new(sin_v * sin_u, cos_v, sin_v * cos_u);
                mesh.push(center + turn * (p * radii), color, Vec2::ZERO);
            }
        }
        mesh.join_grid(0, COLUMNS, ROWS, true);
        mesh.update_normals();
        mesh
    }
}

/// Area-weighted normals.
pub(super) fn normals_of(positions: &[Vec3], triangles: &[[u32; 3]], normals: &mut [Vec3]) {
    normals.fill(Vec3::ZERO);
    for &[a, b, c] in triangles {
        let at = |i: u32| positions.get(i as usize).copied().unwrap_or_default();
        let normal = (at(b) - at(a)).cross(at(c) - at(a));
        for i in [a, b, c] {
            if let Some(n) = normals.get_mut(i as usize) {
                *n += normal;
            }
        }
    }
    for n in normals {
        *n = n.normalize_or_zero();
    }
}

/// Loop subdivision as fixed weights: every fine corner is a weighted sum of coarse ones, so that a moving coarse mesh
/// is made smooth by one pass over the weights.
pub(super) struct Smoother {
    /// For each fine corner, where its weights begin; one more entry at the end.
    starts: Vec<u32>,
    weights: Vec<(u32, f32)>,
    pub triangles: Vec<[u32; 3]>,
}

type Stencil = Vec<(u32, f32)>;

impl Smoother {
    /// The weights for `levels` of subdivision of a mesh of `count` corners; open edges stay where they are drawn.
    pub fn new(count: usize, triangles: &[[u32; 3]], levels: usize) -> Self {
        let mut stencils: Vec<Stencil> = (0..count as u32).map(|i| vec![(i, 1.0)]).collect();
        let mut triangles = triangles.to_vec();
        for _ in 0..levels {
            (stencils, triangles) = subdivide(&stencils, &triangles);
        }
        let mut starts = vec![0];
        let mut weights = Vec::new();
        for stencil in stencils {
            weights.extend(stencil);
            starts.push(weights.len() as u32);
        }
        Self { starts, weights, triangles }
    }

    /// The fine corners of this coarse mesh.
    pub fn apply(&self, coarse: &[Vec3], fine: &mut Vec<Vec3>) {
        fine.clear();
        for bounds in self.starts.windows(2) {
            let &[from, to] = bounds else { continue };
            let weights = self.weights.get(from as usize..to as usize).unwrap_or_default();
            let sum = weights
                .iter()
                .fold(Vec3::ZERO, |sum, (i, w)| sum + coarse.get(*i as usize).copied().unwrap_or_default() * *w);
            fine.push(sum);
        }
    }
}

fn subdivide(stencils: &[Stencil], triangles: &[[u32; 3]]) -> (Vec<Stencil>, Vec<[u32; 3]>) {
    let key = |a: u32, b: u32| (a.min(b), a.max(b));
    // Corners opposite each edge: one for an open edge, two inside.
    let mut opposite: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
    for &[a, b, c] in triangles {
        for (p, q, r) in [(a, b, c), (b, c, a), (c, a, b)] {
            opposite.entry(key(p, q)).or_default().push(r);
        }
    }
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); stencils.len()];
    let mut open: Vec<Vec<u32>> = vec![Vec::new(); stencils.len()];
    // A fixed order, so that sums are the same in every run.
    let mut edges: Vec<_> = opposite.iter().collect();
    edges.sort_unstable_by_key(|(edge, _)| **edge);
    for ((a, b), across) in &edges {
        for (i, j) in [(*a, *b), (*b, *a)] {
            if let Some(list) = neighbours.get_mut(i as usize) {
                list.push(j);
            }
            if across.len() == 1
                && let Some(list) = open.get_mut(i as usize)
            {
                list.push(j);
            }
        }
    }
    let mix = |parts: &[(u32, f32)]| {
        let mut sum: std::collections::BTreeMap<u32, f32> = std::collections::BTreeMap::new();
        for (corner, share) in parts {
            for (i, w) in stencils.get(*corner as usize).into_iter().flatten() {
                *sum.entry(*i).or_default() += w * share;
            }
        }
        sum.into_iter().collect::<Stencil>()
    };
    let mut fine: Vec<Stencil> = Vec::with_capacity(stencils.len() * 4);
    for (i, (around, edge)) in neighbours.iter().zip(&open).enumerate() {
        let i = i as u32;
        let parts: Vec<(u32, f32)> = match edge.as_slice() {
            // On an open edge: the cubic spline along it.
            [a, b] => vec![(i, 0.75), (*a, 0.125), (*b, 0.125)],
            [] if !around.is_empty() => {
                // Warren's weights.
                let n = around.len() as f32;
                let beta = if around.len() == 3 { 3.0 / 16.0 } else { 3.0 / (8.0 * n) };
                std::iter::once((i, 1.0 - n * beta)).chain(around.iter().map(|j| (*j, beta))).collect()
            }
            _ => vec![(i, 1.0)],
        };
        fine.push(mix(&parts));
    }
    let mut middles: HashMap<(u32, u32), u32> = HashMap::new();
    for ((a, b), across) in edges {
        middles.insert((*a, *b), fine.len() as u32);
        fine.push(match across.as_slice() {
            [c, d] => mix(&[(*a, 0.375), (*b, 0.375), (*c, 0.125), (*d, 0.125)]),
            _ => mix(&[(*a, 0.5), (*b, 0.5)]),
        });
    }
    let middle = |a, b| middles.get(&key(a, b)).copied().unwrap_or_default();
    let fine_triangles = triangles
        .iter()
        .flat_map(|&[a, b, c]| {
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        })
        .collect();
    (fine, fine_triangles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_keeps_a_plane_plane_and_its_weights_sum_to_one() {
        let mut grid = Mesh::default();
        for y in 0..4 {
            for x in 0..4 {
                grid.push(Vec3::new(x as f32, -y as f32, 2.0), Vec3::ONE, Vec2::ZERO);
            }
        }
        grid.join_grid(0, 4, 4, false);
        let smoother = Smoother::new(16, &grid.triangles, 2);
        assert_eq!(smoother.triangles.len(), grid.triangles.len() * 16);
        let mut fine = Vec::new();
        smoother.apply(&grid.positions, &mut fine);
        assert_eq!(fine.len(), 49 + 120);
        for p in &fine {
            assert!((p.z - 2.0).abs() < 1e-5, "{p}");
            assert!((-0.01..3.01).contains(&p.x) && (-3.01..0.01).contains(&p.y), "{p}");
        }
    }

    #[test]
    fn the_outside_of_a_solid_is_outside() {
        let ball = Mesh::ellipsoid(Vec3::new(1.0, 2.0, 3.0), Vec3::new(1.0, 2.0, 1.5), Mat3::IDENTITY, Vec3::ONE);
        for (p, n) in ball.positions.iter().zip(&ball.normals) {
            assert!((*p - Vec3::new(1.0, 2.0, 3.0)).dot(*n) > 0.0);
        }
    }
}
