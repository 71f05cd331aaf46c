package program

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

const (
	helpColumns = 80 // of help that goes to a file or a pipe
	minColumns  = 40 // of a terminal that says it has fewer
	maxColumns  = 100
	maxLabel    = 28 // columns of a flag or command, past which its text begins on the next line
)

// addHelp gives a program its help: the flag, the command, and the program's name in examples.
func addHelp(root *cobra.Command) {
	root.SetHelpFunc(showHelp)
	help := helpCommand()
	if root.ContainsGroup("other") {
		help.GroupID = "other"
	}
	root.SetHelpCommand(help)
	nameExamples(root)
}

// Annotations of a program with many commands: without one it shows the first ones, and 'help TOPIC' those of a group.
const (
	firstAnnotation = "first"  // names of commands, in their order
	topicAnnotation = "topics" // "TOPIC=GROUP" of each topic
)

// SetFrontPage makes root, without a command, show those called first, in that order, and 'help TOPIC' those of a
// group, of all groups with 'help all'. topics are "TOPIC=GROUP", in their order.
func SetFrontPage(root *cobra.Command, first, topics []string) {
	root.Annotations = map[string]string{firstAnnotation: strings.Join(first, " "),
		topicAnnotation: strings.Join(topics, " ")}
	root.RunE = func(c *cobra.Command, _ []string) error {
		_, err := io.WriteString(c.OutOrStdout(), frontPage(c, columnsOf(c)))
		return err
	}
}

// frontPage returns what a program with a front page shows without a command.
func frontPage(c *cobra.Command, columns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s COMMAND\n", strings.Join(wrapText(c.Long, columns), "\n"), c.CommandPath())
	writeFirst(&b, c, strings.Fields(c.Annotations[firstAnnotation]), columns)
	for _, more := range []string{
		"More commands: '" + c.CommandPath() + " help " + strings.Join(topicNames(c), "|") + "'.",
		"'" + c.CommandPath() + " COMMAND --help' tells more about a command.",
	} {
		b.WriteString("\n" + strings.Join(wrapText(more, columns), "\n"))
	}
	return b.String() + "\n"
}

// topicGroup returns the group of a topic of root. ok is false if it has no such topic; the group of "all" is "".
func topicGroup(root *cobra.Command, topic string) (group string, ok bool) {
	for _, t := range strings.Fields(root.Annotations[topicAnnotation]) {
		if name, group, _ := strings.Cut(t, "="); name == topic {
			return group, true
		}
	}
	return "", topic == "all" && root.Annotations[topicAnnotation] != ""
}

// topicNames returns the names of root's topics.
func topicNames(root *cobra.Command) (names []string) {
	for _, t := range strings.Fields(root.Annotations[topicAnnotation]) {
		name, _, _ := strings.Cut(t, "=")
		names = append(names, name)
	}
	if names != nil {
		names = append(names, "all")
	}
	return names
}

// columnsOf returns how wide help may be on what c prints to.
func columnsOf(c *cobra.Command) int {
	if f, ok := c.OutOrStdout().(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return min(max(n, minColumns), maxColumns)
		}
	}
	return helpColumns
}

// showHelp prints the help of a command, no line wider than the terminal.
func showHelp(c *cobra.Command, _ []string) {
	io.WriteString(c.OutOrStdout(), Help(c, columnsOf(c)))
}

// helpCommand returns the command help, which shows what --help of another command does.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Show the help of a command, or the commands of a topic",
		RunE: func(c *cobra.Command, names []string) error {
			if len(names) == 1 {
				if group, ok := topicGroup(c.Root(), names[0]); ok {
					_, err := io.WriteString(c.OutOrStdout(), topicHelp(c.Root(), group, columnsOf(c)))
					return err
				}
			}
			if len(names) == 0 && topicNames(c.Root()) != nil {
				return c.Root().RunE(c.Root(), nil)
			}
			of, rest, _ := c.Root().Find(names)
			if len(rest) > 0 {
				return unknownCommand(of, rest[0])
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
		ValidArgsFunction: func(
			c *cobra.Command, names []string, begun string,
		) (found []cobra.Completion, _ cobra.ShellCompDirective) {
			of, rest, err := c.Root().Find(names)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, name := range topicNames(of) {
				if strings.HasPrefix(name, begun) {
					found = append(found, name)
				}
			}
			for _, sub := range of.Commands() {
				if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), begun) {
					found = append(found, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// nameExamples puts the command before each example. Definitions hold only the rest, because a
// command has another name in another program.
func nameExamples(c *cobra.Command) {
	if c.HasExample() {
		var lines []string
		for rest := range strings.SplitSeq(c.Example, "\n") {
			lines = append(lines, strings.TrimRight("  "+c.CommandPath()+" "+rest, " "))
		}
		c.Example = strings.Join(lines, "\n")
	}
	for _, sub := range c.Commands() {
		nameExamples(sub)
	}
}

// Help returns the help of a command in lines of at most so many columns, except longer words and
// examples.
func Help(c *cobra.Command, columns int) string {
	var b strings.Builder
	text := c.Long
	text = cmp.Or(text, c.Short+".")
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.Contains("\n"+paragraph, "\n ") || strings.Contains("\n"+paragraph, "\n\t") {
			b.WriteString(paragraph + "\n\n") // it was laid out
			continue
		}
		b.WriteString(strings.Join(wrapText(paragraph, columns), "\n") + "\n\n")
	}
	use := c.UseLine()
	if c.HasAvailableSubCommands() {
		use = c.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", strings.Join(wrapText(use, columns-4), "\n    "))
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	writeGroups(&b, c, columns)
	writeFlags(&b, "Flags:", c.LocalFlags(), columns)
	writeFlags(&b, "Flags of all these commands:", c.InheritedFlags(), columns)
	if c.HasAvailableSubCommands() {
		more := "'" + c.CommandPath() + " COMMAND --help' tells more about a command."
		b.WriteString("\n" + strings.Join(wrapText(more, columns), "\n") + "\n")
	}
	return b.String()
}

// writeGroups lists the commands of c by their groups.
func writeGroups(b *strings.Builder, c *cobra.Command, columns int) {
	for _, g := range c.Groups() {
		writeCommands(b, g.Title, c, g.ID, columns)
	}
	if !c.AllChildCommandsHaveGroup() {
		writeCommands(b, "Commands:", c, "", columns)
	}
}

// writeFirst lists the commands of c that are called names, in that order.
func writeFirst(b *strings.Builder, c *cobra.Command, names []string, columns int) {
	var labels, texts []string
	for _, name := range names {
		for _, sub := range c.Commands() {
			if sub.Name() == name {
				labels, texts = append(labels, "  "+name), append(texts, sub.Short)
			}
		}
	}
	writeColumns(b, "Commands:", labels, texts, columns)
}

// topicHelp lists the commands of one group of root, of all if group is "".
func topicHelp(root *cobra.Command, group string, columns int) string {
	var b strings.Builder
	if group == "" {
		writeGroups(&b, root, columns)
	}
	for _, g := range root.Groups() {
		if g.ID == group {
			writeCommands(&b, g.Title, root, g.ID, columns)
		}
	}
	more := "'" + root.CommandPath() + " COMMAND --help' tells more about a command."
	b.WriteString("\n" + strings.Join(wrapText(more, columns), "\n") + "\n")
	return strings.TrimPrefix(b.String(), "\n")
}

func writeCommands(b *strings.Builder, title string, c *cobra.Command, group string, columns int) {
	var labels, texts []string
	for _, sub := range c.Commands() {
		if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
			labels = append(labels, fmt.Sprintf("  %-*s", sub.NamePadding(), sub.Name())) // as wide in each group
			texts = append(texts, sub.Short)
		}
	}
	writeColumns(b, title, labels, texts, columns)
}

func writeFlags(b *strings.Builder, title string, flags *pflag.FlagSet, columns int) {
	var labels, texts []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		label := "      --" + f.Name
		if f.Shorthand != "" {
			label = "  -" + f.Shorthand + ", --" + f.Name
		}
		name, text := pflag.UnquoteUsage(f)
		if name != "" {
			label += " " + name
		}
		switch f.DefValue {
		case "", "0", "false", "[]", "0s":
		default:
			text += " (default " + f.DefValue + ")"
		}
		labels, texts = append(labels, label), append(texts, text)
	})
	writeColumns(b, title, labels, texts, columns)
}

// writeColumns prints labels with their texts beside them; the text of a long label follows below.
func writeColumns(b *strings.Builder, title string, labels, texts []string, columns int) {
	if len(labels) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	left := 0
	for _, l := range labels {
		if n := utf8.RuneCountInString(l); n <= maxLabel {
			left = max(left, n)
		}
	}
	indent := strings.Repeat(" ", left+2)
	for i, l := range labels {
		first := "\n" + indent
		if n := utf8.RuneCountInString(l); n <= left {
			first = indent[n:]
		}
		fmt.Fprintf(b, "%s%s%s\n", l, first, strings.Join(wrapText(texts[i], columns-len(indent)), "\n"+indent))
	}
}

// WrapText breaks text between words into lines of at most so many columns.
func WrapText(text string, columns int) []string { return wrapText(text, columns) }

// wrapText breaks text between words into lines of at most so many columns.
func wrapText(text string, columns int) []string {
	var lines []string
	line, width := "", 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if line != "" && width+1+n > columns {
			lines = append(lines, line)
			line, width = "", 0
		}
		if line != "" {
			line += " "
			width++
		}
		line += word
		width += n
	}
	return append(lines, line)
}
