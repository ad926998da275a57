package main

import "context"

func doctorMain(ctx context.Context, args []string) error { return nil }
