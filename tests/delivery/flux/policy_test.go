package flux

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/yaml"
)

// objectsOf decodes all objects of one kind below a path of gitops/ into the type.
func objectsOf[T any](t *testing.T, path, kind string) []T {
	t.Helper()
	var found []T
	for _, object := range build(t, gitops+"/"+path) {
		if kindOf(object).Kind != kind {
			continue
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var typed T
		if err := yaml.UnmarshalStrict(text, &typed); err != nil {
			t.Fatal(err)
		}
		found = append(found, typed)
	}
	if len(found) == 0 {
		t.Fatalf("no %s below %s", kind, path)
	}
	return found
}

// choose applies a policy to tags by the rules of the image reflector: a tag counts when the pattern is found in it, what
// `extract` expands to is compared, and with order asc the last one wins.
func choose(t *testing.T, policy imagev1.ImagePolicy, tags ...string) string {
	t.Helper()
	filter := policy.Spec.FilterTags
	pattern := regexp.MustCompile(filter.Pattern)
	tagOf := map[string]string{}
	var keys []string
	for _, tag := range tags {
		match := pattern.FindStringSubmatchIndex(tag)
		if match == nil {
			continue
		}
		key := string(pattern.ExpandString(nil, filter.Extract, tag, match))
		tagOf[key] = tag
		keys = append(keys, key)
	}
	if policy.Spec.Policy.Alphabetical == nil {
		t.Fatalf("%s is not ordered by letters", policy.Name)
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	if policy.Spec.Policy.Alphabetical.Order == "desc" {
		return tagOf[keys[0]]
	}
	return tagOf[keys[len(keys)-1]]
}

const automation = "infrastructure/image-automation"

func TestThePoliciesChooseTheNewestStampAmongDecoys(t *testing.T) {
	for _, policy := range objectsOf[imagev1.ImagePolicy](t, automation, "ImagePolicy") {
		chosen := choose(t, policy,
			"prd-20240101T000000Z", "prd-20240102T000000Z", "prd-20991231T235959Z-debug", "dev-20990101T000000Z",
			"prd-latest", "sha256-abc.sig", "prd-20250101T000000", "xprd-20990101T000000Z", "prd-202501010T00000Z", "latest")
		if chosen != "prd-20240102T000000Z" {
			t.Errorf("%s chooses %q, not prd-20240102T000000Z", policy.Name, chosen)
		}
	}
}

func TestOfThreeTagsTheNewestIsChosenInWhateverOrderTheyAreListed(t *testing.T) {
	tags := []string{"prd-20231231T235959Z", "prd-20240102T030405Z", "prd-20240102T030406Z"}
	for _, policy := range objectsOf[imagev1.ImagePolicy](t, automation, "ImagePolicy") {
		for range tags {
			tags = append(tags[1:], tags[0])
			if chosen := choose(t, policy, tags...); chosen != "prd-20240102T030406Z" {
				t.Errorf("%s chooses %q of %v", policy.Name, chosen, tags)
			}
		}
	}
}

func TestAPipelineTagMatchesThePolicyAndNothingElseDoes(t *testing.T) {
	shell := exec.Command("bash", "-c", ". ../../../.gitea/scripts/lib.sh; echo $TAG_PATTERN; tag_at 1704164645")
	out, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	for _, policy := range objectsOf[imagev1.ImagePolicy](t, automation, "ImagePolicy") {
		bare := strings.NewReplacer("(?P<stamp>", "", ")", "").Replace(policy.Spec.FilterTags.Pattern)
		if bare != lines[0] {
			t.Errorf("%s has the pattern %s, the pipeline %s", policy.Name, bare, lines[0])
		}
		if chosen := choose(t, policy, lines[1]); chosen != "prd-20240102T030405Z" {
			t.Errorf("%s chooses %q of the pipeline's tag %s", policy.Name, chosen, lines[1])
		}
	}
}

func TestEachServiceHasARepositoryThatIsReadWithARoleAndAPolicyOnIt(t *testing.T) {
	repositories := map[string]string{}
	for _, r := range objectsOf[imagev1.ImageRepository](t, automation, "ImageRepository") {
		repositories[r.Name] = r.Spec.Image
		if r.Spec.Provider != "aws" || r.Spec.SecretRef != nil {
			t.Errorf("%s is read with provider %q and secret %v, not with a role", r.Name, r.Spec.Provider, r.Spec.SecretRef)
		}
	}
	policies := map[string]string{}
	for _, p := range objectsOf[imagev1.ImagePolicy](t, automation, "ImagePolicy") {
		policies[p.Namespace+":"+p.Name] = p.Spec.ImageRepositoryRef.Name
	}
	for _, service := range []string{"producer", "consumer", "payments"} {
		if !strings.HasSuffix(repositories[service], ".amazonaws.com/"+service) {
			t.Errorf("the image of %s is looked for in %q", service, repositories[service])
		}
		if policies["flux-system:"+service] != service {
			t.Errorf("flux-system:%s is a policy on %q", service, policies["flux-system:"+service])
		}
	}
	if len(repositories) != 3 || len(policies) != 3 {
		t.Errorf("repositories %v and policies %v are not one a service", repositories, policies)
	}
}

func TestTheChartThatIsInTheRepositoryIsOneThatTenantsFollow(t *testing.T) {
	text, err := os.ReadFile("../../../helm-tenant-chart/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Name, Version string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	for _, source := range objectsOf[sourcev1.OCIRepository](t, "infrastructure/sources", "OCIRepository") {
		follow, err := semver.NewConstraint(source.Spec.Reference.SemVer)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(source.Spec.URL, "/"+chart.Name) {
			t.Errorf("%s does not end with the chart's name %s", source.Spec.URL, chart.Name)
		}
		for version, wanted := range map[string]bool{chart.Version: true, "0.9.12": true, "0.2.0-rc.1": false, "1.0.0": false} {
			if got := follow.Check(semver.MustParse(version)); got != wanted {
				t.Errorf("tenants follow %s: %v", version, got)
			}
		}
	}
}
