package installed

// form is how a file is written.
type form int

const (
	markdown   form = iota // a front matter of YAML, and the body
	plain                  // the body alone
	agentTOML              // Codex: members, and the body as developer_instructions
	promptTOML             // Gemini CLI: members, and the body as prompt
)

// noun is how a client has the deliverables of one kind in a project.
type noun struct {
	path  string   // of the file, with NAME in it; of a skill its directory; "" if it has none
	page  string   // of the client's documentation that says so
	also  []string // directories in which the client looks besides, as for older names
	reads []string // directories of other clients in which the client looks too
	form  form

	keep  []string // members of a file's own front matter that mean the same to this client
	all   bool     // and all others: the front matter is in this client's words
	needs []string // of name and description, without which the client does not find it
	knows []string // more members that the client documents, which adapters may give
	sets  object   // members that the client gets in any case

	tools   *toolbox // how the client has the tools of an agent; nil if it has not
	args    string   // what the client fills a command's arguments in for, if not $ARGUMENTS; "" if nowhere
	asSkill bool     // commands are installed as skills
	beside  []besides
	readers []string // the adapters that count, in the order in which they do, if several clients read the file
	live    []live   // what the client does with the text when it loads it
	unread  []string // members of such a file for other clients
}

// besides is a file that stands beside a deliverable's own, and is always the same.
type besides struct {
	path string // with NAME in it
	text string
}

// The members that the standard for skills of agents has, which all clients share.
var standard = []string{"name", "description", "license", "compatibility", "metadata"}

var nameAndDescription = []string{"name", "description"}

// argumentsOfClaude is what a command has where its arguments go, in the words of Claude Code.
const argumentsOfClaude = "$ARGUMENTS"
