// Package scripts holds the checks of the repository itself: the import rule,
// package comments, and what may stand at the top level.
package scripts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers lists every package, lowest first. A package imports only packages above
// its own line; packages that share a line do not meet.
var layers = [][]string{
	{"testnet/ports"},
	{"did/strictjson"},
	{"did"},
	{"did/envelope"},
	{"did/pins"},
	{"did/integrity", "did/weblocation", "did/resolution"},
	{"did/didkey", "did/didwebvh", "did/didweb", "did/didpeer", "did/didjwk", "did/keys", "did/interop"},
	{"did/keyring"},
	{"did/credential"},
	{"attestation"},
	{"attestation/log"},
	{"attestation/audit", "attestation/history", "attestation/trust"},
	{"federation", "mediation"},
	{"federation/bundle"},
	{"federation/lending"},
	{"federation/charter"},
	{"federation/gossip", "federation/inproc", "federation/p2p"},
	{"node/fault"},
	{"node/config", "node/store", "node/fetch", "node/guard", "node/vault"},
	{"node/memory", "node/recorder", "node/library", "node/notice"},
	{"node/casefile", "node/memory/importers"},
	{"node/verifier"},
	{"node/self"},
	{"node/member", "node/lender", "node/client", "node/party", "node/oracle", "node/resolver"},
	{"node/httpapi", "node/mcp"},
	{"node/daemon"},
	{"testnet"},
	{"cmd/trustnode"},
}

// sole names the packages that alone may import a module.
var sole = map[string][]string{
	"github.com/libp2p/":                        {"federation/p2p"},
	"github.com/dgraph-io/badger/":              {"node/store"},
	"github.com/hyperledger/aries-framework-go": {"did/interop", "did/keys"},
	"github.com/multiformats/go-multibase":      {"did"},
	"github.com/danielgtaylor/huma/":            {"node/httpapi"},
	"github.com/modelcontextprotocol/go-sdk":    {"node/mcp"},
	"filippo.io/torchwood":                      {"attestation/log"},
	"github.com/klauspost/compress":             {"node/vault", "node/memory"},
	"github.com/transparency-dev/merkle":        {"attestation/log"},
}

// top is all that may stand at the top level, dotfiles apart.
var top = []string{"LICENSE", "CHANGELOG.md", "README.md", "go.mod", "go.sum", "attestation", "cmd", "did", "docs", "federation", "mediation", "node", "scripts", "testnet"}

const module = "trustnode/"

type source struct {
	path, pkg string // path from the root, package directory from the root
	test      bool
	file      *ast.File
}

func read(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var all []source
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		all = append(all, source{rel, filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(p, "_test.go"), f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func rank(pkg string) int {
	return slices.IndexFunc(layers, func(row []string) bool { return slices.Contains(row, pkg) })
}

// suites are packages of tests: exported suites and checks. They are in no layer.
func suites(pkg string) bool {
	return pkg == "scripts" || strings.HasSuffix(pkg, "test") || strings.Contains(pkg, "/examples/")
}

func TestImportsPointDown(t *testing.T) {
	for _, s := range read(t) {
		if s.test || suites(s.pkg) {
			continue
		}
		from := rank(s.pkg)
		if from < 0 {
			t.Errorf("%s: package %s is not in the list of layers", s.path, s.pkg)
			continue
		}
		for _, imp := range s.file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			to, ours := strings.CutPrefix(path, module)
			if ours && rank(to) >= from {
				t.Errorf("%s: %s imports %s, which is not below it", s.path, s.pkg, to)
			}
		}
	}
}

// TestSoleImporters is identity I-23 (aries in its two packages).
func TestSoleImporters(t *testing.T) {
	for _, s := range read(t) {
		if s.test {
			continue
		}
		for _, imp := range s.file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			for prefix, may := range sole {
				if strings.HasPrefix(path, prefix) && !slices.Contains(may, s.pkg) {
					t.Errorf("%s: only %v may import %s", s.path, may, path)
				}
			}
		}
	}
}

// keysMay lists who may hold private keys.
var keysMay = []string{"node/daemon", "node/self", "testnet"}

// TestPrivateKeysStayWhereTheyBelong is identity I-23 (did/keys where it is named).
func TestPrivateKeysStayWhereTheyBelong(t *testing.T) {
	for _, s := range read(t) {
		if s.test || suites(s.pkg) {
			continue
		}
		for _, imp := range s.file.Imports {
			if imp.Path.Value == strconv.Quote(module+"did/keys") && !slices.Contains(keysMay, s.pkg) {
				t.Errorf("%s: %s may not import did/keys", s.path, s.pkg)
			}
		}
	}
}

// jsonMay lists who may use encoding/json: answers and files that decide nothing.
var jsonMay = []string{"node/fault", "node/httpapi", "cmd/trustnode", "testnet", "node/store", "did/keys", "did/interop"}

func TestEncodingJSONDecodesNothingSigned(t *testing.T) {
	for _, s := range read(t) {
		if s.test || suites(s.pkg) {
			continue
		}
		for _, imp := range s.file.Imports {
			if imp.Path.Value == `"encoding/json"` && !slices.Contains(jsonMay, s.pkg) {
				t.Errorf("%s: %s may not import encoding/json", s.path, s.pkg)
			}
		}
	}
}

func TestEachPackageSaysWhatItAnswers(t *testing.T) {
	doc := map[string]bool{}
	for _, s := range read(t) {
		if !s.test {
			doc[s.pkg] = doc[s.pkg] || s.file.Doc != nil
		}
	}
	for pkg, ok := range doc {
		if !ok {
			t.Errorf("%s: no package comment", pkg)
		}
	}
}

// TestEd25519IsCheckedInOnePlace keeps every signature verdict in did, where small
// keys and foreign S values are refused first.
func TestEd25519IsCheckedInOnePlace(t *testing.T) {
	for _, s := range read(t) {
		if s.test || s.pkg == "did" || suites(s.pkg) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if ok && x.Name == "ed25519" && strings.HasPrefix(sel.Sel.Name, "Verify") {
				t.Errorf("%s: calls ed25519.%s; use did.PublicKey.Verify", s.path, sel.Sel.Name)
			}
			return true
		})
	}
}

// TestNoVerdictIsABareBool is identity I-23.
func TestNoVerdictIsABareBool(t *testing.T) {
	for _, s := range read(t) {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || !strings.HasPrefix(f.Name.Name, "Verify") || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
				continue
			}
			if id, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && id.Name == "bool" {
				t.Errorf("%s: %s answers a question of trust with a bare bool", s.path, f.Name.Name)
			}
		}
	}
}

func TestTopLevelIsAsAgreed(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		built := e.Name() == "bin" || e.Name() == "trustnode" // named in .gitignore
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(top, e.Name()) && !built {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}
