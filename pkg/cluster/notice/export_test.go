package notice

// RunProgram sends an order by a process of its own, and Text returns an answer as a sentence.
var (
	RunProgram = runProgram
	Text       = problemText
)
