package trace

// request is an ExportTraceServiceRequest of OTLP, as its JSON mapping writes it: IDs in
// hexadecimal, times as decimal strings.
type request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type span struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        int64       `json:"startTimeUnixNano,string"`
	End          int64       `json:"endTimeUnixNano,string"`
	Attributes   []attribute `json:"attributes,omitempty"`
	Status       *status     `json:"status,omitempty"`
}

// kindInternal is SPAN_KIND_INTERNAL.
const kindInternal = 1

type status struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

// codeError is STATUS_CODE_ERROR.
const codeError = 2

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	String string `json:"stringValue"`
}

// attributes returns those of the keys and values whose value is not empty.
func attributes(pairs ...[2]string) []attribute {
	var list []attribute
	for _, pair := range pairs {
		if pair[1] != "" {
			list = append(list, attribute{pair[0], value{pair[1]}})
		}
	}
	return list
}
