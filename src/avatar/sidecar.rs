//! `NAME.omote.toml`: what the avatar's own format cannot say. Read leniently: what is wrong is left out, with a warning.

use toml::{Table, Value};

use super::names::{expression_of_morph, matches, normalised};
use super::{AvatarModel, CorrectionPoint};

/// A sidecar is a page of text.
pub(super) const MAX_BYTES: u64 = 1 << 20;
const VERSION: i64 = 1;
/// The weights are computed on the hull of all points; nobody plots more.
const MAX_CORRECTIONS: usize = 64;
/// The neutral point is always there and has no shape.
const BACK: &str = "back";

/// Reads a sidecar into `model`; problems become warnings of the model.
pub(super) fn apply(model: &mut AvatarModel, text: &str) {
    let table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(e) => {
            model.warnings.push(format!("the sidecar file is no TOML and is ignored: {}", e.message()));
            return;
        }
    };
    match table.get("version").and_then(Value::as_integer) {
        Some(VERSION) => {}
        Some(other) => model.warnings.push(format!("the sidecar file has version {other}; omote knows {VERSION}")),
        None => model.warnings.push(format!("the sidecar file says no version; it is read as {VERSION}")),
    }
    for key in table.keys().filter(|k| !matches!(k.as_str(), "version" | "correction" | "laugh")) {
        model.warnings.push(format!("the sidecar file has a section {key:?} that this omote does not know"));
    }
    let list = table.get("correction").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for json in list {
        if model.sidecar.corrections.len() >= MAX_CORRECTIONS {
            model.warnings.push(format!("the sidecar file has more than {MAX_CORRECTIONS} corrections"));
            break;
        }
        if let Some(point) = correction(model, json) {
            model.sidecar.corrections.push(point);
        }
    }
    if let Some(name) = table.get("laugh").and_then(|l| l.get("expression")).and_then(Value::as_str) {
        model.sidecar.laugh = expression(model, name);
        if model.sidecar.laugh.is_none() {
            model.warnings.push(format!("the sidecar's laugh expression {name:?} does not exist"));
        }
    }
}

fn correction(model: &mut AvatarModel, json: &Value) -> Option<CorrectionPoint> {
    let number = |value: Option<&Value>| match value {
        Some(Value::Float(n)) => Some(*n as f32).filter(|n| n.is_finite()),
        Some(Value::Integer(n)) => Some(*n as f32),
        _ => None,
    };
    let name = json.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (alpha, beta) = (number(json.get("alpha_deg")), number(json.get("beta_deg")));
    let (Some(alpha), Some(beta), false) = (alpha, beta, name.is_empty()) else {
        model.warnings.push(format!("the correction {name:?} lacks its name, alpha_deg or beta_deg"));
        return None;
    };
    if name == BACK || model.sidecar.corrections.iter().any(|c| c.name == name) {
        model.warnings.push(format!("the correction {name:?} is given twice (\"{BACK}\" is always there)"));
        return None;
    }
    if alpha.abs() > 180.0 || beta.abs() > 90.0 {
        model.warnings.push(format!("the correction {name:?} lies outside -180..180 by -90..90 degrees"));
        return None;
    }
    let mut expressions = Vec::new();
    for (shape, weight) in json.get("expressions").and_then(Value::as_table).into_iter().flatten() {
        match (expression(model, shape), number(Some(weight))) {
            (Some(index), Some(weight)) => expressions.push((index, weight.clamp(-1.0, 2.0))),
            _ => model.warnings.push(format!("the correction {name:?} plays {shape:?}, which does not exist")),
        }
    }
    Some(CorrectionPoint { name, alpha: alpha.to_radians(), beta: beta.to_radians(), expressions })
}

/// The expression of this name; a morph target that no expression plays becomes one.
fn expression(model: &mut AvatarModel, name: &str) -> Option<usize> {
    let wanted = normalised(name);
    let found = model.expressions.iter().position(|e| e.name == name);
    if let Some(index) = found.or_else(|| model.expressions.iter().position(|e| matches(&e.name, &wanted))) {
        return Some(index);
    }
    let expression = expression_of_morph(name, &model.meshes)?;
    model.expressions.push(expression);
    Some(model.expressions.len() - 1)
}
