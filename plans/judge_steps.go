package plans

import (
	"strconv"
)

// spot is a step and where it stands.
type spot struct {
	path string
	step Step
}

// flat lists steps with their paths; the steps of a Together follow it.
func flat(path string, steps []Step) []spot {
	var all []spot
	for i, s := range steps {
		at := path + "[" + strconv.Itoa(i) + "]"
		all = append(all, spot{at, s})
		if t, ok := s.(Together); ok {
			all = append(all, flat(at+".together", t.Steps)...)
		}
	}
	return all
}

func (d *decoder) judgeSteps(p *Plan) {
	if !d.given("steps") {
		return
	}
	changes := 0
	for _, s := range flat("steps", p.Steps) {
		if t, ok := s.step.(TLS); ok && !t.Restore {
			changes++
		}
		d.judgeStep(s, changes)
	}
	switch {
	case len(p.Steps) == 0:
		d.errorAt("steps", "there are no steps", "the shortest plan is one step, tls: change")
	case changes == 0 && !d.broken("steps"):
		d.errorAt("steps", "no step makes the change", "add tls: change")
	}
}

// judgeStep judges one step on the way there; changes counts the changes up to and with it.
func (d *decoder) judgeStep(s spot, changes int) {
	switch v := s.step.(type) {
	case TLS:
		switch {
		case v.Restore:
			d.errorAt(s.path+".tls", "tls: restore stands in rollback only", "write tls: change, or move it to rollback")
		case changes > 1:
			d.errorAt(s.path+".tls", "the change is made twice", "keep one tls: change")
		}
	case Together:
		d.judgeTogether(s.path, v)
		for i, inner := range v.Steps {
			if shift, ok := inner.(Shift); ok && shift.Primary > 0 {
				d.errorAt(s.path+".together["+strconv.Itoa(i)+"].shift.primary", "a share above 0% at the same time as the change would expose it unproved", "shift to 0%, or shift after the tls step")
			}
		}
	case Shift, Bake, Observe, Approve, Call, Verify, nil:
	}
}

// judgeTogether holds that both levers stand in it, once each.
func (d *decoder) judgeTogether(path string, t Together) {
	if d.broken(path) {
		return
	}
	shifts, flags := 0, 0
	for _, s := range t.Steps {
		switch s.(type) {
		case Shift:
			shifts++
		case TLS:
			flags++
		case Bake, Observe, Approve, Call, Together, Verify:
		}
	}
	if shifts != 1 || flags != 1 {
		d.errorAt(path+".together", "together needs one shift and one tls step", "write other steps on their own")
	}
}
