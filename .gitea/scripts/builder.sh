# shellcheck shell=bash
# Building an image with what the machine has: docker with buildx, docker's own BuildKit (before 23), or buildah.
# Sourced, never run. Needs lib.sh.

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
