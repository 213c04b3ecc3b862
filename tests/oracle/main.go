// Command oracle answers the lines of `reprise evaluate --jsonl` from kube-scheduler's own in-tree plugins.
//
// It reads JSON lines on standard input and writes one line for each on standard output; README.md has the format.
// At the end it writes one JSON line with the number of times that each verdict, reason, score branch and kind of input
// was reached, to standard error or to the file of -counts. With -each an answer also says what it reached.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

func main() {
	countsFile := flag.String("counts", "", "file for the counts of what was reached (default: standard error)")
	each := flag.Bool("each", false, "add the list of what was reached to every answer, as \"reached\"")
	missing := flag.String("missing", "DynamicResources,DefaultPreemption", "plugins to take out of every profile")
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)

	o := newOracle(strings.Split(*missing, ",")...)
	if err := o.serve(os.Stdin, os.Stdout, *each); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
	counts, err := json.Marshal(o.total)
	if err == nil && *countsFile != "" {
		err = os.WriteFile(*countsFile, append(counts, '\n'), 0o644)
	} else if err == nil {
		_, err = fmt.Fprintf(os.Stderr, "%s\n", counts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// serve answers line by line and flushes whenever no further line is waiting, so that a caller can ask one at a time.
func (o *oracle) serve(in io.Reader, out io.Writer, each bool) error {
	reader, writer := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(out, 1<<20)
	for {
		data, err := reader.ReadBytes('\n')
		if len(data) > 0 {
			clear(o.counts)
			encoded, err := json.Marshal(o.answer(data))
			if err != nil {
				return err
			}
			if o.alone != "" {
				o.counts = aloneCounts(o.counts)
			}
			for what, count := range o.counts {
				o.total[what] += count
			}
			if each {
				reached, _ := json.Marshal(slices.Sorted(maps.Keys(o.counts)))
				encoded = fmt.Appendf(encoded[:len(encoded)-1], `,"reached":%s}`, reached)
			}
			writer.Write(append(encoded, '\n'))
		}
		if err != nil || reader.Buffered() == 0 {
			if flushed := writer.Flush(); flushed != nil {
				return flushed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// answer never fails: whatever goes wrong is the answer, also a plugin that panics.
func (o *oracle) answer(data []byte) (result any) {
	defer func() {
		if crash := recover(); crash != nil {
			o.count("error/panic")
			result = failure{Error: fmt.Sprintf("panic: %v", crash)}
		}
	}()
	if asksForHints(data) {
		hints, err := o.answerHints(data)
		if err != nil {
			o.count("error/hint")
			return failure{Error: err.Error()}
		}
		return hints
	}
	request, kind, err := o.read(data)
	if err != nil {
		o.count("error/" + kind)
		return failure{Error: err.Error()}
	}
	evaluate := o.evaluate
	if o.alone != "" {
		evaluate = func(pod *v1.Pod) (*evaluation, error) { return o.evaluateAlone(o.alone, pod) }
	}
	evaluated, err := evaluate(request)
	if err != nil {
		o.count("error/cycle/" + errorSource(err))
		return failure{Error: err.Error()}
	}
	return evaluated
}
