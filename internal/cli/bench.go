package cli

type evalCmd struct{}

func (evalCmd) Run(*env) error { return nil }

type benchCmd struct{}

func (benchCmd) Run(*env) error { return nil }
