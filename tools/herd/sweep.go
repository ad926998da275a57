package main

import "context"

func sweepMain(ctx context.Context, args []string) error { return nil }
