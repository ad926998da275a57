package main

import "context"

func watchMain(ctx context.Context, args []string) error { return nil }
