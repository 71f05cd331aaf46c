package program

// A script is not all that its interpreter runs: python looks for modules beside it before it
// looks among its own, node follows what the script imports and finds packages in every
// directory above. What a locked script may load so is locked with it.

// Script is a program that an interpreter reads.
type Script struct {
	File     string   // after all links
	Language string   // as package launcher calls the interpreter; "" if it is none that it knows
	Words    []string // of the interpreter, before the file
	First    bool     // the #! line of the file names the interpreter
}
