package plans

// wayBack is how far a rollback has come while it is being judged.
type wayBack struct {
	drained, restored, verified bool
	share                       Percent
}

func (d *decoder) judgeRollback(p *Plan) {
	if !d.given("rollback") {
		return
	}
	if len(p.Rollback) == 0 {
		d.errorAt("rollback", "the way back is empty", "leave the key out: the way back is then made from steps")
		return
	}
	var w wayBack
	for _, s := range flat("rollback", p.Rollback) {
		d.judgeBackStep(&w, s)
	}
	if d.broken("rollback") {
		return
	}
	const start = "start it with together: [{shift: {primary: 0%}}, {tls: restore}]"
	switch {
	case !w.drained:
		d.errorAt("rollback", "the way back does not drain the primary", start)
	case !w.restored:
		d.errorAt("rollback", "the way back does not restore the TLS versions", start)
	case !w.verified:
		d.errorAt("rollback", "the way back does not verify that the TLS versions are restored", "add verify: tls after tls: restore")
	}
}

func (d *decoder) judgeBackStep(w *wayBack, s spot) {
	switch v := s.step.(type) {
	case nil:
		*w = wayBack{drained: true, restored: true, verified: true, share: w.share} // unreadable: say nothing about what follows from it
	case Shift:
		d.judgeBackShift(w, s.path+".shift.primary", v)
	case TLS:
		if !v.Restore {
			d.errorAt(s.path+".tls", "the way back restores what was observed at the start; it makes no change", "write tls: restore")
		}
		w.restored = true
	case Together:
		d.judgeTogether(s.path, v)
	case Verify:
		if !w.restored {
			d.errorAt(s.path+".verify", "verify comes before tls: restore", "restore first")
		}
		w.verified = true
	case Bake:
		if !w.drained || !w.restored {
			d.errorAt(s.path+".bake", "the way back waits before both levers are pulled", "drain and restore first")
		}
	case Observe, Approve, Call:
		d.errorAt(s.path, "this step cannot stand in rollback", "nothing may block the way back; to wait a while, use bake")
	}
}

func (d *decoder) judgeBackShift(w *wayBack, path string, s Shift) {
	if d.failed[path] {
		return
	}
	switch {
	case s.Primary == 0 && w.share > 0:
		d.errorAt(path, "the way back drains the primary after it came back", "drain first")
	case s.Primary == 0:
		w.drained = true
	case !w.verified:
		d.errorAt(path, "the share rises before the restored TLS versions are proved", "put verify: tls before it")
	case s.Primary <= w.share:
		d.errorAt(path, "the shares of the way back must rise", "sort them")
	}
	w.share = max(w.share, s.Primary)
}

// judgeShares holds the shares of both legs against what the legs can carry.
func (d *decoder) judgeShares(p *Plan) {
	if d.failed["primary.max_share"] || d.failed["backup.max_share"] {
		return
	}
	spots := flat("steps", p.Steps)
	if d.given("rollback") {
		spots = append(spots, flat("rollback", p.Rollback)...)
	} else if p.Backup.MaxShare < 100 {
		d.errorAt("backup.max_share", "the way back puts 100% on the backup, which can carry "+percentText(p.Backup.MaxShare), "give the backup room for all of the traffic")
	}
	for _, s := range spots {
		shift, ok := s.step.(Shift)
		path := s.path + ".shift.primary"
		if !ok || !d.given(path) {
			continue
		}
		if rest := 100 - shift.Primary; rest > p.Backup.MaxShare {
			d.errorAt(path, "this leaves "+percentText(rest)+" to the backup, which can carry "+percentText(p.Backup.MaxShare), "raise the share or backup.max_share")
		}
		if shift.Primary > p.Primary.MaxShare {
			d.errorAt(path, "the primary can carry "+percentText(p.Primary.MaxShare), "lower the share or raise primary.max_share")
		}
	}
}
