// Package flux checks gitops/ the way a cluster with Flux on it would: see the tests.
package flux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	// The packages that the schemas are made from.
	_ "github.com/fluxcd/helm-controller/api/v2"
	_ "github.com/fluxcd/image-automation-controller/api/v1"
	_ "github.com/fluxcd/image-reflector-controller/api/v1"
	_ "github.com/fluxcd/kustomize-controller/api/v1"
	_ "github.com/fluxcd/source-controller/api/v1"
)

var apiPackages = []string{
	"github.com/fluxcd/helm-controller/api/v2",
	"github.com/fluxcd/image-automation-controller/api/v1",
	"github.com/fluxcd/image-reflector-controller/api/v1",
	"github.com/fluxcd/kustomize-controller/api/v1",
	"github.com/fluxcd/source-controller/api/v1",
}

// Schemas holds, by group, version and kind, what an API server with Flux's custom resources would check.
type Schemas map[schema.GroupVersionKind]*apiextensions.JSONSchemaProps

// FluxSchemas makes the custom resource definitions from the API packages, as Flux's own release does, and reads them.
func FluxSchemas(folder string) (Schemas, error) {
	command := exec.Command("go", "tool", "controller-gen", "crd", "output:crd:dir="+folder)
	for _, p := range apiPackages {
		command.Args = append(command.Args, "paths="+p)
	}
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("controller-gen: %w\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	schemas := Schemas{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, version := range definition.Spec.Versions {
			if !version.Served || version.Schema == nil {
				continue
			}
			var internal apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			kind := schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}
			schemas[kind] = &internal
		}
	}
	return schemas, nil
}

// Problems lists what the API server would refuse or drop in a custom resource: values out of the schema, broken rules, unknown fields.
func (s Schemas) Problems(kind schema.GroupVersionKind, object map[string]any) []string {
	props, ok := s[kind]
	if !ok {
		return []string{fmt.Sprintf("%s is served by no current Flux", kind)}
	}
	var problems []string
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range validation.ValidateCustomResource(nil, object, validator) {
		problems = append(problems, e.Error())
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return []string{err.Error()}
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	errs, _ := rules.Validate(context.Background(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	for _, e := range errs {
		problems = append(problems, e.Error())
	}
	for _, path := range pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		problems = append(problems, "unknown field "+strings.TrimPrefix(path, "."))
	}
	return problems
}
