package flux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const gitops = "../../../gitops"

// paths are the folders that a Flux Kustomization builds.
func paths(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(gitops, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Name() == "kustomization.yaml" {
			found = append(found, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 {
		t.Fatalf("only %d folders with a kustomization.yaml below %s", len(found), gitops)
	}
	return found
}

// build gives the objects of a folder, as kustomize-controller would apply them.
func build(t *testing.T, path string) []map[string]any {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	if err != nil {
		t.Fatalf("kustomize build %s: %v", path, err)
	}
	var objects []map[string]any
	for _, r := range built.Resources() {
		object, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

func kindOf(object map[string]any) schema.GroupVersionKind {
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(version, kind)
}

func nameOf(object map[string]any) string {
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return kindOf(object).Kind + " " + name
}

func fluxSchemas(t *testing.T) Schemas {
	t.Helper()
	schemas, err := FluxSchemas(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

// A built-in object is held against the type that the API server decodes it into: no field that it does not have.
func builtIn(kind string) any {
	switch kind {
	case "Namespace":
		return &corev1.Namespace{}
	case "ConfigMap":
		return &corev1.ConfigMap{}
	case "ResourceQuota":
		return &corev1.ResourceQuota{}
	}
	return nil
}

func TestEveryObjectOfEveryPathIsValidForAnAPIServerWithCurrentFlux(t *testing.T) {
	schemas := fluxSchemas(t)
	for _, path := range paths(t) {
		t.Run(strings.TrimPrefix(path, gitops+"/"), func(t *testing.T) {
			for _, object := range build(t, path) {
				kind := kindOf(object)
				if strings.HasSuffix(kind.Group, ".fluxcd.io") {
					for _, problem := range schemas.Problems(kind, object) {
						t.Errorf("%s: %s", nameOf(object), problem)
					}
					continue
				}
				target := builtIn(kind.Kind)
				if target == nil || kind.Group != "" || kind.Version != "v1" {
					t.Errorf("%s: no schema for %s here; add one", nameOf(object), kind)
					continue
				}
				text, _ := yaml.Marshal(object)
				if err := yaml.UnmarshalStrict(text, target); err != nil {
					t.Errorf("%s: %v", nameOf(object), err)
				}
			}
		})
	}
}

func TestTheSchemasRefuseWhatAClusterWouldRefuse(t *testing.T) {
	schemas := fluxSchemas(t)
	valid := `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: a, namespace: flux-system}
spec:
  interval: 10m
  chartRef: {kind: OCIRepository, name: helm-tenant-chart}
  install: {strategy: {name: RetryOnFailure, retryInterval: 2m}}
`
	for name, change := range map[string][2]string{
		"":                              {"", ""},
		"unknown field spec.intervall":  {"interval:", "intervall:"},
		"spec.interval":                 {"10m", "ten"},
		"spec.chartRef.kind":            {"OCIRepository", "HelmRepository"},
		"is served by no current Flux":  {"fluxcd.io/v2\n", "fluxcd.io/v2beta1\n"},
		".retryInterval cannot be set ": {"RetryOnFailure", "RemediateOnFailure"},
	} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(strings.Replace(valid, change[0], change[1], 1)), &object); err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(schemas.Problems(kindOf(object), object), "\n")
		if name == "" && problems != "" || !strings.Contains(problems, name) {
			t.Errorf("with %q for %q the problems are %q, not %q", change[1], change[0], problems, name)
		}
	}
}

func TestQuotasAreQuantities(t *testing.T) {
	for _, path := range paths(t) {
		for _, object := range build(t, path) {
			if kindOf(object).Kind != "ResourceQuota" {
				continue
			}
			for name, value := range object["spec"].(map[string]any)["hard"].(map[string]any) {
				if _, err := resource.ParseQuantity(value.(string)); err != nil {
					t.Errorf("%s: %s: %v", nameOf(object), name, err)
				}
			}
		}
	}
}
