package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/providers"
)

// Names of the environment variables; design section 16.
const (
	envAliKey      = "ALIBABA_CLOUD_ACCESS_KEY_ID"
	envAliSecret   = "ALIBABA_CLOUD_ACCESS_KEY_SECRET"
	envAliToken    = "ALIBABA_CLOUD_SECURITY_TOKEN" //nolint:gosec // the name of a variable
	envQiniuKey    = "QINIU_ACCESS_KEY"
	envQiniuSecret = "QINIU_SECRET_KEY"

	credentialsTimeout = 20 * time.Second
)

// keyFile is what file:, exec: and systemd: give: a JSON object.
type keyFile struct {
	KeyID  string `json:"access_key_id"`
	Secret string `json:"access_key_secret"`
	Token  string `json:"security_token"`
	Bearer string `json:"bearer_token"` // alone, and only for a source of type jsonhttp
}

// credentials returns where a provider's keys come from. Files and commands are asked anew for each call, so that temporary keys may
// be renewed underneath. No error repeats what was read.
func credentials(io stdio, spec, provider string) (providers.CredentialsFunc, error) {
	kind, arg, _ := strings.Cut(spec, ":")
	switch kind {
	case "env", "":
		return fromEnv(io, provider), nil
	case "file":
		return fromJSON(provider, "file:"+arg, func(context.Context) ([]byte, error) { return readKeyFile(arg) }), nil
	case "systemd":
		dir := io.getenv("CREDENTIALS_DIRECTORY")
		if dir == "" {
			return nil, errors.New("credentials systemd:" + arg + ": CREDENTIALS_DIRECTORY is not set; LoadCredential= in the unit sets it")
		}
		return fromJSON(provider, "systemd:"+arg, func(context.Context) ([]byte, error) { return readKeyFile(filepath.Join(dir, filepath.Base(arg))) }), nil
	case "exec":
		return fromJSON(provider, "exec", func(ctx context.Context) ([]byte, error) { return runHelper(ctx, io, arg) }), nil
	}
	return nil, fmt.Errorf("credentials %q: this release knows env, file:PATH, exec:COMMAND and systemd:NAME", kind)
}

func fromEnv(io stdio, provider string) providers.CredentialsFunc {
	return func(context.Context) (providers.Credentials, error) {
		names := [3]string{envAliKey, envAliSecret, envAliToken}
		if provider == "qiniu" {
			names = [3]string{envQiniuKey, envQiniuSecret, ""}
		}
		var missing []string
		for _, n := range names[:2] {
			if io.getenv(n) == "" {
				missing = append(missing, n)
			}
		}
		if len(missing) > 0 {
			return providers.Credentials{}, denied(provider, "set "+strings.Join(missing, " and ")+" in the environment")
		}
		c := providers.Credentials{KeyID: providers.NewSecret(io.getenv(names[0])), Secret: providers.NewSecret(io.getenv(names[1]))}
		if names[2] != "" && io.getenv(names[2]) != "" {
			c.Token = providers.NewSecret(io.getenv(names[2]))
		}
		return c, nil
	}
}

func fromJSON(provider, name string, read func(context.Context) ([]byte, error)) providers.CredentialsFunc {
	return func(ctx context.Context) (providers.Credentials, error) {
		data, err := read(ctx)
		if err != nil {
			return providers.Credentials{}, denied(name, "cannot be read: "+err.Error())
		}
		var k keyFile
		err = json.Unmarshal(data, &k)
		forms := `must hold {"access_key_id": …, "access_key_secret": …}, and may hold "security_token"`
		if provider == "jsonhttp" {
			forms = `must hold {"bearer_token": …} or {"access_key_id": …, "access_key_secret": …}`
			if err == nil && k.Bearer != "" && k.KeyID == "" {
				return providers.Credentials{Token: providers.NewSecret(k.Bearer)}, nil
			}
		}
		if err != nil || k.KeyID == "" || k.Secret == "" {
			return providers.Credentials{}, denied(name, forms)
		}
		return providers.Credentials{KeyID: providers.NewSecret(k.KeyID), Secret: providers.NewSecret(k.Secret), Token: providers.NewSecret(k.Token)}, nil
	}
}

// readKeyFile refuses a file that others can read.
func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}
	return os.ReadFile(path) //nolint:gosec // the plan names the file
}

func runHelper(ctx context.Context, io stdio, command string) ([]byte, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, errors.New("no command")
	}
	limited, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, words[0], words[1:]...) //nolint:gosec // the plan names the command, without a shell
	cmd.Env, cmd.Stderr = io.env, io.err
	cmd.WaitDelay = time.Second // a child that keeps the pipe open must not hold up a rollback
	return cmd.Output()
}

func denied(name, text string) error {
	return &providers.Error{Provider: name, Op: "credentials", Kind: providers.Denied, Err: errors.New(text)}
}
