package plans

func (w *writer) source(s Source) {
	w.open(s.Name)
	w.line("type", s.Type)
	w.text("url", s.URL)
	w.text("path", s.Path)
	w.text("credentials", s.Credentials)
	w.line("settle", durationText(s.Settle))
	if s.JSON != nil {
		w.json(s.JSON)
	}
	if s.Type == typePrometheus {
		w.line("labels", labelsText(s.Labels))
	}
	if s.Legs != nil {
		w.line("legs", legsText(s.Legs))
	}
	if s.Type == typePrometheus {
		w.block("queries", queryKeys(), s.Queries)
	}
	w.shut()
}

func (w *writer) json(j *JSON) {
	w.line("method", j.Method)
	w.text("body", j.Body)
	w.line("time_format", j.TimeFormat.String())
	w.text("rows", j.Rows)
	w.text("partial", j.Partial)
	w.block("fields", fieldKeys(), j.Fields)
	w.line("minute_format", j.MinuteFormat.String())
}

// block writes the texts of a block in the order of its keys.
func (w *writer) block(key string, keys []key, values map[string]string) {
	w.open(key)
	for _, k := range keys {
		w.text(k.name, values[k.name])
	}
	w.shut()
}
