package plans

import (
	"fmt"
	"strings"
	"unicode"
)

// maxExcerpt is the longest part of a source line that is printed, in characters: about two terminal rows.
const maxExcerpt = 160

// excerpt returns the numbered source line and, when col is known, a caret under it. col counts characters from 1.
func excerpt(line string, number, col int) string {
	runes := []rune(line)
	col = min(col, len(runes)+1)
	before, after := "", ""
	if len(runes) > maxExcerpt {
		from := min(max(col-1-maxExcerpt/2, 0), len(runes)-maxExcerpt)
		if from > 0 {
			before = "…"
		}
		if from+maxExcerpt < len(runes) {
			after = "…"
		}
		runes, col = runes[from:from+maxExcerpt], col-from
	}
	text := fmt.Sprintf("%5d | %s\n", number, before+printable(string(runes))+after)
	if col <= 0 {
		return text
	}
	return text + "      | " + strings.Repeat(" ", len([]rune(before))) + padding(runes[:col-1]) + "^\n"
}

// padding returns blanks as wide as the characters: a tab stays a tab, a wide character takes two cells, a combining one none.
func padding(runes []rune) string {
	var b strings.Builder
	for _, r := range runes {
		switch {
		case r == '\t':
			b.WriteByte('\t')
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case wide(r):
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// wide reports whether terminals draw r in two cells. The ranges are the wide and fullwidth blocks of Unicode Standard Annex 11.
func wide(r rune) bool {
	return unicode.Is(&unicode.RangeTable{
		R16: []unicode.Range16{
			{Lo: 0x1100, Hi: 0x115F, Stride: 1}, // Hangul Jamo
			{Lo: 0x2E80, Hi: 0x303E, Stride: 1}, // CJK radicals and punctuation
			{Lo: 0x3041, Hi: 0x4DBF, Stride: 1}, // kana to CJK extension A
			{Lo: 0x4E00, Hi: 0xA4CF, Stride: 1}, // CJK unified and Yi
			{Lo: 0xAC00, Hi: 0xD7A3, Stride: 1}, // Hangul
			{Lo: 0xF900, Hi: 0xFAFF, Stride: 1}, // CJK compatibility
			{Lo: 0xFE30, Hi: 0xFE6F, Stride: 1}, // CJK compatibility forms
			{Lo: 0xFF00, Hi: 0xFF60, Stride: 1}, // fullwidth forms
			{Lo: 0xFFE0, Hi: 0xFFE6, Stride: 1}, // fullwidth signs
		},
		R32: []unicode.Range32{
			{Lo: 0x1F300, Hi: 0x1F64F, Stride: 1}, // pictographs
			{Lo: 0x1F900, Hi: 0x1F9FF, Stride: 1}, // more pictographs
			{Lo: 0x20000, Hi: 0x3FFFD, Stride: 1}, // CJK extensions B and later
		},
	}, r)
}

// printable replaces characters that could steer a terminal or reorder its text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
