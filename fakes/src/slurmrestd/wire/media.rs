//! Which form an answer takes.

use drawbridge_sim::Release;
use serde_json::Value;

use super::{RestBody, RestResponse, yaml};

/// A form that an answer can take, by the name under which it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    Json(&'static str),
    Yaml(&'static str),
}

const KNOWN: [Media; 5] = [
    Media::Json("application/json"),
    Media::Json("application/jsonrequest"),
    Media::Yaml("application/x-yaml"),
    Media::Yaml("application/yaml"),
    Media::Yaml("text/yaml"),
];

impl Media {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Json(name) | Self::Yaml(name) => name,
        }
    }

    /// The form of this name, in any case; `*/*` is any.
    pub(super) fn find(name: &str) -> Option<Self> {
        if name == "*/*" {
            return Some(KNOWN[0]);
        }
        KNOWN.into_iter().find(|media| media.name().eq_ignore_ascii_case(name))
    }

    /// A body in this form.
    pub(super) fn render(self, status: u16, body: &Value) -> RestResponse {
        let bytes = match self {
            // A map with text for keys always can be written.
            Self::Json(_) => serde_json::to_vec(body).unwrap_or_default(),
            Self::Yaml(_) => yaml::write(body).into_bytes(),
        };
        RestResponse { status, content_type: self.name(), body: RestBody::Whole(bytes) }
    }
}

/// The first form in the list that is known; JSON if nobody asks.
pub(super) fn accepted(release: Release, header: Option<&str>) -> Result<Media, RestResponse> {
    let Some(header) = header else {
        return Ok(KNOWN[0]);
    };
    let names = header.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
    names.filter_map(Media::find).next().ok_or_else(|| {
        let text = match release {
            Release::V24_11 => "Accept content type is unknown",
            Release::V26_05 => "HTTP Accept header content type is unknown or unsupported",
        };
        RestResponse::text(415, text)
    })
}
