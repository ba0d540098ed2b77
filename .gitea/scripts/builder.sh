# shellcheck shell=bash
# Building an image with what the machine has: docker with buildx, docker's own BuildKit (before 23), or buildah.
# And the list of what is in it. Sourced, never run. Needs lib.sh.

# find_builder sets `builder` (buildx, buildkit or buildah) and, for the first two, `docker` to a client with a daemon
# that answers. IMAGE_BUILDER chooses one of the three by name. A newer docker client without its buildx plugin cannot
# build, while an older one further down PATH may.
# shellcheck disable=SC2034  # set for the caller
find_builder() {
    local want=${IMAGE_BUILDER:-} client major found
    builder='' docker=''
    while read -r client; do
        [ "$want" != buildah ] || break
        "$client" version >/dev/null 2>&1 || continue
        major=$("$client" version --format '{{.Client.Version}}' | cut -d. -f1)
        if "$client" buildx version >/dev/null 2>&1; then found=buildx
        elif [ "$major" -lt 23 ]; then found=buildkit
        else continue
        fi
        if [ "${want:-$found}" = "$found" ]; then builder=$found docker=$client; return; fi
    done < <(type -ap docker)
    if [ "${want:-buildah}" = buildah ] && command -v buildah >/dev/null; then builder=buildah; return; fi
    fail "no way to build images${want:+ with $want}: start docker (with its buildx plugin) or install buildah"
}

# build_arguments SERVICE VERSION REVISION sets the array `arguments`. IMAGE_BUILD_ARGS adds more of them, separated by
# spaces, such as "BINARIES=prebuilt BASE=scratch".
build_arguments() {
    local extra
    arguments=(--build-arg "SERVICE=$1" --build-arg "VERSION=$2" --build-arg "REVISION=$3")
    for extra in ${IMAGE_BUILD_ARGS:-}; do arguments+=(--build-arg "$extra"); done
}

# attach_sbom REPOSITORY TAG SBOM puts the list into the registry as sbom-TAG, in the form that OCI has for artifacts. Before the
# image, so that none is there without its list; one that is there already is of the same commit, whose image failed.
attach_sbom() {
    local repository=$1 tag=$2 sbom=$3 layout flags answer config digest size manifest
    mapfile -t flags < <(skopeo_flags)
    if answer=$(skopeo inspect --raw "${flags[@]}" "docker://$repository:sbom-$tag" 2>&1); then return 0; fi
    grep -qE "$NOT_THERE" <<<"$answer" || fail "cannot look for $repository:sbom-$tag: $answer"
    layout=$(mktemp -d)
    mkdir -p "$layout/blobs/sha256"
    # blob FILE stores it under its digest and prints that.
    blob() { local sum; sum=$(sha256sum "$1" | cut -d' ' -f1); cp "$1" "$layout/blobs/sha256/$sum"; echo "sha256:$sum"; }
    printf '{}' >"$layout/config"
    config=$(blob "$layout/config")
    digest=$(blob "$sbom") size=$(stat -c %s "$sbom")
    jq -nc --arg config "$config" --arg digest "$digest" --argjson size "$size" --arg revision "$GITHUB_SHA" --arg tag "$tag" '{
        schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
        artifactType: "application/vnd.cyclonedx+json",
        config: {mediaType: "application/vnd.oci.empty.v1+json", digest: $config, size: 2},
        layers: [{mediaType: "application/vnd.cyclonedx+json", digest: $digest, size: $size,
            annotations: {"org.opencontainers.image.title": "sbom.cdx.json"}}],
        annotations: {"org.opencontainers.image.revision": $revision, "org.opencontainers.image.version": $tag}
    }' >"$layout/manifest"
    manifest=$(blob "$layout/manifest") size=$(stat -c %s "$layout/manifest")
    jq -nc --arg manifest "$manifest" --argjson size "$size" '{schemaVersion: 2, manifests: [{
        mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $manifest, size: $size,
        annotations: {"org.opencontainers.image.ref.name": "sbom"}}]}' >"$layout/index.json"
    printf '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
    flags=(--retry-times=3)
    if plain_http; then flags+=(--dest-tls-verify=false); fi
    skopeo copy --quiet "${flags[@]}" "oci:$layout:sbom" "docker://$repository:sbom-$tag" >&2 || fail "could not push $repository:sbom-$tag"
    rm -rf "$layout"
}
