package library

import (
	"context"
	"errors"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

func TestOnlyGrantedOrganizationsAreGivenAnObject(t *testing.T) {
	ctx := context.Background()
	db := store.Memory()
	l := New(db)
	a, b := did.MustParse("did:web:a.example"), did.MustParse("did:web:b.example")
	mine, open := envelope.IDOf([]byte("mine")), envelope.IDOf([]byte("open"))
	want := Object{ID: mine, What: "permission", Bytes: []byte("bytes\x00as received")}
	if err := db.Update(ctx, func(tx store.Tx) error {
		return errors.Join(l.Put(tx, want), l.Grant(tx, mine, a, did.DID{}), l.GrantAll(tx, open))
	}); err != nil {
		t.Fatal(err)
	}
	got, err := l.Get(ctx, mine)
	if err != nil || got.What != want.What || string(got.Bytes) != string(want.Bytes) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, tt := range []struct {
		name string
		who  did.DID
		id   envelope.ID
		want error
	}{
		{"the organization that was granted it", a, mine, nil},
		{"another one", b, mine, ErrAbsent},
		{"anybody, what is for all", b, open, nil},
		{"anybody, what is not here", a, envelope.IDOf([]byte("none")), ErrAbsent},
		{"nobody in particular", did.DID{}, mine, ErrAbsent},
	} {
		if err := l.MayRead(ctx, tt.who, tt.id); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}
