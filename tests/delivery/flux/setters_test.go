package flux

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
)

// A marker names a policy and which part of the image the field holds.
var marker = regexp.MustCompile(`^# \{"\$imagepolicy": "([a-z-]+:[a-z-]+)(:[a-z]+)?"\}$`)

// update does to a file what the automation's strategy Setters does: read it with kyaml, set the scalars that have a
// marker of a known policy, write it back. It returns the new text and the markers that it found.
func update(t *testing.T, text []byte, latest map[string]string) ([]byte, []string) {
	t.Helper()
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(text), PreserveSeqIndent: true}).Read()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	var visit func(*yaml.Node)
	visit = func(node *yaml.Node) {
		if match := marker.FindStringSubmatch(node.LineComment); match != nil && node.Kind == yaml.ScalarNode {
			found = append(found, match[1]+match[2])
			tag, known := latest[match[1]]
			if known && match[2] == ":tag" {
				node.Value = tag
			}
		}
		for _, child := range node.Content {
			visit(child)
		}
	}
	for _, node := range nodes {
		visit(node.YNode())
	}
	var out bytes.Buffer
	if err := (kio.ByteWriter{Writer: &out}).Write(nodes); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), found
}

func automationOf(t *testing.T) automationv1.ImageUpdateAutomation {
	t.Helper()
	all := objectsOf[automationv1.ImageUpdateAutomation](t, automation, "ImageUpdateAutomation")
	if len(all) != 1 {
		t.Fatalf("%d automations, not one for the whole application plane", len(all))
	}
	return all[0]
}

// planeFiles are the files that the automation works on: below the path that it names.
func planeFiles(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("../../..", automationOf(t).Spec.Update.Path)
	var files []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".yaml" && filepath.Base(path) != "kustomization.yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files below %s, error %v", len(files), root, err)
	}
	return files
}

func TestAnUpdateChangesEveryImageTagOfPoolsTenantsAndTemplatesAndNoOtherLine(t *testing.T) {
	latest := map[string]string{
		"flux-system:producer": "prd-20270101T000001Z",
		"flux-system:consumer": "prd-20270101T000002Z",
		"flux-system:payments": "prd-20270101T000003Z",
	}
	app := regexp.MustCompile(`^      ([a-z]+):$`)
	for _, file := range planeFiles(t) {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := update(t, before, latest)
		old, now := strings.Split(string(before), "\n"), strings.Split(string(after), "\n")
		if len(old) != len(now) {
			t.Errorf("%s: %d lines became %d", file, len(old), len(now))
			continue
		}
		service := ""
		for i, line := range old {
			if match := app.FindStringSubmatch(line); match != nil {
				service = match[1]
			}
			if !strings.HasPrefix(strings.TrimSpace(line), "tag:") {
				if line != now[i] {
					t.Errorf("%s:%d changed from %q to %q", file, i+1, line, now[i])
				}
				continue
			}
			want := fmt.Sprintf(`          tag: %s # {"$imagepolicy": "flux-system:%s:tag"}`, latest["flux-system:"+service], service)
			if now[i] != want {
				t.Errorf("%s:%d is %q after the update, not %q", file, i+1, now[i], want)
			}
		}
	}
}

func TestEachAppThatRunsHasItsTagOnALineWithTheMarkerOfAPolicyThatExists(t *testing.T) {
	policies := map[string]bool{}
	for _, p := range objectsOf[imagev1.ImagePolicy](t, automation, "ImagePolicy") {
		policies[p.Namespace+":"+p.Name+":tag"] = true
	}
	want := map[string]string{
		"pool_env_template.yaml":        "flux-system:producer:tag flux-system:consumer:tag flux-system:payments:tag",
		"premium_tenant_template.yaml":  "flux-system:producer:tag flux-system:consumer:tag flux-system:payments:tag",
		"advanced_tenant_template.yaml": "flux-system:consumer:tag flux-system:payments:tag",
		"basic_tenant_template.yaml":    "",
	}
	for _, file := range planeFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, found := update(t, text, nil)
		for _, m := range found {
			if !policies[m] {
				t.Errorf("%s has a marker of %s, which is no policy with :tag", file, m)
			}
		}
		if markers := strings.Count(string(text), "$imagepolicy"); markers != len(found) {
			t.Errorf("%s: %d of %d markers stand where the automation sees them", file, len(found), markers)
		}
		if expected, isTemplate := want[filepath.Base(file)]; isTemplate && strings.Join(found, " ") != expected {
			t.Errorf("%s has the markers %v, not %q", file, found, expected)
		}
	}
}

func TestTheAutomationCommitsToMainWithoutSkippingThePipelines(t *testing.T) {
	a := automationOf(t)
	if a.Spec.GitSpec.Push.Branch != "main" || a.Spec.GitSpec.Checkout.Reference.Branch != "main" {
		t.Errorf("it reads %v and writes %v, not main", a.Spec.GitSpec.Checkout.Reference, a.Spec.GitSpec.Push)
	}
	message := strings.ToLower(a.Spec.GitSpec.Commit.MessageTemplate)
	for _, skip := range []string{"[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]"} {
		if strings.Contains(message, skip) {
			t.Errorf("its commits say %s; the job of such a commit is what catches up images that were left out", skip)
		}
	}
}
