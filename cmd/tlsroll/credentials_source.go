package main

import (
	"context"
	"strings"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// sourceCredentials returns where a source's keys come from; nil asks without. The environment of a jsonhttp source is its own: the
// cloud's keys must not go to whatever URL a plan names.
func sourceCredentials(io stdio, s plans.Source) (providers.CredentialsFunc, error) {
	switch {
	case s.Credentials == "":
		return nil, nil //nolint:nilnil // no keys are not an error
	case s.Type == "jsonhttp" && s.Credentials == "env":
		return fromSourceEnv(io, s.Name), nil
	}
	return credentials(io, s.Credentials, s.Type)
}

// fromSourceEnv reads a bearer token, or else a user and a password.
func fromSourceEnv(io stdio, source string) providers.CredentialsFunc {
	prefix := "TLSROLL_" + strings.ToUpper(strings.ReplaceAll(source, "-", "_")) + "_"
	return func(context.Context) (providers.Credentials, error) {
		token, user, password := io.getenv(prefix+"TOKEN"), io.getenv(prefix+"USER"), io.getenv(prefix+"PASSWORD")
		switch {
		case token != "" && user == "":
			return providers.Credentials{Token: providers.NewSecret(token)}, nil
		case token == "" && user != "" && password != "":
			return providers.Credentials{KeyID: providers.NewSecret(user), Secret: providers.NewSecret(password)}, nil
		}
		return providers.Credentials{}, denied("jsonhttp", "set either "+prefix+"TOKEN, or "+prefix+"USER and "+prefix+"PASSWORD, in the environment")
	}
}
