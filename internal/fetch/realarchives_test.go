package fetch

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// realArchives are widely used packages of several ages, made by different tools.
var realArchives = strings.Fields(`
	pypi:certifi==2024.2.2/certifi-2024.2.2-py3-none-any.whl
	pypi:requests==2.31.0/requests-2.31.0-py3-none-any.whl
	pypi:six==1.16.0/six-1.16.0-py2.py3-none-any.whl
	pypi:attrs==23.2.0/attrs-23.2.0-py3-none-any.whl
	pypi:click==8.1.7/click-8.1.7-py3-none-any.whl
	pypi:colorama==0.4.6/colorama-0.4.6-py2.py3-none-any.whl
	pypi:idna==3.6/idna-3.6-py3-none-any.whl
	pypi:iniconfig==2.0.0/iniconfig-2.0.0-py3-none-any.whl
	pypi:itsdangerous==2.1.2/itsdangerous-2.1.2-py3-none-any.whl
	pypi:jinja2==3.1.3/Jinja2-3.1.3-py3-none-any.whl
	pypi:jsonschema==4.21.1/jsonschema-4.21.1-py3-none-any.whl
	pypi:packaging==24.0/packaging-24.0-py3-none-any.whl
	pypi:pluggy==1.4.0/pluggy-1.4.0-py3-none-any.whl
	pypi:python-dateutil==2.8.2/python_dateutil-2.8.2-py2.py3-none-any.whl
	pypi:typing-extensions==4.10.0/typing_extensions-4.10.0-py3-none-any.whl
	pypi:urllib3==1.26.18/urllib3-1.26.18-py2.py3-none-any.whl
	pypi:wheel==0.43.0/wheel-0.43.0-py3-none-any.whl
	pypi:zipp==3.18.1/zipp-3.18.1-py3-none-any.whl
	pypi:httpx==0.27.0/httpx-0.27.0-py3-none-any.whl
	pypi:rpds-py==0.18.0/rpds_py-0.18.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
	npm:chalk@4.1.2 npm:commander@9.5.0 npm:debug@4.3.4 npm:express@4.18.2 npm:inherits@2.0.4
	npm:is-number@7.0.0 npm:left-pad@1.3.0 npm:lodash@4.17.21 npm:minimatch@3.1.2 npm:mkdirp@0.5.6
	npm:once@1.4.0 npm:react@18.2.0 npm:request@2.88.2 npm:semver@7.5.4 npm:tslib@2.6.2
	npm:https-proxy-agent@7.0.6 npm:agent-base@7.1.3 npm:agent-base@7.1.0 npm:http-proxy-agent@7.0.2
	npm:underscore@1.13.6 npm:uuid@9.0.1 npm:wrappy@1.0.2 npm:ws@8.16.0 npm:yargs@17.7.2
	cargo:anyhow@1.0.82 cargo:autocfg@1.2.0 cargo:base64@0.22.0 cargo:bitflags@2.5.0 cargo:cfg-if@1.0.0
	cargo:either@1.11.0 cargo:fnv@1.0.7 cargo:hex@0.4.3 cargo:itoa@1.0.0 cargo:lazy_static@1.4.0
	cargo:log@0.4.21 cargo:memchr@2.7.2 cargo:once_cell@1.19.0 cargo:proc-macro2@1.0.81 cargo:quote@1.0.36
	cargo:ryu@1.0.17 cargo:semver@1.0.22 cargo:serde@1.0.200 cargo:smallvec@1.13.2 cargo:unicode-ident@1.0.12`)

// refusedArchives are those that are refused, and why that is right.
var refusedArchives = map[string]string{}

// TestRealArchives needs the network: it reads packages of the user's own registries to
// their last byte, by the rules for archives that are unpacked anywhere. None is refused but those
// that the table explains.
func TestRealArchives(t *testing.T) {
	c := realClient(t)
	var group errgroup.Group
	group.SetLimit(8)
	if len(realArchives) < 60 {
		t.Errorf("%d archives only", len(realArchives))
	}
	for _, name := range realArchives {
		group.Go(func() error {
			ref := mustRef(t, name)
			d, err := c.Fetch(t.Context(), ref)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return nil
			}
			defer d.Close()
			err = readRealArchive(d.Path(), ref, strings.HasSuffix(name, ".whl"))
			why, explained := refusedArchives[name]
			if _, refused := errors.AsType[*archive.Error](err); refused != explained || err != nil && !refused {
				t.Errorf("%s: %v; the table says %q", name, err, why)
			}
			return nil
		})
	}
	group.Wait()
}

func readRealArchive(name string, ref artifact.Ref, zip bool) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if !zip {
		_, err := archive.Walk(f, archive.TarGzip, archive.Limits{},
			func(archive.Entry, io.Reader) error { return nil })
		return err
	}
	if _, err := ReadWheel(name, ref); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	files, open, err := archive.OpenZip(f, info.Size(), archive.Limits{})
	for _, file := range files {
		r, err := open(file.Path)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return err
		}
	}
	return err
}
