package service

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// Prefix of every variable.
const Prefix = "BROWSERFLEET"

// validator reports every problem of a configuration at once.
type validator interface{ Validate() error }

// ConfigError says what is wrong with a service's configuration.
type ConfigError struct{ err error }

func (e *ConfigError) Error() string { return "configuration:\n" + e.err.Error() }

// Unwrap is the errors.Join of every problem.
func (e *ConfigError) Unwrap() error { return e.err }

// load reads a service's configuration. Its error is a *ConfigError.
func load(cfg validator) error {
	if err := read(cfg); err != nil {
		return &ConfigError{err}
	}
	return nil
}

func read(cfg validator) error {
	if err := checkKnown(); err != nil {
		return err
	}
	if err := envconfig.Process(Prefix, cfg); err != nil {
		var parse *envconfig.ParseError
		if errors.As(err, &parse) {
			return fmt.Errorf("%s: cannot be read as %s: %w", parse.KeyName, parse.TypeName, parse.Err)
		}
		return err
	}
	return cfg.Validate()
}

// checkKnown refuses variables with our prefix that nothing reads.
func checkKnown() error {
	if err := envconfig.CheckDisallowed(Prefix, &everything{}); err != nil {
		return fmt.Errorf("%w (see `browserfleet SERVICE --help` for those that exist)", err)
	}
	return nil
}

// everything names the variables of all services and of the client verbs.
type everything struct {
	NATSConfig
	StoreConfig
	CoordinatorConfig
	WorkerConfig
	ClientVariables
}

// ClientVariables are read by the command line's flags. They are listed here so
// that a service that is started from the same shell does not refuse them.
type ClientVariables struct {
	Data        string
	Owner       string
	NatsContext string `split_words:"true"`
}

const usageTable = `{{range .}}  {{usage_key .}}
      {{usage_description .}}{{with usage_default .}} (default {{.}}){{end}}
{{end}}`

// Usage prints the variables of a service.
func Usage(w io.Writer, cfg any) error {
	if err := envconfig.Usagef(Prefix, cfg, w, usageTable); err != nil {
		return fmt.Errorf("print the variables: %w", err)
	}
	return nil
}

// readSecret reads a file that holds one secret. A file that others may read, or
// the group may write, is refused.
func readSecret(variable, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return "", fmt.Errorf("%s: %s has mode %04o: want 0600 (or 0640)", variable, path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return "", fmt.Errorf("%s: %s is empty", variable, path)
	}
	return secret, nil
}

// problems collects what is wrong with a configuration.
type problems []error

func (p *problems) add(variable, format string, args ...any) {
	*p = append(*p, fmt.Errorf("%s_%s: %s", Prefix, variable, fmt.Sprintf(format, args...)))
}

func (p *problems) need(variable, value string) {
	if value == "" {
		p.add(variable, "is not set")
	}
}

func (p *problems) err() error { return errors.Join(*p...) }
