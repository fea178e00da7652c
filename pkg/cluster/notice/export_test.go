package notice

// RunProgram sends a message by a process of its own, and Text returns an answer as a sentence.
var (
	RunProgram = runProgram
	Text       = problemText
)
