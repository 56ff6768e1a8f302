package fetch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
)

// Fetcher gets the files of did:web and did:webvh DIDs from their hosts. Safe for concurrent use.
type Fetcher struct {
	transport *http.Transport
	budget    time.Duration
	flights   flights
	turns     turns
}

var _ did.Source = (*Fetcher)(nil)

// New returns a Fetcher; see Config.
func New(c Config) *Fetcher { return &Fetcher{transport: NewTransport(c), budget: c.budget()} }

// Fetched is what a host has for a DID, and which server said so. Callers that asked at the same time share the bytes
// and must not change them.
type Fetched struct {
	Material did.Material
	SPKI     SPKI // of the server that had the document or the log; never zero
}

// Material implements did.Source: Fetch without the server's key.
func (f *Fetcher) Material(ctx context.Context, d did.DID) (did.Material, error) {
	got, err := f.Fetch(ctx, d)
	return got.Material, err
}

// Fetch gets did.json of a did:web DID, or did.jsonl and, if there is one, did-witness.json of a did:webvh DID. The log
// is asked for first: a host replaces its witness file before its log, so the witness file that comes after a log has
// the proofs for it. It takes 5 s at most. Errors are *Error; they match did.ErrAbsent or did.ErrUnavailable.
func (f *Fetcher) Fetch(ctx context.Context, d did.DID) (Fetched, error) {
	p, err := placeOf(d)
	if err != nil {
		return Fetched{}, &Error{Cause: CauseIdentifier, Err: err}
	}
	limited, cancel := context.WithTimeout(ctx, f.budget)
	defer cancel()
	got, err := f.flights.do(ctx, limited, d, func() (Fetched, error) { return f.fetch(limited, p) })
	if err != nil {
		if e := (*Error)(nil); !errors.As(err, &e) {
			err = failed(limited, p.url, err)
		}
		return Fetched{}, err
	}
	return got, nil
}

// place is where the files of a DID are.
type place struct {
	host, url, witnessURL string // witnessURL is "" for a method without witnesses
	limit                 int64  // bytes of the file at url
}

var errMethod = errors.New("this method keeps nothing on a web server")

func placeOf(d did.DID) (place, error) {
	switch d.Method() {
	case didweb.Method:
		id, err := didweb.ParseIdentifier(d)
		if err != nil {
			return place{}, err
		}
		return place{host: id.Host, url: id.URL(), limit: maxDocument}, nil
	case didwebvh.Method:
		id, err := didwebvh.ParseIdentifier(d)
		if err != nil {
			return place{}, err
		}
		return place{host: id.Host, url: id.URL(), witnessURL: id.WitnessURL(), limit: maxLog}, nil
	}
	return place{}, fmt.Errorf("did:%s: %w", d.Method(), errMethod)
}

func (f *Fetcher) fetch(ctx context.Context, p place) (Fetched, error) {
	release, err := f.turns.take(ctx, p.host)
	if err != nil {
		return Fetched{}, failed(ctx, p.url, fmt.Errorf("%d requests to %s are under way: %w", perHost, p.host, err))
	}
	defer release()
	main, err := f.get(ctx, p.url, p.limit)
	if err != nil {
		return Fetched{}, err
	}
	out := Fetched{did.Material{Log: main.body}, main.spki}
	if p.witnessURL == "" {
		return out, nil
	}
	witness, err := f.get(ctx, p.witnessURL, maxWitness)
	if errors.Is(err, did.ErrAbsent) {
		return out, nil
	}
	if err != nil {
		return Fetched{}, err
	}
	out.Material.Witness = witness.body
	return out, nil
}

type answer struct {
	body []byte
	spki SPKI
}

// get reads the file at url, of at most limit bytes.
func (f *Fetcher) get(ctx context.Context, url string, limit int64) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, failed(ctx, url, err)
	}
	req.Header.Set("User-Agent", "trustnode")
	// Without the header a server may choose any coding (RFC 9110, section 12.5.3).
	req.Header.Set("Accept-Encoding", "identity")
	defer f.transport.CloseIdleConnections() // ends a dial that outlived its request
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return answer{}, failed(ctx, url, err)
	}
	defer resp.Body.Close()
	if e := refusal(resp, limit); e != nil {
		e.URL, e.Status = url, resp.StatusCode
		return answer{}, e
	}
	body, err := read(resp.Body, limit)
	if err == nil {
		// A server that saw this side hang up may still end the body in good form, cut short.
		err = ctx.Err()
	}
	switch {
	case errors.Is(err, did.ErrTooLarge):
		return answer{}, &Error{Cause: CauseTooLarge, URL: url, Status: resp.StatusCode, Err: err}
	case err != nil:
		return answer{}, failed(ctx, url, err)
	case len(body) == 0:
		return answer{}, &Error{Cause: CauseEmpty, URL: url, Status: resp.StatusCode}
	}
	return answer{body, sha256.Sum256(resp.TLS.PeerCertificates[0].RawSubjectPublicKeyInfo)}, nil
}

// refusal returns what an answer's header already rules out, nil if its body is to be read.
func refusal(resp *http.Response, limit int64) *Error {
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound, code == http.StatusGone:
		return &Error{Cause: CauseAbsent}
	case code >= 300 && code < 400:
		return &Error{Cause: CauseRedirect}
	case code != http.StatusOK:
		return &Error{Cause: CauseStatus}
	}
	for _, coding := range resp.Header.Values("Content-Encoding") {
		if coding != "" && coding != "identity" {
			return &Error{Cause: CauseEncoding}
		}
	}
	if resp.ContentLength > limit {
		return &Error{Cause: CauseTooLarge, Err: tooLarge(limit)}
	}
	return nil
}

// read returns the body, or did.ErrTooLarge once it is longer than limit. A length that was announced is not trusted:
// memory is taken as bytes arrive.
func read(body io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, tooLarge(limit)
	}
	return b, nil
}

func tooLarge(limit int64) error { return fmt.Errorf("more than %d bytes: %w", limit, did.ErrTooLarge) }
