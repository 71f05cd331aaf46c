package launcher

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// wrapperReader returns what reads the arguments of a program that starts the one that they
// name, or nil if name is no such program.
func wrapperReader(name string) func(name string, words []word, depth int) Target {
	switch name {
	case "env":
		return readEnv
	case "cmd":
		return readWindowsShell
	}
	return nil
}

// starters start another program too, by rules that are not implemented: they make a line
// opaque.
var starters = []string{"powershell", "pwsh", "fish", "sudo", "doas", "su", "nice", "ionice", "nohup", "setsid",
	"timeout", "time", "stdbuf", "xargs", "exec", "chroot", "unshare", "nsenter", "flatpak", "snap", "tsx",
	"ts-node", "nodemon", "poetry", "pdm", "hatch", "rye", "pixi", "conda", "mamba", "micromamba", "mise",
	"asdf", "volta", "fnm", "nvm", "direnv", "nix", "nix-shell", "busybox", "wine", "wsl", "cargo", "just",
	"make", "task", "ssh", "op", "doppler", "infisical", "dotenv", "dotenvx", "with-env", "npm-run-all", "thv", "jbang",
	"smithery", "devbox", "devenv", "flox", "pkgx", "pipenv", "ddev", "lando", "distrobox", "aws-vault", "env-cmd",
	"cross-env", "vite-node", "xcrun", "systemd-run", "firejail", "bwrap", "winpty"}

// scriptRunners are packages that do nothing but run the script which their arguments name.
var scriptRunners = []string{"tsx", "ts-node", "vite-node", "mcp", "fastmcp"}

// serversThemselves are the starters that are a server where their first argument is this command of theirs.
var serversThemselves = map[string]string{"devbox": "mcp", "mise": "mcp"}

// fetchers start another program in the same way, which they download. "container" alone, as an argument of another
// program, is a word of English.
var fetchers = []string{"thv", "container", "jbang", "smithery", "nix", "nix-shell", "pkgx"}

// shells are the starters that parse a command line by a syntax of their own.
var shells = []string{"powershell", "pwsh", "fish", "wsl"}

// loaderVariables are environment variables that make a program load other code than its own.
// Caches of compiled code are among them: what they hold is run in place of the source.
var loaderVariables = strings.Fields(`NODE_OPTIONS NODE_PATH NODE_COMPILE_CACHE NODE_REPL_EXTERNAL_MODULE
	TS_NODE_REQUIRE
	BUN_OPTIONS BUN_INSPECT_PRELOAD BUN_INSTALL BUN_RUNTIME_TRANSPILER_CACHE_PATH DENO_DIR 
	PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONPYCACHEPREFIX PYTHONUSERBASE PYTHONEXECUTABLE PYTHONPLATLIBDIR
	PYTHONINSPECT PYTHONBREAKPOINT PYTHONCASEOK
	PYTHONWARNINGS PYTHON_FROZEN_MODULES PYTHON_PRESITE __PYVENV_LAUNCHER__
	PERLLIB PERL5LIB PERL5OPT PERL5DB PERL_MB_OPT PERL_MM_OPT RUBYOPT RUBYLIB RUBYPATH RUBYSHELL GEM_HOME GEM_PATH
	BUNDLE_GEMFILE BUNDLE_PATH
	JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS JAVA_OPTS CLASSPATH IBM_JAVA_OPTIONS OPENJ9_JAVA_OPTIONS
	BASH_ENV ENV ZDOTDIR PROMPT_COMMAND BASHOPTS SHELLOPTS PS4 FPATH
	LUA_INIT LUA_PATH LUA_CPATH LUAJIT_OPTIONS PHPRC PHP_INI_SCAN_DIR
	MONO_PATH MONO_CONFIG MONO_GAC_PREFIX MONO_ENV_OPTIONS
	R_HOME R_LIBS R_LIBS_USER R_LIBS_SITE R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER R_DEFAULT_PACKAGES
	TCLLIBPATH TCL_LIBRARY TK_LIBRARY TCL8_5_TM_PATH TCL8_6_TM_PATH TCL9_0_TM_PATH
	JULIA_LOAD_PATH JULIA_DEPOT_PATH JULIA_PROJECT JULIA_BINDIR JULIA_EDITOR
	GUILE_LOAD_PATH GUILE_LOAD_COMPILED_PATH GUILE_SYSTEM_PATH GUILE_SYSTEM_COMPILED_PATH GUILE_EXTENSIONS_PATH
	GUILE_SYSTEM_EXTENSIONS_PATH
	PLTCOLLECTS PLTADDONDIR PLTCONFIGDIR PLTUSERHOME PLTCOMPILEDROOTS SBCL_HOME CHICKEN_REPOSITORY_PATH
	CHICKEN_INCLUDE_PATH
	ERL_LIBS ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ERL_INETRC ELIXIR_ERL_OPTIONS ELIXIR_ERL_FLAGS MIX_EXS GHCRTS
	OCAMLRUNPARAM CAML_LD_LIBRARY_PATH CAMLRUNPARAM RAKULIB
	AWKPATH AWKLIBPATH VIMINIT EXINIT VIMRUNTIME MYVIMRC GVIMINIT EMACSLOADPATH EMACSDATA 
	GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER
	GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR
	LESSOPEN LESSCLOSE MANPAGER SSH_ASKPASS SUDO_ASKPASS RSYNC_RSH CVS_RSH SVN_SSH
	MAKEFLAGS GNUMAKEFLAGS MAKEFILES RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_HOME RUSTUP_HOME
	RUSTUP_TOOLCHAIN
	GOFLAGS GOROOT GOTOOLDIR GOTOOLCHAIN
	GCONV_PATH GLIBC_TUNABLES LOCPATH NLSPATH GETCONF_DIR 
	GI_TYPELIB_PATH GIO_EXTRA_MODULES GIO_MODULE_DIR GTK_MODULES GTK_PATH GTK3_MODULES GDK_PIXBUF_MODULE_FILE
	GDK_PIXBUF_MODULEDIR
	GST_PLUGIN_PATH GST_PLUGIN_PATH_1_0 GST_PLUGIN_SYSTEM_PATH GST_PLUGIN_SYSTEM_PATH_1_0 GST_PLUGIN_SCANNER
	GST_REGISTRY
	QT_PLUGIN_PATH QT_QPA_PLATFORM_PLUGIN_PATH QML_IMPORT_PATH QML2_IMPORT_PATH QML_PLUGIN_PATH
	LIBGL_DRIVERS_PATH LIBVA_DRIVERS_PATH VDPAU_DRIVER_PATH VK_ICD_FILENAMES VK_DRIVER_FILES VK_ADD_DRIVER_FILES
	VK_LAYER_PATH VK_ADD_LAYER_PATH VK_IMPLICIT_LAYER_PATH
	OCL_ICD_VENDORS OCL_ICD_FILENAMES
	OPENSSL_CONF OPENSSL_CONF_INCLUDE OPENSSL_ENGINES OPENSSL_MODULES SASL_PATH SASL_CONF_PATH KRB5_CONFIG P11_KIT_CONF
	PKCS11_MODULE_PATH
	MAGICK_CONFIGURE_PATH MAGICK_CODER_MODULE_PATH MAGICK_CODER_FILTER_PATH GS_LIB GS_OPTIONS GDAL_DRIVER_PATH
	GDAL_PYTHON_DRIVER_PATH 
	ALSA_CONFIG_PATH LADSPA_PATH COMPLUS_PROFILER`)

// loaderPrefixes begin the names of whole families: the dynamic linkers' own, and settings
// that programs start or load by.
var loaderPrefixes = []string{"LD_", "DYLD_", "GIT_CONFIG", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS",
	"DOTNET_SHARED_STORE", "DOTNET_ROOT", "DOTNET_HOSTFXR_", "DOTNET_HOSTPOLICY_", "CORECLR_", "COR_",
	"COREHOST_", "BASH_FUNC_", "PYTHON_JIT", "NPM_CONFIG_", "COREPACK_", "LUA_INIT_", "LUA_PATH_", "LUA_CPATH_"}

// ChangesLoading reports whether an environment variable makes programs load other code
// than their own.
func ChangesLoading(name string) bool {
	upper := strings.ToUpper(name)
	begins := func(prefix string) bool { return strings.HasPrefix(upper, prefix) }
	return slices.Contains(loaderVariables, upper) || slices.ContainsFunc(loaderPrefixes, begins)
}

var assignmentRE = spelling.Form(`^([A-Za-z_][A-Za-z0-9_]*)=`)

// skipAssignments returns the words behind leading NAME=VALUE words; bad is the first name
// among them that changes what is run.
func skipAssignments(words []word) (rest []word, bad string) {
	for len(words) > 0 {
		m := assignmentRE().FindStringSubmatch(words[0].text)
		if m == nil {
			break
		}
		if ChangesLoading(m[1]) || strings.EqualFold(m[1], "PATH") {
			return words, m[1]
		}
		words = words[1:]
	}
	return words, ""
}

// readWrapped reads the command that a wrapper starts: the first of words. adds says that the wrapper does more than
// that.
func readWrapped(wrapper string, words []word, depth int, adds bool) Target {
	if len(words) == 0 || words[0].text == "" {
		return opaqueTarget(wrapper, wrapper+" without a command", nil)
	}
	t := parse(words[0].text, words[1:], depth+1)
	if t.Launcher == "" {
		t.File = words[0].text
	}
	if t.Wrapper != "cmd" {
		t.inner = texts(words)
	}
	t.Wrapper, t.Direct, t.adds = wrapper, false, t.adds || adds
	return t
}

var envOptions = grammar{flags: []string{"-i", "-", "--ignore-environment"},
	values: []string{"-u", "--unset", "-C", "--chdir"}}

func readEnv(name string, words []word, depth int) Target {
	_, rest, unknown := envOptions.readOptions(words)
	if unknown != "" {
		return opaqueTarget(name, unknownOption(name, unknown), words)
	}
	rest, bad := skipAssignments(rest)
	adds := len(rest) < len(words)
	if bad != "" {
		return opaqueTarget(name, "env starts another program and sets "+bad+", which changes what is run", words)
	}
	return readWrapped(name, rest, depth, adds)
}

// readWindowsShell reads what follows cmd: "/c" and a command, in words or as one line.
func readWindowsShell(name string, words []word, depth int) Target {
	whole := words
	for len(words) > 0 && slices.Contains([]string{"/d", "/s", "/q", "/u", "/a"}, strings.ToLower(words[0].text)) {
		words = words[1:]
	}
	t := opaqueTarget(name, "cmd reads a line that is more than one plain command", whole)
	t.Shell = true
	if len(words) > 0 && strings.ToLower(words[0].text) == "/k" {
		t.Opaque = "cmd /k is more than one plain command: it reads others from its input afterwards; write /c"
	}
	if len(words) < 2 || strings.ToLower(words[0].text) != "/c" {
		return t
	}
	words = words[1:]
	for _, w := range words {
		if strings.ContainsAny(w.text, "&|<>^%!\"\r\n()") {
			return t
		}
	}
	if len(words) == 1 && strings.ContainsRune(words[0].text, ' ') {
		line := words[0]
		words = nil
		start := line.at.start
		for text := range strings.SplitSeq(line.text, " ") {
			if end := start + len(text); text != "" {
				words = append(words, word{text, place{line.at.arg, start, end, true}})
			}
			start += len(text) + 1
		}
	}
	return readWrapped(name, words, depth, false)
}

// hasCommandOption reports whether a POSIX shell is given a line rather than a file: -c alone
// or among other short options.
func hasCommandOption(words []word) bool {
	for _, w := range words {
		if len(w.text) < 2 || w.text[0] != '-' || w.text[1] == '-' {
			return false
		}
		if strings.ContainsRune(w.text, 'c') {
			return true
		}
	}
	return false
}

// readShell reads "sh -c LINE" where LINE is one simple command.
func readShell(name string, words []word, depth int) Target {
	t := opaqueTarget(name, "the option -c of "+name+" runs a shell line that is more than one simple command", words)
	t.Shell = true
	// A login shell (-l) or an interactive one (-i) runs the user's own startup files first;
	// they are the machine's, not the line's.
	if len(words) != 2 || strings.Trim(words[0].text[1:], "ceulif") != "" {
		return t
	}
	line, ok := splitSimpleCommand(words[1])
	if !ok {
		return t
	}
	whole := len(line)
	line, bad := skipAssignments(line)
	adds := len(line) < whole
	if bad != "" {
		return t.unread("the shell line sets " + bad + ", which changes what is run")
	}
	if len(line) > 0 && line[0].text == "exec" {
		line = line[1:]
	}
	if len(line) == 0 || slices.Contains(builtins, line[0].text) || strings.HasPrefix(line[0].text, "-") {
		return t
	}
	return readWrapped("sh", line, depth, adds)
}

// builtins are words for which a shell does something other than start the program of that
// name.
var builtins = []string{"exec", "command", "builtin", "eval", ".", "source", "cd", "export", "set", "alias", "trap",
	"if", "while", "until", "for", "case", "function", "time", "test", "[", "[[", "!", "nohup", "wait", "coproc",
	"select"}

// isShellSpecial reports whether a shell may not take r for itself outside quotes.
func isShellSpecial(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("@%+=:,./_-", r) || r > 0x7f)
}

// splitSimpleCommand cuts a shell line into words. It reports false unless the line is one
// simple command without expansions.
func splitSimpleCommand(w word) (words []word, ok bool) {
	s := w.text
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		start := i
		var b strings.Builder
	text:
		for i < len(s) {
			switch c := s[i]; c {
			case ' ', '\t':
				break text
			case '\'', '"':
				end := strings.IndexByte(s[i+1:], c)
				if end < 0 || c == '"' && strings.ContainsAny(s[i+1:i+1+end], "$`\\!") {
					return nil, false
				}
				b.WriteString(s[i+1 : i+1+end])
				i += end + 2
			default:
				if isShellSpecial(rune(c)) && c < 0x80 && c != '^' {
					return nil, false
				}
				b.WriteByte(c)
				i++
			}
		}
		words = append(words, word{b.String(), place{w.at.arg, w.at.start + start, w.at.start + i, true}})
	}
	return words, len(words) > 0
}

// quote prints text from outside.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
