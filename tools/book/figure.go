package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const figuresDir = "chapters/figures"

// sourceHash is what the SVG keeps of the source that it was drawn from.
func sourceHash(dot []byte) string { return fmt.Sprintf("%x", sha256.Sum256(dot))[:16] }

var sourceAttr = regexp.MustCompile(`<svg [^>]*data-source="([0-9a-f]+)"`)

// loadFigure returns the SVG of a figure if it was drawn from the source that
// lies beside it.
func loadFigure(root, name string) (string, error) {
	redraw := "go run ./tools/book figure " + name
	dot, err := os.ReadFile(filepath.Join(root, figuresDir, name+".dot"))
	if err != nil {
		return "", fmt.Errorf("no %s/%s.dot; write it, then: %s", figuresDir, name, redraw)
	}
	svg, err := os.ReadFile(filepath.Join(root, figuresDir, name+".svg"))
	if err != nil {
		return "", fmt.Errorf("no %s/%s.svg; draw it: %s", figuresDir, name, redraw)
	}
	m := sourceAttr.FindSubmatch(svg)
	if m == nil || string(m[1]) != sourceHash(dot) {
		return "", fmt.Errorf("%s.svg was drawn from another %s.dot; draw it again: %s", name, name, redraw)
	}
	return string(svg), nil
}

// drawFigures draws the named figures, or all.
func drawFigures(root string, names []string) error {
	if len(names) == 0 {
		found, _ := filepath.Glob(filepath.Join(root, figuresDir, "*.dot"))
		for _, name := range found {
			names = append(names, strings.TrimSuffix(filepath.Base(name), ".dot"))
		}
	}
	for _, name := range names {
		if err := drawFigure(root, name); err != nil {
			return err
		}
	}
	return nil
}

// drawFigure draws NAME.dot into NAME.svg with graphviz.
func drawFigure(root, name string) error {
	file := filepath.Join(root, figuresDir, name)
	dot, err := os.ReadFile(file + ".dot")
	if err != nil {
		return err
	}
	cmd := exec.Command("dot", "-Tsvg", "-Nfontname=Helvetica", "-Efontname=Helvetica", "-Gfontname=Helvetica",
		"-Nfontsize=13", "-Efontsize=12", "-Gbgcolor=transparent")
	cmd.Stdin = bytes.NewReader(dot)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("drawing a figure needs graphviz: apt-get install graphviz")
	}
	if err != nil {
		return fmt.Errorf("dot %s.dot: %w", name, err)
	}
	return os.WriteFile(file+".svg", cleanSVG(out, sourceHash(dot)), 0o644)
}

var (
	prolog   = regexp.MustCompile(`(?s)^.*?(<svg )`)
	noise    = regexp.MustCompile(`(?s)<!--.*?-->\n?|<title>.*?</title>\n?| id="[^"]*"`)
	size     = regexp.MustCompile(`(?s)<svg width="[^"]*" height="[^"]*"\s+viewBox="[-0-9. ]+ ([0-9.]+) ([0-9.]+)"`)
	blackInk = strings.NewReplacer(`stroke="black"`, `stroke="currentColor"`, `fill="black"`, `fill="currentColor"`,
		`<text `, `<text fill="currentColor" `, ` font-family="Helvetica,sans-Serif"`, ` font-family="Helvetica,Arial,sans-serif"`)
)

// cleanSVG leaves of graphviz's SVG what a page needs: it takes the page's
// ink, is as wide as there is room for, and names its source.
func cleanSVG(svg []byte, hash string) []byte {
	s := prolog.ReplaceAllString(string(svg), "$1")
	s = noise.ReplaceAllString(s, "")
	if m := size.FindStringSubmatch(s); m != nil {
		width, _ := strconv.ParseFloat(m[1], 64)
		height, _ := strconv.ParseFloat(m[2], 64)
		s = size.ReplaceAllString(s, fmt.Sprintf(`<svg class="drawing" data-source="%s" width="%.0f" height="%.0f" viewBox="0 0 %s %s"`,
			hash, width*1.3, height*1.3, m[1], m[2]))
	}
	return []byte(blackInk.Replace(s))
}

var widthAttr = regexp.MustCompile(` width="(\d+)"`)

// figureHTML puts a drawing into a page. The style needs its width, to keep
// letters readable where it has to shrink.
func figureHTML(svg, caption, captionHTML string) string {
	svg = widthAttr.ReplaceAllString(svg, `$0 style="--width: ${1}px"`)
	svg = strings.Replace(svg, "<svg ", `<svg role="img" aria-label="`+html.EscapeString(caption)+`" `, 1)
	return "<figure class=\"drawing\">\n<div class=\"scroll\">" + strings.TrimSpace(svg) + "</div>\n<figcaption>" + captionHTML + "</figcaption>\n</figure>\n"
}
