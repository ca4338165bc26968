// Verifies the export of an audit log with golang.org/x/mod/sumdb/{note,tlog}: code that is not ours, in a language
// that is not ours. Each folder that is named is one log: its checkpoint is opened with the keys beside it, every
// tile is authenticated against it, every entry against its tile, and every opening against its entry. Prints one line of
// JSON a folder.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Tiles of this height (c2sp.org/tlog-tiles).
const height = 8
const width = 1 << height

func main() {
	log.SetFlags(0)
	for _, folder := range os.Args[1:] {
		size, erased := verify(folder)
		fmt.Printf("{\"folder\":%q,\"size\":%d,\"erased\":%d}\n", folder, size, erased)
	}
}

func verify(folder string) (size int64, erased int) {
	tree := openCheckpoint(folder)
	reader := tlog.TileHashReader(tree, &tiles{folder})
	entries := readEntries(folder, tree.N)

	// The root once more, from the entries alone.
	var stored []tlog.Hash
	at := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var found []tlog.Hash
		for _, index := range indexes {
			found = append(found, stored[index])
		}
		return found, nil
	})
	for n, entry := range entries {
		hashes, err := tlog.StoredHashes(int64(n), entry, at)
		check(err)
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(tree.N, at)
	check(err)
	if root != tree.Hash {
		log.Fatalf("%s: the entries have the root %v, the checkpoint %v", folder, root, tree.Hash)
	}

	for n, entry := range entries {
		hashes, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(n))})
		check(err)
		if hashes[0] != tlog.RecordHash(entry) {
			log.Fatalf("%s: entry %d is not the one of its tile", folder, n)
		}
	}

	// Proofs, of entries and between sizes, from the tiles.
	for n := int64(0); n < tree.N; n += 1 + tree.N/50 {
		proof, err := tlog.ProveRecord(tree.N, n, reader)
		check(err)
		check(tlog.CheckRecord(proof, tree.N, tree.Hash, n, tlog.RecordHash(entries[n])))
		older, err := tlog.TreeHash(n+1, at)
		check(err)
		consistency, err := tlog.ProveTree(tree.N, n+1, reader)
		check(err)
		check(tlog.CheckTree(consistency, tree.N, tree.Hash, n+1, older))
	}
	return tree.N, verifyOpenings(folder, entries)
}

// Opens the checkpoint with the keys of Ed25519: those that this library knows.
func openCheckpoint(folder string) tlog.Tree {
	keys, err := os.ReadFile(filepath.Join(folder, "keys"))
	check(err)
	var verifiers []note.Verifier
	for _, key := range strings.Fields(string(keys)) {
		if verifier, err := note.NewVerifier(key); err == nil {
			verifiers = append(verifiers, verifier)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	check(err)
	opened, err := note.Open(text, note.VerifierList(verifiers...))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != opened.Sigs[0].Name {
		log.Fatalf("%s: the checkpoint is not one of its log", folder)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	return tlog.Tree{N: size, Hash: root}
}

type tiles struct{ folder string }

func (t *tiles) Height() int                    { return height }
func (t *tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t *tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range wanted {
		// The path of a Go tile begins with its height, which C2SP's is without.
		path := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
		bytes, err := os.ReadFile(filepath.Join(t.folder, path))
		if err != nil {
			return nil, err
		}
		found = append(found, bytes)
	}
	return found, nil
}

func readEntries(folder string, size int64) [][]byte {
	var entries [][]byte
	for n := int64(0); n*width < size; n++ {
		tile := tlog.Tile{H: height, L: -1, N: n, W: width}
		if size < (n+1)*width {
			tile.W = int(size - n*width)
		}
		path := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/data/", height), "tile/entries/", 1)
		bundle, err := os.ReadFile(filepath.Join(folder, path))
		check(err)
		for len(bundle) > 0 {
			length := int(binary.BigEndian.Uint16(bundle))
			entries = append(entries, bundle[2:2+length])
			bundle = bundle[2+length:]
		}
	}
	if int64(len(entries)) != size {
		log.Fatalf("%s: %d entries of %d", folder, len(entries), size)
	}
	return entries
}

// An opening says what an entry commits to, or that it was erased.
type opening struct {
	Index  int64
	Salt   string
	Text   string
	Erased bool
}

func verifyOpenings(folder string, entries [][]byte) (erased int) {
	next := int64(0)
	for n := 0; n*width < len(entries); n++ {
		bytesOf, err := os.ReadFile(filepath.Join(folder, "openings", fmt.Sprintf("%d.jsonl", n)))
		check(err)
		lines := bufio.NewScanner(bytes.NewReader(bytesOf))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var each opening
			check(json.Unmarshal(lines.Bytes(), &each))
			if each.Index != next {
				log.Fatalf("%s: opening %d stands where %d should", folder, each.Index, next)
			}
			if each.Erased {
				erased++
			} else {
				salt, err := base64.StdEncoding.DecodeString(each.Salt)
				check(err)
				committed := sha256.Sum256([]byte("pinfold audit entry v1\n" + string(salt) + each.Text))
				if len(salt) != 32 || !bytes.Equal(entries[next], append([]byte{1}, committed[:]...)) {
					log.Fatalf("%s: opening %d is not what its entry commits to", folder, next)
				}
			}
			next++
		}
	}
	if next != int64(len(entries)) {
		log.Fatalf("%s: %d openings of %d", folder, next, len(entries))
	}
	return erased
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
