package integration

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"cellbench/internal/bench"
	"cellbench/internal/config"
)

// exitCodes are all codes of the contract that a cell may end with.
var exitCodes = []bench.ExitCode{
	bench.ExitConfig, bench.ExitScenario, bench.ExitUnsafe, bench.ExitInternal,
	bench.ExitUnreachable, bench.ExitBusy, bench.ExitStore, bench.ExitInterrupted,
}

// envVar is how both recipes name a variable.
type envVar struct {
	Name string `yaml:"name"`
}

func known(t *testing.T, names []string) {
	t.Helper()
	if len(names) == 0 {
		t.Error("no variables found: the test reads the wrong place")
	}
	for _, name := range names {
		if strings.HasPrefix(name, "BENCH_") && !slices.Contains(config.VariableNames(), name) {
			t.Errorf("%s is no setting", name)
		}
	}
}

// kubernetesJob is what the test looks at in job.yaml.
type kubernetesJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Spec       struct {
		CompletionMode       string `yaml:"completionMode"`
		Parallelism          int    `yaml:"parallelism"`
		BackoffLimitPerIndex int    `yaml:"backoffLimitPerIndex"`
		PodReplacementPolicy string `yaml:"podReplacementPolicy"`
		PodFailurePolicy     struct {
			Rules []struct {
				Action      string `yaml:"action"`
				OnExitCodes *struct {
					ContainerName string `yaml:"containerName"`
					Operator      string `yaml:"operator"`
					Values        []int  `yaml:"values"`
				} `yaml:"onExitCodes"`
			} `yaml:"rules"`
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec struct {
				RestartPolicy   string `yaml:"restartPolicy"`
				SecurityContext struct {
					RunAsUser int `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Containers []struct {
					Name string   `yaml:"name"`
					Env  []envVar `yaml:"env"`
				} `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

// TestKubernetesRecipe holds the Job to the contract: exit codes that no retry can
// help fail the index, all others are counted, one cell runs at a time.
func TestKubernetesRecipe(t *testing.T) {
	var job kubernetesJob
	readYAML(t, "../infra/kubernetes/job.yaml", &job)
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || job.Spec.CompletionMode != "Indexed" {
		t.Fatalf("%s %s with completionMode %q, want an Indexed Job of batch/v1", job.APIVersion, job.Kind, job.Spec.CompletionMode)
	}
	pod := job.Spec.Template.Spec
	if job.Spec.Parallelism != 1 || job.Spec.PodReplacementPolicy != "Failed" || pod.RestartPolicy != "Never" {
		t.Error("two pods could measure one target at once")
	}
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers, want one", len(pod.Containers))
	}
	var final []int
	for _, rule := range job.Spec.PodFailurePolicy.Rules {
		if rule.Action == "FailIndex" && rule.OnExitCodes != nil && rule.OnExitCodes.Operator == "In" {
			if rule.OnExitCodes.ContainerName != pod.Containers[0].Name {
				t.Errorf("the rule is for container %q, which is not there", rule.OnExitCodes.ContainerName)
			}
			final = append(final, rule.OnExitCodes.Values...)
		}
	}
	for _, code := range exitCodes {
		if got := slices.Contains(final, int(code)); got == code.Retryable() {
			t.Errorf("exit code %d fails the index: %v, but retryable: %v", code, got, code.Retryable())
		}
	}
	var names []string
	for _, variable := range pod.Containers[0].Env {
		names = append(names, variable.Name)
	}
	known(t, names)
	user := "USER " + strconv.Itoa(pod.SecurityContext.RunAsUser) + ":"
	if text, err := os.ReadFile("../Dockerfile"); err != nil || !bytes.Contains(text, []byte(user)) {
		t.Errorf("the Dockerfile has no %q (%v)", user, err)
	}
	for _, document := range bytes.Split(readFile(t, "../infra/kubernetes/secret.example.yaml"), []byte("\n---\n")) {
		var object struct {
			Kind     string                     `yaml:"kind"`
			Metadata struct{ Name string }      `yaml:"metadata"`
			Rest     map[string]yaml.RawMessage `yaml:",inline"`
		}
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(readFile(t, "../infra/kubernetes/job.yaml"), []byte(object.Metadata.Name)) {
			t.Errorf("the job does not use the %s %q", object.Kind, object.Metadata.Name)
		}
	}
}

// batchTemplate is what the test looks at in cellbench.yaml.
type batchTemplate struct {
	Parameters map[string]struct {
		Type string `yaml:"Type"`
	} `yaml:"Parameters"`
	Resources map[string]struct {
		Type string `yaml:"Type"`
	} `yaml:"Resources"`
}

type batchJobDefinition struct {
	Resources struct {
		JobDefinition struct {
			Properties struct {
				RetryStrategy struct {
					Attempts       int         `yaml:"Attempts"`
					EvaluateOnExit []retryRule `yaml:"EvaluateOnExit"`
				} `yaml:"RetryStrategy"`
				ContainerProperties struct {
					Environment []batchVariable `yaml:"Environment"`
					Secrets     []batchVariable `yaml:"Secrets"`
				} `yaml:"ContainerProperties"`
			} `yaml:"Properties"`
		} `yaml:"JobDefinition"`
	} `yaml:"Resources"`
}

type batchVariable struct {
	Name string `yaml:"Name"`
}

// retryRule is one rule of evaluateOnExit; all conditions that it has must hold.
type retryRule struct {
	Action         string `yaml:"Action"`
	OnExitCode     string `yaml:"OnExitCode"`
	OnReason       string `yaml:"OnReason"`
	OnStatusReason string `yaml:"OnStatusReason"`
}

func (r retryRule) matches(code, reason, statusReason string) bool {
	return glob(r.OnExitCode, code) && glob(r.OnReason, reason) && glob(r.OnStatusReason, statusReason)
}

// glob is the pattern of AWS Batch: an asterisk may only stand at the end.
func glob(pattern, text string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(text, prefix)
	}
	return pattern == "" || pattern == text
}

// decide returns what AWS Batch does after an attempt: the first rule that matches,
// and a retry when none does.
func decide(rules []retryRule, code, reason, statusReason string) string {
	for _, rule := range rules {
		if rule.matches(code, reason, statusReason) {
			return rule.Action
		}
	}
	return "RETRY"
}

// TestAWSRecipe holds the job definition to the contract: what Batch does with each
// exit code is what the code says of itself.
func TestAWSRecipe(t *testing.T) {
	const file = "../infra/aws/cellbench.yaml"
	var template batchJobDefinition
	readYAML(t, file, &template)
	definition := template.Resources.JobDefinition.Properties
	rules := definition.RetryStrategy.EvaluateOnExit
	if len(rules) == 0 || len(rules) > 5 || definition.RetryStrategy.Attempts < 2 {
		t.Fatalf("%d rules and %d attempts: Batch takes 1 to 5 rules, with attempts", len(rules), definition.RetryStrategy.Attempts)
	}
	const ended = "Essential container in task exited"
	for _, code := range exitCodes {
		want := "EXIT"
		if code.Retryable() {
			want = "RETRY"
		}
		if got := decide(rules, strconv.Itoa(int(code)), "", ended); code.Retryable() && got != want {
			t.Errorf("exit code %d: %s, want %s", code, got, want)
		}
		if got := decide(rules, strconv.Itoa(int(code)), "x", ended); got != want {
			t.Errorf("exit code %d with a reason: %s, want %s", code, got, want)
		}
	}
	for _, test := range []struct{ name, code, reason, status, want string }{
		{"host taken away", "", "", "Host EC2 (instance i-1) terminated.", "RETRY"},
		{"image not pulled", "", "CannotPullContainerError: x", "Task failed to start", "RETRY"},
		{"out of memory", "137", "OutOfMemoryError: Container killed due to memory usage", ended, "EXIT"},
		{"Go panic", "2", "x", ended, "EXIT"},
	} {
		if got := decide(rules, test.code, test.reason, test.status); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	var names []string
	for _, variable := range slices.Concat(definition.ContainerProperties.Environment, definition.ContainerProperties.Secrets) {
		names = append(names, variable.Name)
	}
	known(t, names)
}

// TestAWSReferences finds every reference of the template in it.
func TestAWSReferences(t *testing.T) {
	const file = "../infra/aws/cellbench.yaml"
	var template batchTemplate
	readYAML(t, file, &template)
	defined := func(name string) bool {
		_, parameter := template.Parameters[name]
		_, resource := template.Resources[name]
		return parameter || resource || strings.HasPrefix(name, "AWS::")
	}
	text := string(readFile(t, file))
	references := regexp.MustCompile(`\bRef: ([A-Za-z:]+)|Fn::GetAtt": \[([A-Za-z]+)|\$\{([A-Za-z:]+)\}`).FindAllStringSubmatch(text, -1)
	if len(references) < 15 {
		t.Errorf("%d references found: the test reads them wrongly", len(references))
	}
	used := make(map[string]bool)
	for _, match := range references {
		name := match[1] + match[2] + match[3]
		used[name] = true
		if !defined(name) {
			t.Errorf("%s refers to %s, which is not there", file, name)
		}
	}
	for name := range template.Parameters {
		if !used[name] {
			t.Errorf("parameter %s is not used", name)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal(readFile(t, path), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
