//! Lenient reading of extension JSON: a wrong type counts as missing, a number that is none as well.

use glam::{Vec2, Vec3, Vec4};
use gltf::json::Value;

/// The member `key`, `Null` where there is none.
pub(super) fn member<'a>(value: &'a Value, key: &str) -> &'a Value {
    const NULL: Value = Value::Null;
    value.get(key).unwrap_or(&NULL)
}

/// The elements of the array `key`; none where it is no array.
pub(super) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The members of the object `key`; none where it is no object.
pub(super) fn members<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flatten().map(|(k, v)| (k.as_str(), v))
}

/// A finite number.
pub(super) fn as_number(value: &Value) -> Option<f32> {
    value.as_f64().map(|n| n as f32).filter(|n| n.is_finite())
}

/// The finite number `key`.
pub(super) fn number(value: &Value, key: &str) -> Option<f32> {
    value.get(key).and_then(as_number)
}

/// The index `key`; negative ones mean none.
pub(super) fn index(value: &Value, key: &str) -> Option<usize> {
    value.get(key).and_then(as_index)
}

/// An index; negative ones mean none. Some exporters write it as a float.
pub(super) fn as_index(value: &Value) -> Option<usize> {
    let number = value.as_f64().filter(|n| *n >= 0.0 && *n < f64::from(u32::MAX) && n.fract() == 0.0)?;
    Some(number as usize)
}

/// The text `key`; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The switch `key`; off where there is none.
pub(super) fn flag(value: &Value, key: &str) -> bool {
    match value.get(key) {
        Some(Value::Bool(on)) => *on,
        Some(Value::Number(n)) => n.as_f64().is_some_and(|n| n != 0.0),
        _ => false,
    }
}

fn components<const N: usize>(value: &Value, key: &str, default: [f32; N]) -> [f32; N] {
    let mut out = default;
    match value.get(key) {
        Some(Value::Array(list)) => {
            for (slot, item) in out.iter_mut().zip(list) {
                *slot = as_number(item).unwrap_or(*slot);
            }
        }
        Some(object @ Value::Object(_)) => {
            for (slot, name) in out.iter_mut().zip(["x", "y", "z", "w"]) {
                *slot = number(object, name).unwrap_or(*slot);
            }
        }
        _ => {}
    }
    out
}

/// The vector `key`, written as an array or as an object.
pub(super) fn vec2(value: &Value, key: &str, default: Vec2) -> Vec2 {
    components(value, key, default.to_array()).into()
}

/// See [`vec2`].
pub(super) fn vec3(value: &Value, key: &str, default: Vec3) -> Vec3 {
    components(value, key, default.to_array()).into()
}

/// See [`vec2`].
pub(super) fn vec4(value: &Value, key: &str, default: Vec4) -> Vec4 {
    components(value, key, default.to_array()).into()
}
