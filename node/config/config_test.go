package config

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
)

const org = "did:webvh:QmZpf94jgzaQb3NjqTV4HTs67znwRkgeJ3x1yRnHPaeyyP:acme.example"

// clear takes away what this machine's environment would change.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, k := range []string{"TRUSTNODE_HTTP", "TRUSTNODE_P2P", "TRUSTNODE_LOG_LEVEL", "TRUSTNODE_DATA"} {
		t.Setenv(k, "")
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What init writes is what is read, whatever a name holds.
func TestWriteThenRead(t *testing.T) {
	clearEnv(t)
	for _, name := range []string{"Acme Finance", `"quoted" \ and 'single'`, "line\nbreak\ttab", "Größe 世界 🙂", "# no comment", `"""`, "'''", "\u007f\u0001"} {
		dir := t.TempDir()
		want := Config{Dir: dir, Name: name, Org: did.MustParse(org), HTTP: "127.0.0.1:8501", P2P: []string{"/ip4/127.0.0.1/tcp/8601", "/ip6/::1/tcp/8601"},
			Public: "https://acme.example", Contact: "mailto:" + name, LogLevel: "info", SyncEvery: DefaultSyncEvery, ReadsPerS: DefaultReadsPerS, DiscoverMin: DefaultDiscover, RefuseHygiene: []string{}, HiddenTags: []string{}, CIDRs: []string{}, KeepRows: DefaultKeepRows, Ballast: 3 << 20}
		if err := Write(want); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		got, err := Read(dir)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v, want %+v", name, got, err, want)
		}
		if err := Write(want); !errors.Is(err, os.ErrExist) {
			t.Errorf("a second time: %v", err)
		}
		if st, err := os.Stat(filepath.Join(dir, File)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", st.Mode(), err)
		}
	}
}

func TestDefaults(t *testing.T) {
	clearEnv(t)
	dir := write(t, "org = \""+org+"\"\n")
	got, err := Read(dir)
	want := Config{Dir: dir, Org: did.MustParse(org), HTTP: DefaultHTTP, P2P: DefaultP2P, LogLevel: "info", SyncEvery: time.Minute, ReadsPerS: DefaultReadsPerS, DiscoverMin: DefaultDiscover,
		KeepRows: 34_560_000 * time.Second, Ballast: 256 << 20}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestNetworksThatAreFetchedFrom(t *testing.T) {
	clearEnv(t)
	got, err := Read(write(t, "org = \""+org+"\"\n[identity]\nfetch_allow_cidrs = [\"10.0.0.0/8\", \"fd00::/8\"]\n"))
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	if err != nil || !reflect.DeepEqual(got.FetchAllow, want) {
		t.Errorf("got %v, %v, want %v", got.FetchAllow, err, want)
	}
}

func TestEnvironmentOverrides(t *testing.T) {
	clearEnv(t)
	dir := write(t, "org = \""+org+"\"\n[http]\nlisten = \"127.0.0.1:1\"\n[log]\nlevel = \"warn\"\n")
	t.Setenv("TRUSTNODE_HTTP", "127.0.0.1:2")
	t.Setenv("TRUSTNODE_P2P", "/ip4/127.0.0.1/tcp/3,/ip4/127.0.0.1/tcp/4")
	t.Setenv("TRUSTNODE_LOG_LEVEL", "debug")
	got, err := Read(dir)
	if err != nil || got.HTTP != "127.0.0.1:2" || !reflect.DeepEqual(got.P2P, []string{"/ip4/127.0.0.1/tcp/3", "/ip4/127.0.0.1/tcp/4"}) || got.LogLevel != "debug" {
		t.Errorf("got %+v, %v", got, err)
	}
	t.Setenv("TRUSTNODE_LOG_LEVEL", "loud")
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), `"loud"`) {
		t.Errorf("a level that is none: %v", err)
	}
	t.Setenv("TRUSTNODE_DATA", "/srv/node")
	if d := DefaultDir(); d != "/srv/node" {
		t.Errorf("got %s", d)
	}
	t.Setenv("TRUSTNODE_DATA", "")
	t.Setenv("HOME", "/home/ines")
	if d := DefaultDir(); d != "/home/ines/.trustnode" {
		t.Errorf("got %s", d)
	}
}

func TestRefused(t *testing.T) {
	clearEnv(t)
	head := "org = \"" + org + "\"\n"
	for _, c := range []struct{ name, text, want string }{
		{"an unknown key", head + "\ncolour = 1\n", `line 3: unknown key "colour"`},
		{"an unknown key in a table", head + "[http]\nlisten = \"127.0.0.1:1\"\nport = 2\n", `line 4: unknown key "http.port"`},
		{"an unknown table", head + "[htttp]\nlisten = \"127.0.0.1:1\"\n", `unknown key "htttp`},
		{"another kind of value", head + "name = 3\n", "line 2"},
		{"a key given twice", head + head, "line 2"},
		{"text that is no TOML", head + "name = \"unfinished\n", "line 2"},
		{"no organization", "name = \"x\"\n", "org:"},
		{"an organization that is no DID", "org = \"acme\"\n", "org:"},
		{"an address without a port", head + "[http]\nlisten = \"127.0.0.1\"\n", "http.listen"},
		{"a sync that never comes", head + "[federation]\nsync_every_s = 3601\n", "federation.sync_every_s is 3601"},
		{"a sync in the past", head + "[federation]\nsync_every_s = -1\n", "federation.sync_every_s is -1"},
		{"reads in the past", head + "[lending]\nreads_per_s = -1\n", "lending.reads_per_s is -1"},
		{"a hygiene code that is none", head + "[lending]\nrefuse_hygiene = [\"H9\"]\n", `lending.refuse_hygiene names "H9"`},
		{"a discovery of what all have", head + "[lending]\ndiscover_min = 101\n", "lending.discover_min is 101, allowed are 1..100"},
		{"a discovery of less than nothing", head + "[lending]\ndiscover_min = -1\n", "lending.discover_min is -1"},
		{"a hidden tag that is none", head + "[lending]\nhidden_tags = [\"Deal\"]\n", "lending.hidden_tags: "},
		{"a network that is none", head + "[identity]\nfetch_allow_cidrs = [\"10.0.0.0\"]\n", `identity.fetch_allow_cidrs: "10.0.0.0" is no network`},
		{"a network that is an address in one", head + "[identity]\nfetch_allow_cidrs = [\"10.1.2.3/8\"]\n", "within 10.0.0.0/8"},
		{"rows that go before a case can end", head + "[audit]\nkeep_s = 7775999\n", "audit.keep_s is 7775999, allowed are 7776000.."},
		{"rows kept longer than any number", head + "[audit]\nkeep_s = 9223372036854775807\n", "audit.keep_s is 9223372036854775807"},
		{"a ballast below nothing", head + "[disk]\nballast_mib = -1\n", "disk.ballast_mib is -1"},
		{"a level that is none", head + "[log]\nlevel = \"loud\"\n", `log.level is "loud"`},
	} {
		dir := write(t, c.text)
		_, err := Read(dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Join(dir, File)) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Read(t.TempDir()); !errors.Is(err, ErrNoNode) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "nothing")); !errors.Is(err, ErrNoNode) {
		t.Errorf("no directory: %v", err)
	}
}

// Every key of the file is explained in the file that init leaves.
func TestTemplateHasEveryKey(t *testing.T) {
	var keys []string
	var walk func(prefix string, ty reflect.Type)
	walk = func(prefix string, ty reflect.Type) {
		for i := range ty.NumField() {
			f := ty.Field(i)
			if f.Type.Kind() == reflect.Struct {
				keys = append(keys, "["+f.Tag.Get("toml")+"]")
				walk(f.Tag.Get("toml")+".", f.Type)
				continue
			}
			keys = append(keys, "\n"+f.Tag.Get("toml")+" = ")
		}
	}
	walk("", reflect.TypeFor[wire]())
	for _, k := range keys {
		if !strings.Contains(template, k) {
			t.Errorf("%q is not in the template", k)
		}
	}
}
