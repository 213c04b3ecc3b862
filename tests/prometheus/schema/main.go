// Command schema reads Grafana dashboards as Grafana's own types have them: an unknown field, a wrong type or a value outside
// its range is an error. It prints every one and ends with 1.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

func check(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !json.Valid(raw) {
		return fmt.Errorf("no JSON")
	}
	var strict, board dashboard.Dashboard
	if err := strict.UnmarshalJSONStrict(raw); isError(err) {
		return err
	}
	// The strict one leaves panels out whose parts give a list of no errors.
	if err := json.Unmarshal(raw, &board); err != nil {
		return err
	}
	if err := board.Validate(); isError(err) {
		return err
	}
	return nil
}

// isError says whether there is one: what is right in its parts may come back as a list of no errors, which is not nil.
func isError(err error) bool {
	return err != nil && err.Error() != ""
}

func main() {
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	code := 0
	for _, file := range os.Args[1:] {
		if err := check(file); err != nil {
			fmt.Printf("%s: %v\n", file, err)
			code = 1
		}
	}
	os.Exit(code)
}
