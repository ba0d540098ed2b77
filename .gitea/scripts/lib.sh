# shellcheck shell=bash
# What the pipeline scripts share: refusals, the state of main, the tags and labels in the registry.
# Sourced, never run. Every function that looks something up either answers or ends the job: a registry or a git server
# that does not answer must never look like "nothing there".

# The shape of an image tag. Flux's ImagePolicy objects have the same pattern; a test holds them against each other.
TAG_PATTERN='^prd-[0-9]{8}T[0-9]{6}Z$'

# How skopeo, old and new, tells that the registry answered and has no such repository or tag.
NOT_THERE='name unknown|repository name not known|manifest unknown|status code from registry 404'

fail() { echo "${0##*/}: $*" >&2; exit 1; }
say() { echo "${0##*/}: $*" >&2; }

# require_variables NAME... ends the job when one is unset or empty, naming all of them at once. An empty registry
# would turn `$REGISTRY/producer` into a path on a public one.
require_variables() {
    local name missing=()
    for name; do [ -n "${!name:-}" ] || missing+=("$name"); done
    [ ${#missing[@]} -eq 0 ] || fail "empty: ${missing[*]}. Set them as Actions variables of the repository or its" \
        "organisation (docs/delivery.md); variables of a user do not reach an organisation's repository"
}

# Pushing is for commits on main alone. The workflows say so as well; this holds when somebody edits them.
require_push_to_main() {
    require_variables GITHUB_EVENT_NAME GITHUB_REF GITHUB_SHA
    [ "$GITHUB_EVENT_NAME" = push ] && [ "$GITHUB_REF" = refs/heads/main ] \
        || fail "only a push to main publishes, not $GITHUB_EVENT_NAME of $GITHUB_REF"
}

# output KEY VALUE hands a value to the later steps of the job.
output() {
    [ -z "${GITHUB_OUTPUT:-}" ] || echo "$1=$2" >>"$GITHUB_OUTPUT"
    echo "$1=$2"
}

# The commit that main points to on the server now, which is not what the job was started for when it waited or is a re-run.
head_of_main() {
    local line
    line=$(git ls-remote --exit-code origin refs/heads/main) || fail "cannot ask the git server for the head of main"
    echo "${line%%[[:space:]]*}"
}

# skopeo, buildah and helm each name "without TLS" differently; needed for a registry on the same machine only.
plain_http() { [ "${REGISTRY_PLAIN_HTTP:-false}" = true ]; }
skopeo_flags() { echo "--retry-times=3"; if plain_http; then echo "--tls-verify=false"; fi; }

# image_tags REPOSITORY prints the repository's tags that have the shape, oldest first. A repository that nothing was
# pushed to yet has none.
image_tags() {
    local flags answer
    mapfile -t flags < <(skopeo_flags)
    if ! answer=$(skopeo list-tags "${flags[@]}" "docker://$1" 2>&1); then
        if grep -qE "$NOT_THERE" <<<"$answer"; then return 0; fi
        fail "cannot list the tags of $1: $answer"
    fi
    # Names of tags are digits in one fixed place, so the order of bytes is the order of time.
    jq -r '.Tags // [] | .[]' <<<"$answer" | { grep -E "$TAG_PATTERN" || true; } | LC_ALL=C sort
}

# image_revision REFERENCE prints the commit in the image's revision label; nothing when it has no such label.
# The platform is named, since all images have it and the machine that asks may be another.
image_revision() {
    local flags answer
    mapfile -t flags < <(skopeo_flags)
    answer=$(skopeo --override-os=linux --override-arch=arm64 inspect "${flags[@]}" --no-tags "docker://$1" 2>&1) \
        || fail "cannot read the labels of $1: $answer"
    jq -r '.Labels["org.opencontainers.image.revision"] // ""' <<<"$answer"
}

# tag_at SECONDS prints the tag of a moment, given in seconds since 1970 as git does. Always UTC.
tag_at() { date -u -d "@$1" +prd-%Y%m%dT%H%M%SZ; }

# seconds_of TAG is the inverse, and refuses what has the shape but is no time.
seconds_of() {
    local t=${1#prd-} seconds
    seconds=$(date -u -d "${t:0:4}-${t:4:2}-${t:6:2} ${t:9:2}:${t:11:2}:${t:13:2}" +%s 2>/dev/null) \
        || fail "the tag $1 is no time. It would stay the newest for ever: delete it from the registry"
    echo "$seconds"
}
