package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/browserfleet/browserfleet/protocol"
)

type batchCmd struct {
	verb
	File string `arg:"" help:"JSON file with the steps: [{\"kind\":\"fill\",\"args\":{…}}, …]; - reads standard input."`
}

// maxStepsFile is more than a request may have.
const maxStepsFile = 1 << 20

// Run performs several actions as one effect.
func (c *batchCmd) Run(a *app) error {
	in := os.Stdin
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return usageError(err)
		}
		defer file.Close()
		in = file
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxStepsFile))
	if err != nil {
		return fmt.Errorf("read the steps: %w", err)
	}
	args := &protocol.BatchArgs{}
	if err := json.Unmarshal(bytes.TrimSpace(raw), &args.Steps); err != nil {
		return usageError(fmt.Errorf("the steps: %w", err))
	}
	if refused := args.Validate(); refused != nil {
		return usageError(refused)
	}
	return c.run(a, protocol.KindBatch, func(*session) protocol.Args { return args })
}
