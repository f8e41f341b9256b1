// Package check validates the files of deploy/ by the schemas and parsers of the programs that read them. It is a module of its own, so that these stay out
// of the module of the program.
package check

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// strict decodes manifests and refuses fields that their kinds do not have.
var strict = json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})

// manifests returns the objects of a file.
func manifests(t *testing.T, path string) (all []runtime.Object) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for r := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		o, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			t.Errorf("%s: %v\n%s", path, err, document)
			continue
		}
		all = append(all, o)
	}
}

// pod returns the pod that an object makes, if it makes one.
func pod(o runtime.Object) *corev1.PodSpec {
	switch o := o.(type) {
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec
	case *corev1.Pod:
		return &o.Spec
	}
	return nil
}

// TestManifests checks the fields of each object, and what references to each other must agree.
func TestManifests(t *testing.T) {
	paths, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds, services, sets := map[string]int{}, map[string]map[string]string{}, map[string]map[string]string{}
	var budgets []*policyv1.PodDisruptionBudget
	var scaled *autoscalingv2.HorizontalPodAutoscaler
	for _, path := range paths {
		if filepath.Base(path) == "kustomization.yaml" {
			continue
		}
		for _, o := range manifests(t, path) {
			kinds[o.GetObjectKind().GroupVersionKind().Kind]++
			switch o := o.(type) {
			case *corev1.Service:
				services[o.Name] = o.Spec.Selector
			case *appsv1.StatefulSet:
				sets[o.Name] = o.Spec.Template.Labels
				if !matches(o.Spec.Selector.MatchLabels, o.Spec.Template.Labels) {
					t.Errorf("%s does not select its pods", o.Name)
				}
				for _, c := range o.Spec.Template.Spec.Containers {
					if c.ReadinessProbe == nil || c.StartupProbe == nil || c.Resources.Limits.Memory().IsZero() {
						t.Errorf("%s: a container without probes or limits", o.Name)
					}
				}
			case *policyv1.PodDisruptionBudget:
				budgets = append(budgets, o)
			case *autoscalingv2.HorizontalPodAutoscaler:
				scaled = o
			}
			if p := pod(o); p != nil {
				checkPod(t, path, p)
			}
		}
	}
	if kinds["StatefulSet"] != 4 || kinds["NetworkPolicy"] != 3 || len(budgets) != 2 || scaled == nil {
		t.Fatalf("kinds %v", kinds)
	}
	for name, selector := range services {
		if labels := sets[strings.TrimSuffix(name, "-pods")]; !matches(selector, labels) {
			t.Errorf("the service %s selects no pods: %v, %v", name, selector, labels)
		}
	}
	for _, b := range budgets {
		if !matches(b.Spec.Selector.MatchLabels, sets[b.Name]) {
			t.Errorf("the budget %s selects no pods", b.Name)
		}
	}
	if sets[scaled.Spec.ScaleTargetRef.Name] == nil || scaled.Spec.Metrics[0].Pods.Metric.Name != "sluice_streams_open" {
		t.Errorf("autoscaling of %+v", scaled.Spec)
	}
}

func matches(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

// checkPod checks what the security standard "restricted" of the namespace wants, and the names of volumes.
func checkPod(t *testing.T, path string, p *corev1.PodSpec) {
	t.Helper()
	s := p.SecurityContext
	if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil {
		t.Errorf("%s: the pod may run as root", path)
	}
	for _, c := range p.Containers {
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil || len(s.Capabilities.Drop) != 1 {
			t.Errorf("%s: the container %s has rights that it does not need", path, c.Name)
		}
		for _, e := range c.Env {
			if e.Value != "" && strings.Contains(strings.ToLower(e.Name), "password") {
				t.Errorf("%s: the password %s is in the file", path, e.Name)
			}
		}
	}
}

// TestKustomization builds the manifests as kubectl apply -k does.
func TestKustomization(t *testing.T) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range built.Resources() {
		if ns := r.GetNamespace(); ns != "sluice" && r.GetKind() != "Namespace" {
			t.Errorf("%s %s is in the namespace %q", r.GetKind(), r.GetName(), ns)
		}
	}
	text, err := built.AsYaml()
	if err != nil || !bytes.Contains(text, []byte("image: registry.example.com/sluice:latest")) {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestCompose loads the compose file, which checks it by the schema of the specification.
func TestCompose(t *testing.T) {
	o, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithEnv([]string{"PASSWORD=secret"}), cli.WithInterpolation(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			if v.Type != "bind" {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if s := p.Services["sluice-2"]; len(p.Services) != 9 || !s.ReadOnly || !strings.HasPrefix(*s.Environment["SLUICE_STORE"], "postgres://sluice:secret@") || len(s.DependsOn) != 5 {
		t.Errorf("%d services, %+v", len(p.Services), s)
	}
	o, err = cli.NewProjectOptions([]string{"../compose.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.LoadProject(t.Context()); err == nil {
		t.Error("the file can be used without a password")
	}
}

// TestDockerfile parses the Dockerfile as docker build does, with its linter.
func TestDockerfile(t *testing.T) {
	f, err := os.Open("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parsed, err := parser.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{Warn: func(rule, _, _, text string, _ []parser.Range) { t.Errorf("%s: %s", rule, text) }}))
	if err != nil {
		t.Fatal(err)
	}
	user := ""
	for _, c := range stages[len(stages)-1].Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.CopyCommand:
			if c.From != stages[0].Name {
				t.Errorf("a file is copied from %q", c.From)
			}
		}
	}
	if len(stages) != 2 || user != "65532:65532" || !strings.Contains(stages[1].BaseName, "distroless/static") {
		t.Errorf("%d stages, the last one from %s as the user %q", len(stages), stages[len(stages)-1].BaseName, user)
	}
}
