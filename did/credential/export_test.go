package credential_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
)

// golden is the credential of the worked example, section by section as it is specified; its bytes are the RFC 8785 form.
const golden = `{"@context":["https://www.w3.org/ns/credentials/v2","https://www.w3.org/ns/credentials/undefined-terms/v2"],
"id":"urn:trustnode:agent:zQmQAfmsUVvmR97MWNnL3Zpb9MfEucB8v4ns1GpFTUdL4Jy","type":["VerifiableCredential","AgentCredential"],"issuer":"$D",
"validFrom":"2026-12-01T10:00:00Z","validUntil":"2026-12-31T10:00:00Z",
"credentialSubject":{"id":"did:key:$A","kind":"agent","name":"billing","capabilities":["borrow"]},
"proof":{"@context":["https://www.w3.org/ns/credentials/v2","https://www.w3.org/ns/credentials/undefined-terms/v2"],
"type":"DataIntegrityProof","cryptosuite":"eddsa-jcs-2022","created":"2026-12-01T10:00:00Z","verificationMethod":"$D#$I1","proofPurpose":"assertionMethod",
"proofValue":"z2yDoHUFZnC2oRhDmGCcmqWeabbTUvLrFuvkziQSfBfcCSX61AhL8JhZFF2dkv5Sg7Xs6hUW1dm2rdTFqUo4RTS5s"}}`

const acmeDID = "did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example"

// TestCredentialOfTheWorkedExampleIsRebuilt is identity I-21.
func TestCredentialOfTheWorkedExampleIsRebuilt(t *testing.T) {
	want := canonical(t, parsed(t, strings.NewReplacer("$D", acmeDID, "$A", envelopetest.Repeat(ag).Public().Multikey(),
		"$I1", envelopetest.Repeat(i1).Public().Multikey()).Replace(golden)))
	got := exported(t, acme(t))
	if !bytes.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for range 3 {
		if again := exported(t, acme(t)); !bytes.Equal(again, got) {
			t.Errorf("a second export is %s", again)
		}
	}
}

func TestExportVerifies(t *testing.T) {
	org := acme(t)
	raw := exported(t, org)
	kid := envelopetest.Repeat(i1).Public().Multikey()
	got, err := credential.Verify(t.Context(), raw, fromLog(org, now))
	if err != nil {
		t.Fatal(err)
	}
	want := credential.Result{
		ID: credential.URN + billing(t, org).ID().String(), Types: []string{"VerifiableCredential", "AgentCredential"},
		Issuer: org.DID(), Subjects: []string{billing(t, org).Body().Agent.String()}, Kid: kid, Version: org.Head().ID,
		Created: day1, ValidFrom: day1, ValidUntil: day1.AddDate(0, 0, 30), Status: credential.StatusNone,
		Document: parsed(t, string(canonical(t, parsed(t, string(raw)).Without("proof")))),
		Evidence: []did.Evidence{{Step: "signature", Kid: kid}, {Step: "key", Version: org.Head().ID}, {Step: "head", Version: org.Head().ID}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestEveryBitOfAnExportCounts is identity I-9 for the credential of an agent.
func TestEveryBitOfAnExportCounts(t *testing.T) {
	org := acme(t)
	raw := exported(t, org)
	o := fromLog(org, now)
	for bit := range len(raw) * 8 {
		changed := bytes.Clone(raw)
		changed[bit/8] ^= 1 << (bit % 8)
		if r, err := credential.Verify(t.Context(), changed, o); err == nil {
			t.Fatalf("bit %d: accepted %s as %+v", bit, changed, r)
		}
	}
	for n := range raw {
		if _, err := credential.Verify(t.Context(), raw[:n], o); !errors.Is(err, credential.ErrForm) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestExportIsMadeByTheOrganizationsKeyAlone(t *testing.T) {
	v := billing(t, acme(t))
	for name, signer := range map[string]envelope.Signer{
		"the agent's own key":           envelopetest.Repeat(ag),
		"the organization's next key":   envelopetest.Repeat(i2),
		"the organization's update key": envelopetest.Repeat(u1),
	} {
		if raw, err := credential.Export(t.Context(), v, signer); !errors.Is(err, keyring.ErrHolder) || raw != nil {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
	}
	if raw, err := credential.Export(t.Context(), v, locked{envelopetest.Repeat(i1)}); !errors.Is(err, errLocked) || raw != nil {
		t.Errorf("a locked key: %s, %v", raw, err)
	}
}
