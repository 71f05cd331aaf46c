package obtain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

// limitsOf are the limits that flags set and, where they set none, those of hallmark.toml.
func limitsOf(w *workspace.Workspace, flags archive.Limits) archive.Limits {
	of := w.Config.Limits
	return archive.Limits{Packed: cmp.Or(flags.Packed, of.Packed), Unpacked: cmp.Or(flags.Unpacked, of.Unpacked),
		Ratio: cmp.Or(flags.Ratio, of.Ratio), Entries: cmp.Or(flags.Entries, of.Entries), Directory: flags.Directory}
}

// limitError says that a facet is beyond a limit, and keeps the error of the archive.
type limitError struct {
	text string
	err  error
}

func (e *limitError) Error() string { return e.text }

func (e *limitError) Unwrap() error { return e.err }

// explainLimit says of an error about a limit what there is, and how to go on: the line of hallmark.toml that takes the
// facet all the same. Other errors stay as they are. Files are the facet's, nil if they are not known.
func explainLimit(err error, files []tree.File, l archive.Limits) error {
	var e *archive.Error
	if !errors.As(err, &e) {
		return err
	}
	l = l.Effective()
	var size int64
	for _, f := range files {
		size += f.Size
	}
	key, flag, text := "", "", ""
	var now, need, most int64
	switch {
	case e.Problem == archive.ProblemTooLarge && e.Layer == "archive":
		key, flag, now, need, most = "max_packed", "--max-packed", l.Packed, min(size,
			project.MaxLimits.Packed), project.MaxLimits.Packed
		text = fmt.Sprintf("has more than %s bytes as an archive, which is the limit", evidence.Group(now))
	case e.Problem == archive.ProblemTooLarge:
		key, flag, now, need, most = "max_unpacked", "--max-unpacked", l.Unpacked, size, project.MaxLimits.Unpacked
		text = fmt.Sprintf("has more than %s bytes, which is the limit", evidence.Group(now))
	case e.Problem == archive.ProblemTooCompressed: // how far it compresses is not known; the most is no limit
		key, now, need, most = "max_ratio", l.Ratio, project.MaxLimits.Ratio, project.MaxLimits.Ratio
		text = fmt.Sprintf("is more than %s times as large as when it is compressed, which is the limit",
			evidence.Group(now))
	case e.Problem == archive.ProblemTooManyEntries:
		key, now, need, most = "max_files", int64(l.Entries), int64(len(files)), int64(project.MaxLimits.Entries)
		text = fmt.Sprintf("has more than %s files, or directories, which is the limit", evidence.Group(now))
	default:
		return err
	}
	return evidence.Errorf(evidence.Validation, "", limitHint(key, flag, now, need, most),
		&limitError{text + describeFiles(files, size), err})
}

// describeFiles is what there is of files with size bytes in all.
func describeFiles(files []tree.File, size int64) string {
	if len(files) == 0 {
		return ""
	}
	largest := slices.MaxFunc(files, func(a, b tree.File) int { return cmp.Compare(a.Size, b.Size) })
	return fmt.Sprintf("; there are %s with %s bytes, the largest is \"%s\" with %s",
		evidence.Count(len(files), "file"),
		evidence.Group(size), surface.Escape(largest.Path), evidence.Group(largest.Size))
}

// limitHint names the line that sets a limit, which is now, to twice as much until it is enough for what is needed; the
// most that can be set is given.
func limitHint(key, flag string, now, need, most int64) string {
	const less = "leave files out of it, or take a part of it: --sub, --path, --skill"
	if now >= most || need > most {
		return less
	}
	next := min(2*now, most)
	for next < most && next < need+need/64 { // what does not compress grows a little
		next = min(2*next, most)
	}
	hint := fmt.Sprintf("to take it all the same, write '%s = %d' below [limits] in %s", key, next, project.ConfigFile)
	if flag != "" {
		hint += fmt.Sprintf(", or give %s %d this time", flag, next)
	}
	return hint + "; or " + less
}
