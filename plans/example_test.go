package plans_test

import (
	"fmt"
	"strings"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
)

func ExampleParse() {
	source, _ := examples.Source("tls13-off.yaml")
	source = strings.Replace(source, "bake: 20m", "bake: 20", 1)
	p, problems := plans.Parse("plan.yaml", []byte(source))
	fmt.Println(p == nil, problems.HasErrors())
	fmt.Print(problems.Render([]byte(source)))
	// Output:
	// true true
	// plan.yaml:51:33: error: bake: 20 has no unit
	//    51 |   - shift: {primary: 10%, bake: 20}
	//       |                                 ^
	//   hint: write 20m for minutes or 20s for seconds
}

func ExampleExplain() {
	text, _ := plans.Explain("dns.zero")
	fmt.Print(text)
	// Output:
	// dns.zero: How a share of 0% is written: disable the record, weight 0, or weight 1 against 100 (0.99% stays).
	//   one of: disable, weight, floor
	//   default: disable
}

func ExamplePlan_RollbackFor() {
	source, _ := examples.Source("tls13-canary.yaml")
	p, _ := plans.Parse("tls13-canary.yaml", []byte(source))
	for _, step := range p.RollbackFor(40) {
		fmt.Printf("%T %+v\n", step, step)
	}
	// Output:
	// plans.Together {Steps:[{Primary:0 % Bake:0s} {Restore:true}]}
	// plans.Verify {}
	// plans.Shift {Primary:10 % Bake:0s}
	// plans.Shift {Primary:30 % Bake:0s}
}
