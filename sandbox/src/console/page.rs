//! The page and its parts. They are in the binary, so the sandbox needs no folder beside it, and are sent as they are but for
//! the plane and its state, which stand in the page itself: it is complete when it is painted first.

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use super::{Console, refusal};

const INDEX: &str = include_str!("page/index.html");

/// The parts by name, with their media type.
const FILES: [(&str, &str, &str); 8] = [
    ("app.css", "text/css; charset=utf-8", include_str!("page/app.css")),
    ("travel.css", "text/css; charset=utf-8", include_str!("page/travel.css")),
    ("app.js", "text/javascript; charset=utf-8", include_str!("page/app.js")),
    ("dom.js", "text/javascript; charset=utf-8", include_str!("page/dom.js")),
    ("live.js", "text/javascript; charset=utf-8", include_str!("page/live.js")),
    ("travel.js", "text/javascript; charset=utf-8", include_str!("page/travel.js")),
    ("letters.js", "text/javascript; charset=utf-8", include_str!("page/letters.js")),
    ("icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

pub(super) async fn index(State(Console(own)): State<Console>) -> Html<String> {
    let state = own.live.now();
    Html(INDEX.replace("{{plane}}", &inside_html(&own.plane)).replace("{{state}}", &inside_html(&state)))
}

/// JSON that stands in a `script` element must not end it.
fn inside_html(json: &str) -> String {
    json.replace('<', "\\u003c")
}

pub(super) async fn plane(State(Console(own)): State<Console>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], own.plane.clone())
}

pub(super) async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(file, ..)| *file == name) {
        Some((_, media_type, text)) => ([(CONTENT_TYPE, *media_type)], *text).into_response(),
        None => refusal(StatusCode::NOT_FOUND, "the console has nothing here").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_event_says_cannot_end_the_element_that_it_stands_in() {
        assert_eq!(inside_html(r#"{"id":"</script>"}"#), r#"{"id":"\u003c/script>"}"#);
    }

    #[test]
    fn every_part_that_the_page_names_is_there() {
        let named = INDEX.split('"').filter_map(|text| text.strip_prefix("/console/"));
        let imported = FILES
            .iter()
            .flat_map(|(.., text)| text.split("from './").skip(1))
            .filter_map(|rest| rest.split('\'').next());
        for name in named.chain(imported) {
            assert!(FILES.iter().any(|(file, ..)| *file == name), "{name}");
        }
    }
}
