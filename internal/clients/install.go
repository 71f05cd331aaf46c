package clients

// installation is where a client looks for the servers of a project, and how it writes one.
type installation struct {
	files []string // the file is the first that exists, else the first
	key   string   // of the object of servers
	// entry writes an entry that starts command with args.
	entry func(command string, args []string) string
}

// jsonEntry returns a function that writes an object: the members in head, a command and its arguments.
func jsonEntry(head string) func(string, []string) string {
	return func(command string, args []string) string {
		return "{" + head + `"command": ` + Quote(command) + `, "args": ` +
			FormatList(args) + "}"
	}
}

// opencodeEntry writes an object with the command and its arguments as one list.
func opencodeEntry(command string, args []string) string {
	return `{"type": "local", "command": ` + FormatList(append([]string{command}, args...)) + "}"
}

// codexEntry writes the lines of a table of TOML.
func codexEntry(command string, args []string) string {
	return "command = " + Quote(command) + "\nargs = " + FormatList(args) + "\n"
}
