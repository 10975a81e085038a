package providers

import "context"

// Secret is a value that no fmt verb, encoder or logger prints. The value sits behind a pointer, so it stays sealed in unexported fields too.
type Secret struct{ value *string }

// NewSecret seals s.
func NewSecret(s string) Secret { return Secret{value: &s} }

// Reveal returns the value. Only adapters call it, at the moment of use.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String returns a mask.
func (Secret) String() string { return "[secret]" }

// GoString returns a mask.
func (Secret) GoString() string { return "[secret]" }

// MarshalText returns a mask.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Credentials are one account's keys.
type Credentials struct {
	KeyID  Secret
	Secret Secret
	Token  Secret // security token of temporary credentials; empty for long-lived keys
}

// CredentialsFunc returns the keys to use for the next call; it may be called by several goroutines and may refresh.
type CredentialsFunc func(ctx context.Context) (Credentials, error)
