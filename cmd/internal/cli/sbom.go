package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
)

func sbomCommand(a *app.App) *cobra.Command {
	var dir, format string
	c := &cobra.Command{
		Use:     "sbom",
		Short:   "Print a software bill of materials of what is locked",
		Example: "\n--format spdx",
		Long: `Print a software bill of materials (SBOM) of all that hallmark.lock pins: servers and facets,
the packages of each server with all that they depend on, images, executables and files.
It is a document of CycloneDX 1.6, or with '--format spdx' of SPDX 2.3, in JSON.

The files beside the lock are compared with it first. Nothing is fetched or started. The same
lock gives the same document, so no time is in it, unless SOURCE_DATE_EPOCH says which; SPDX
demands one, and has 1970-01-01 then.`,
		Args: app.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains(check.SBOMFormats(), format) {
				return app.Usage(c, fmt.Errorf("--format %+q is none of %s", format,
					strings.Join(check.SBOMFormats(), ", ")))
			}
			created, err := sourceDate(os.Getenv("SOURCE_DATE_EPOCH"))
			if err != nil {
				return err
			}
			h, err := a.Host(dir)
			if err != nil {
				return err
			}
			locked, err := check.ReadLocked(c.Context(), h, dir)
			if err != nil {
				return err
			}
			document, err := check.MakeSBOM(format, check.SBOMInput{Project: locked.Project, Lock: locked.Lock,
				Closures: locked.Closures, Unlocked: locked.Unlocked, Release: program.Release(), Created: created})
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(document)
			return err
		},
	}
	addProjectFlags(a, c, &dir, false)
	c.Flags().StringVar(&format, "format", "cyclonedx", "the `format`: "+strings.Join(check.SBOMFormats(), " or "))
	_ = c.RegisterFlagCompletionFunc("format", // which is a flag of c
		cobra.FixedCompletions(check.SBOMFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// sourceDate reads the variable by which reproducible builds are told their time: seconds since 1970. It is zero if
// text is "".
func sourceDate(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if t := time.Unix(seconds, 0); err == nil && seconds >= 0 && t.UTC().Year() <= 9999 {
		return t, nil
	}
	return time.Time{}, evidence.Errorf(evidence.Validation, "SOURCE_DATE_EPOCH",
		"unset it, or give seconds since 1970", errors.New("is no number of seconds"))
}
