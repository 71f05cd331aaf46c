package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transparency-dev/formats/log"
	tlogproof "github.com/transparency-dev/formats/proof"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/postgres"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// foreignProof and foreignLog read logs with other people's implementation of the formats:
// nothing of them is ours.

// foreignProof verifies a proof and returns its entry, index and checkpoint.
func foreignProof(text string, key note.Verifier) (entry []byte, index uint64, c *log.Checkpoint, err error) {
	var p tlogproof.TLogProof
	if err := p.Unmarshal([]byte(text)); err != nil {
		return nil, 0, nil, err
	}
	c, _, _, err = log.ParseCheckpoint(p.Checkpoint, key.Name(), key)
	if err != nil {
		return nil, 0, nil, err
	}
	var hashes [][]byte
	for _, h := range p.Hashes {
		hashes = append(hashes, h[:])
	}
	return p.ExtraData, p.Index, c,
		proof.VerifyInclusion(rfc6962.DefaultHasher, p.Index, c.Size, rfc6962.DefaultHasher.HashLeaf(p.ExtraData),
			hashes, c.Hash)
}

// foreignLog reads a whole log, checks it and its level 0 tiles against its checkpoint,
// and returns the entries.
func foreignLog(t *testing.T, base string, key note.Verifier) (entries [][]byte, c *log.Checkpoint) {
	t.Helper()
	read := func(path string) []byte {
		status, body := world.Get(t, base+path)
		if status != http.StatusOK {
			t.Fatalf("%s: %d: %s", path, status, body)
		}
		return body
	}
	c, _, _, err := log.ParseCheckpoint(read("/checkpoint"), key.Name(), key)
	if err != nil {
		t.Fatal(err)
	}
	tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for first := uint64(0); first < c.Size; first += 256 {
		path := fmt.Sprintf("%03d", first/256)
		width := min(256, c.Size-first)
		if width < 256 {
			path += fmt.Sprintf(".p/%d", width)
		}
		bundle, tile := read("/tile/entries/"+path), read("/tile/0/"+path)
		if uint64(len(tile)) != 32*width {
			t.Fatalf("tile %s has %d bytes", path, len(tile))
		}
		for len(bundle) > 0 {
			n := 2 + int(binary.BigEndian.Uint16(bundle))
			entry := bundle[2:n]
			bundle = bundle[n:]
			hash := rfc6962.DefaultHasher.HashLeaf(entry)
			if !bytes.Equal(hash, tile[:32]) {
				t.Errorf("entry %d is not the one of its tile", len(entries))
			}
			tile = tile[32:]
			if err := tree.Append(hash, nil); err != nil {
				t.Fatal(err)
			}
			entries = append(entries, entry)
		}
		if len(tile) != 0 {
			t.Fatalf("%s: fewer entries than hashes", path)
		}
	}
	root, err := tree.GetRootHash(nil)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(len(entries)) != c.Size || !bytes.Equal(root, c.Hash) {
		t.Errorf("the root of %d entries is %x, the checkpoint of %d says %x", len(entries), root, c.Size, c.Hash)
	}
	return entries, c
}

// 64 clients publish through two replicas, of which one is killed. There is one log, and
// each publish that was acknowledged is in it once, where its proof says.
func TestLogOfReplicas(t *testing.T) {
	database, err := postgres.ForTest(t).Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bucket := s3.ForTest(t).URL("registry")
	dir := t.TempDir()
	secret, public, err := note.GenerateKey(rand.Reader, "registry.example.com/log")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "log.key"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	var replicas []*world.Registry
	for i, first := range []string{"--first-log=true", "--first-log=false"} {
		replicas = append(replicas,
			world.StartRegistry(t, "--data", filepath.Join(dir, fmt.Sprint(i)), "--db", database, "--blobs", bucket,
				"--log-key-file", filepath.Join(dir, "log.key"), first, "--validation", "off", "--allow-anonymous"))
	}

	const clients, each = 64, 12
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		acked    atomic.Int64
		killing  sync.Once
		where    = map[string]uint64{} // index by name@version, of what was acknowledged
		answered = map[uint64]*log.Checkpoint{}
	)
	client := &http.Client{Timeout: hang.Long, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for c := range clients {
		wg.Go(func() {
			for n := range each {
				name, version := fmt.Sprintf("io.github.acme/server-%d", c), fmt.Sprintf("1.0.%d", n)
				for try := 0; ; try++ {
					text, err := publishTo(t.Context(), client, replicas[(c+try)%2].URL, remoteServer(name, version))
					if err != nil {
						if try < 20 { // the replica was killed; the other one takes the same again
							time.Sleep(50 * time.Millisecond)
							continue
						}
						t.Errorf("%s@%s: %v", name, version, err)
						return
					}
					entry, index, head, err := foreignProof(text, key)
					if err != nil {
						t.Errorf("%s@%s: %v in %s", name, version, err, text)
						return
					}
					if !strings.Contains(string(entry), fmt.Sprintf(`"name":%q`, name)) ||
						!strings.Contains(string(entry), fmt.Sprintf(`"version":%q`, version)) {
						t.Errorf("%s@%s: the proof is of %s", name, version, entry)
					}
					mu.Lock()
					where[name+"@"+version] = index
					answered[head.Size] = head
					mu.Unlock()
					break
				}
				if acked.Add(1) == clients*each/3 {
					killing.Do(func() { replicas[1].Cmd.Process.Kill() })
				}
			}
		})
	}
	wg.Wait()
	if len(where) != clients*each {
		t.Fatalf("%d of %d acknowledged", len(where), clients*each)
	}

	entries, head := foreignLog(t, replicas[0].URL, key)
	if head.Size != clients*each {
		t.Errorf("%d entries for %d publishes", head.Size, clients*each)
	}
	for i, entry := range entries {
		var leaf struct{ Kind, Name, Version string }
		if err := json.Unmarshal(entry, &leaf); err != nil {
			t.Fatal(err)
		}
		subject := leaf.Name + "@" + leaf.Version
		if index, ok := where[subject]; !ok || index != uint64(i) || leaf.Kind != "server" {
			t.Errorf("entry %d is %s, whose proof says %d", i, subject, index)
		}
		delete(where, subject)
	}
	for subject := range where {
		t.Errorf("%s is not in the log", subject)
	}
	// Each checkpoint that anybody was given is of that one log.
	tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for i, entry := range entries {
		if err := tree.Append(rfc6962.DefaultHasher.HashLeaf(entry), nil); err != nil {
			t.Fatal(err)
		}
		if c, ok := answered[uint64(i)+1]; ok {
			if root, err := tree.GetRootHash(nil); err != nil || !bytes.Equal(root, c.Hash) {
				t.Errorf("the checkpoint of %d entries is of another log: %v", c.Size, err)
			}
		}
	}
	t.Logf("%d checkpoints in the answers to %d publishes", len(answered), clients*each)
}

// publishTo publishes a document and returns the proof in the answer.
func publishTo(ctx context.Context, client *http.Client, base, document string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v0/publish", strings.NewReader(document))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%d: %s", res.StatusCode, body)
	}
	var answer struct {
		Meta struct {
			Integrity struct{ Proof string } `json:"hallmark/integrity"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Meta.Integrity.Proof == "" {
		return "", fmt.Errorf("no proof in %s: %v", body, err)
	}
	return answer.Meta.Integrity.Proof, nil
}

// remoteServer is a server.json that needs no package to be fetched.
func remoteServer(name, version string) string {
	return fmt.Sprintf(`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
"name":%q,"version":%q,"description":"x","remotes":[{"type":"streamable-http","url":"https://notes.example.com/mcp"}]}`, name, version)
}
