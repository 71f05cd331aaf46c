package api

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

const (
	// leeway is how far the clocks of replicas may be apart.
	leeway = 30 * time.Second
	// issuerName is the issuer of the official registry's tokens, which clients know.
	issuerName = "mcp-registry"
	// maxToken is the length of a token's text, in bytes: what a header may have.
	maxToken = 32 << 10
)

// Issuer signs tokens and reads those that it, or a replica with the same key, signed.
// It is safe for concurrent use.
type Issuer struct {
	public ed25519.PublicKey
	signer jose.Signer
}

// NewIssuer returns an issuer with the key of seed, which has 32 bytes.
func NewIssuer(seed []byte) (*Issuer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("token key: has %d bytes, not %d", len(seed), ed25519.SeedSize)
	}
	key := ed25519.NewKeyFromSeed(seed)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key},
		new(jose.SignerOptions).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("token key: %w", err)
	}
	return &Issuer{public: key.Public().(ed25519.PublicKey), signer: signer}, nil
}

// claims are the members of a token besides the registered ones.
type claims struct {
	Method      registry.LoginMethod  `json:"auth_method"`
	Subject     string                `json:"auth_method_sub"`
	Permissions []registry.Permission `json:"permissions"`
}

// Issue returns a token for g and when it expires.
func (i *Issuer) Issue(g registry.Grant, now time.Time) (token string, expires time.Time, err error) {
	expires = now.Add(registry.Lifetime).Truncate(time.Second)
	registered := jwt.Claims{
		Issuer:    issuerName,
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now),
		Expiry:    jwt.NewNumericDate(expires),
	}
	own := claims(g)
	if own.Permissions == nil {
		own.Permissions = []registry.Permission{}
	}
	token, err = jwt.Signed(i.signer).Claims(registered).Claims(own).Serialize()
	return token, expires, err
}

// Verify reads a token. The error wraps ErrToken.
func (i *Issuer) Verify(token string, now time.Time) (registry.Grant, error) {
	if len(token) > maxToken {
		return registry.Grant{}, fmt.Errorf("%w: longer than %d bytes", registry.ErrToken, maxToken)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return registry.Grant{}, fmt.Errorf("%w: not one that this registry issues, log in again", registry.ErrToken)
	}
	var registered jwt.Claims
	var own claims
	if err := parsed.Claims(i.public, &registered, &own); err != nil {
		return registry.Grant{}, fmt.Errorf("%w: not signed by this registry, log in again", registry.ErrToken)
	}
	switch {
	case registered.Issuer != issuerName:
		return registry.Grant{}, fmt.Errorf("%w: of another issuer", registry.ErrToken)
	case registered.Expiry == nil:
		return registry.Grant{}, fmt.Errorf("%w: without an expiry", registry.ErrToken)
	case !now.Before(registered.Expiry.Time()):
		return registry.Grant{}, fmt.Errorf("%w: expired, log in again", registry.ErrToken)
	case registered.NotBefore != nil && now.Add(leeway).Before(registered.NotBefore.Time()):
		return registry.Grant{}, fmt.Errorf("%w: not valid yet", registry.ErrToken)
	}
	return registry.Grant(own), nil
}
