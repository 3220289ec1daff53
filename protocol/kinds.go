package protocol

// Kind is what a request asks for.
type Kind string

// Kinds of lane q: actions, run one at a time in stream order.
const (
	KindOpen           Kind = "open"
	KindObserve        Kind = "observe"
	KindObserveNext    Kind = "observe_next"
	KindClick          Kind = "click"
	KindHover          Kind = "hover"
	KindDrag           Kind = "drag"
	KindFill           Kind = "fill"
	KindFillCredential Kind = "fill_credential"
	KindPress          Kind = "press"
	KindType           Kind = "type"
	KindSelect         Kind = "select"
	KindCheck          Kind = "check"
	KindScroll         Kind = "scroll"
	KindWait           Kind = "wait"
	KindBack           Kind = "back"
	KindForward        Kind = "forward"
	KindReload         Kind = "reload"
	KindBatch          Kind = "batch"
	KindScreenshot     Kind = "screenshot"
	KindExtractTable   Kind = "extract_table"
	KindExtractLinks   Kind = "extract_links"
	KindExtractList    Kind = "extract_list"
	KindExtractArticle Kind = "extract_article"
	KindTabs           Kind = "tabs"
	KindCDP            Kind = "cdp"
	KindEmulate        Kind = "emulate"
)

// Kinds of lane c: control, answered while an action runs.
const (
	KindCancel    Kind = "cancel"
	KindInterrupt Kind = "interrupt"
	KindPing      Kind = "ping"
)

// Effect says what a crash between dispatch and result means.
type Effect string

// Effects. A read in flight is rerun at most once; a write never.
const (
	EffectRead  Effect = "read"
	EffectWrite Effect = "write"
)

// KindInfo is a row of the effect table.
type KindInfo struct {
	Lane   Lane
	Effect Effect
	// NeedsPage: the request means something only on the page that its agent
	// was shown; after a restore it is answered generation_changed.
	NeedsPage bool
	// NeedsRef: args must name an element.
	NeedsRef bool
	newArgs  func() Args
}

var kinds = map[Kind]KindInfo{
	KindOpen:           {LaneQueue, EffectWrite, false, false, func() Args { return &OpenArgs{} }},
	KindObserve:        {LaneQueue, EffectRead, false, false, func() Args { return &ObserveArgs{} }},
	KindObserveNext:    {LaneQueue, EffectRead, true, false, func() Args { return &ObserveNextArgs{} }},
	KindClick:          {LaneQueue, EffectWrite, true, true, func() Args { return &ClickArgs{} }},
	KindHover:          {LaneQueue, EffectWrite, true, true, func() Args { return &HoverArgs{} }},
	KindDrag:           {LaneQueue, EffectWrite, true, true, func() Args { return &DragArgs{} }},
	KindFill:           {LaneQueue, EffectWrite, true, true, func() Args { return &FillArgs{} }},
	KindFillCredential: {LaneQueue, EffectWrite, true, true, func() Args { return &FillCredentialArgs{} }},
	KindPress:          {LaneQueue, EffectWrite, true, false, func() Args { return &PressArgs{} }},
	KindType:           {LaneQueue, EffectWrite, true, false, func() Args { return &TypeArgs{} }},
	KindSelect:         {LaneQueue, EffectWrite, true, true, func() Args { return &SelectArgs{} }},
	KindCheck:          {LaneQueue, EffectWrite, true, true, func() Args { return &CheckArgs{} }},
	KindScroll:         {LaneQueue, EffectWrite, true, false, func() Args { return &ScrollArgs{} }},
	KindWait:           {LaneQueue, EffectRead, true, false, func() Args { return &WaitArgs{} }},
	KindBack:           {LaneQueue, EffectWrite, true, false, func() Args { return &NoArgs{} }},
	KindForward:        {LaneQueue, EffectWrite, true, false, func() Args { return &NoArgs{} }},
	KindReload:         {LaneQueue, EffectWrite, true, false, func() Args { return &NoArgs{} }},
	KindBatch:          {LaneQueue, EffectWrite, true, false, func() Args { return &BatchArgs{} }},
	KindScreenshot:     {LaneQueue, EffectRead, false, false, func() Args { return &ScreenshotArgs{} }},
	KindExtractTable:   {LaneQueue, EffectRead, true, false, func() Args { return &ExtractArgs{} }},
	KindExtractLinks:   {LaneQueue, EffectRead, true, false, func() Args { return &ExtractArgs{} }},
	KindExtractList:    {LaneQueue, EffectRead, true, false, func() Args { return &ExtractArgs{} }},
	KindExtractArticle: {LaneQueue, EffectRead, true, false, func() Args { return &ExtractArgs{} }},
	KindTabs:           {LaneQueue, EffectWrite, false, false, func() Args { return &TabsArgs{} }},
	KindDialog:         {LaneControl, EffectWrite, true, false, func() Args { return &DialogArgs{} }},
	// What an operator allowed beyond reading may have effects.
	KindCDP:     {LaneQueue, EffectWrite, true, false, func() Args { return &CDPArgs{} }},
	KindEmulate: {LaneQueue, EffectWrite, false, false, func() Args { return &EmulateArgs{} }},
	// A cancel only creates a result, which the server accepts once: repeating
	// it is harmless, so it counts as a read.
	KindCancel:    {LaneControl, EffectRead, false, false, func() Args { return &CancelArgs{} }},
	KindInterrupt: {LaneControl, EffectWrite, false, false, func() Args { return &InterruptArgs{} }},
	KindPing:      {LaneControl, EffectRead, false, false, func() Args { return &NoArgs{} }},
}

// Lookup is the effect table.
func (k Kind) Lookup() (KindInfo, bool) {
	info, ok := kinds[k]
	return info, ok
}

// Kinds lists every kind of the table, in no order.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds))
	for k := range kinds {
		all = append(all, k)
	}
	return all
}
