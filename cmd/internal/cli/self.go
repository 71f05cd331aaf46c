package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	prog "github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// releaseKey is the public key of the releases, as minisign writes it. It is empty until the first one.
//
//go:embed release.pub
var releaseKey string

// maxSums bounds a file of checksums.
const maxSums = 1 << 20

func selfCommand(a *app.App) *cobra.Command {
	return app.Group(&cobra.Command{
		Use:   "self",
		Short: "Verify this program, or files of a release",
	}, selfVerifyCommand(a))
}

func selfVerifyCommand(a *app.App) *cobra.Command {
	var sums, key string
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Compare files with the signed checksums of a release",
		Long: `Verify the signature of a release's SHA256SUMS, which SHA256SUMS.minisig holds beside it, and
compare the files with it; without a file, this program. Nothing is fetched: take both files from
the release. The programs of an archive are listed in SHA256SUMS too, by platform.`,
		Example: "hallmark_0.1.0_linux_amd64.tar.gz\n--sums ~/Downloads/SHA256SUMS",
		RunE: a.Reporting(&asJSON, func(_ *cobra.Command, files []string) error {
			if sums == "" {
				sums = "SHA256SUMS"
				if len(files) > 0 {
					sums = filepath.Join(filepath.Dir(files[0]), sums)
				}
			}
			listed, err := readSums(sums, key)
			if err != nil {
				return err
			}
			matched, err := compareRelease(files, listed, sums)
			if asJSON {
				return a.WriteJSON(struct {
					app.Outcome
					Matched []string `json:"matched"`
				}{app.OutcomeOf(policy.Verdict{}, err), matched}, err)
			}
			for _, name := range matched {
				fmt.Fprintln(a.Stdout, "ok ", surface.Escape(name))
			}
			return err
		}),
	}
	c.Flags().StringVar(&sums, "sums", "", "the release's `file` SHA256SUMS (default: beside the first file)")
	c.Flags().StringVar(&key, "key", "",
		"`file` with the public key of the releases (default: the one that this program holds)")
	c.Flags().BoolVar(&asJSON, "json", false, "print what matched as one JSON document")
	return c
}

// readSums returns what a file of checksums lists, by name, once its signature is by the key in the file keyFile,
// or of the releases.
func readSums(name, keyFile string) (map[string]string, error) {
	text, source := releaseKey, "this program"
	if keyFile != "" {
		data, err := readKey(keyFile)
		if err != nil {
			return nil, err
		}
		text, source = string(data), keyFile
	}
	if text == "" {
		return nil, evidence.Errorf(evidence.Signature, name, "name the file with the key of the releases by --key",
			errors.New("this program holds no key of releases, so that nobody's signature can be verified"))
	}
	key, err := plugin.ParsePublicKey(text)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, source, "", err)
	}
	if key.Algorithm() != plugin.Minisign {
		return nil, evidence.Errorf(evidence.Validation, source, "name the file hallmark.pub of the release by --key",
			errors.New("is no key of minisign, which signs releases"))
	}
	data, err := durable.ReadFile(name, maxSums)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, name,
			"take SHA256SUMS from the release, or name it by --sums", err)
	}
	signature, err := durable.ReadFile(name+".minisig", plugin.MaxKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, evidence.Errorf(evidence.Signature, name, "take SHA256SUMS.minisig from the release too",
			fmt.Errorf("is not signed: there is no %s.minisig", name))
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, name+".minisig", "", err)
	}
	if err := key.Verify(plugin.Minisign, data, signature); err != nil {
		return nil, evidence.Errorf(evidence.Signature, name+".minisig",
			"do not use what you downloaded; take it from the release again",
			fmt.Errorf("by key %s: %w", key.ID(), err))
	}
	return parseSums(name, string(data))
}

// parseSums reads lines as sha256sum writes them.
func parseSums(name, text string) (map[string]string, error) {
	listed := map[string]string{}
	for line := range strings.Lines(text) {
		sum, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, twice := listed[file]; !ok || twice {
			return nil, evidence.Errorf(evidence.Validation, name, "",
				fmt.Errorf("no line of sha256sum, or the second of a file: %q", line))
		}
		listed[file] = sum
	}
	return listed, nil
}

// compareRelease compares files, or else this program, with what sums lists, and returns those that match. err is of
// all others.
func compareRelease(files []string, listed map[string]string, sums string) (matched []string, err error) {
	matched = []string{} // in JSON a list
	if len(files) == 0 {
		own, err := os.Executable()
		if err != nil {
			return nil, evidence.Errorf(evidence.Operation, "hallmark", "name the program's file", err)
		}
		files = []string{own}
	}
	var errs []error
	for _, file := range files {
		if err := compareFile(file, listed, sums); err != nil {
			errs = append(errs, err)
		} else {
			matched = append(matched, file)
		}
	}
	return matched, errors.Join(errs...)
}

// compareFile compares a file with what sums lists under its name: as a file of the release, or else as a program of
// this platform.
func compareFile(file string, listed map[string]string, sums string) error {
	name := filepath.Base(file)
	sum, ok := listed[name]
	if !ok {
		sum, ok = listed[runtime.GOOS+"_"+runtime.GOARCH+"/"+name]
	}
	if !ok {
		return evidence.Errorf(evidence.Refused, file, "take the SHA256SUMS of the release that the file is of",
			fmt.Errorf("%s does not list %s", sums, name))
	}
	claim, bad, ok := evidence.ParseClaim(
		evidence.Claim{Subject: file, Scheme: evidence.File, Authority: evidence.Publisher, Where: sums},
		string(digest.SHA256)+":"+sum)
	if !ok {
		return evidence.Errorf(evidence.Validation, sums, "", errors.New(bad.Reason))
	}
	seen, err := prog.HashFile(file)
	if err != nil {
		return evidence.Errorf(evidence.Operation, file, "", err)
	}
	if e := evidence.Compare(claim, seen); e.Outcome != evidence.Match {
		return evidence.Errorf(evidence.Integrity, file, "do not use it; take it from the release again",
			errors.New("sha256 mismatch\n"+strings.TrimSuffix(e.Detail(), "\n")))
	}
	return nil
}
