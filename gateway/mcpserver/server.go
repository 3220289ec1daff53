package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserfleet/browserfleet/protocol"
)

// Owner runs requests in one environment; *client.Owner is one.
type Owner interface {
	// Run sends a request and waits for its result.
	Run(ctx context.Context, req protocol.Request) (*protocol.Result, error)
}

const (
	// progressEvery is how often a client hears that its call still waits.
	progressEvery = 5 * time.Second
	// maxUntold bounds the results that nobody was told.
	maxUntold = 10
)

// errGone: the client of a call went away.
var errGone = errors.New("the call was given up")

// Server is the tools of one owner's browser, for any number of connections.
type Server struct {
	*mcp.Server
	owner Owner

	closed    chan struct{} // by Close: calls whose client is gone wait no more
	closeOnce sync.Once
	all       sync.WaitGroup

	mu     sync.Mutex // guards untold
	untold []string
}

// New makes the tools of a profile.
func New(owner Owner, profile Profile, version string) *Server {
	s := &Server{owner: owner, closed: make(chan struct{}), Server: mcp.NewServer(
		&mcp.Implementation{Name: "browserfleet", Title: "browserfleet", Version: version},
		&mcp.ServerOptions{Instructions: Instructions, Capabilities: &mcp.ServerCapabilities{}},
	)}
	for i := range tools {
		if t := &tools[i]; t.in(profile) {
			s.AddTool(t.definition(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return s.call(ctx, t, req), nil
			})
		}
	}
	return s
}

// Close ends what still waits. The requests go on in the fleet.
func (s *Server) Close() {
	s.closeOnce.Do(func() { close(s.closed) })
	s.all.Wait()
}

// answer is what became of a call.
type answer struct {
	result *protocol.Result
	err    error
}

func (s *Server) call(ctx context.Context, t *tool, req *mcp.CallToolRequest) *mcp.CallToolResult {
	request, refused := t.request(req.Params.Arguments)
	if refused != nil {
		return s.failed(refused)
	}
	answered := s.runCall(ctx, request)
	begun := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case a := <-answered:
			return s.tell(t, a)
		case <-tick.C:
			progress(ctx, req, t, time.Since(begun))
		case <-ctx.Done():
			s.startUntold(t, answered)
			return s.failed(protocol.Errorf(protocol.CodeUnavailable, "%v; the request goes on, and the next answer tells what became of it", errGone).
				WithDispatched(protocol.DispatchedUnknown))
		}
	}
}

// runCall waits for the result in a goroutine of its own, however long the client does.
func (s *Server) runCall(ctx context.Context, request protocol.Request) <-chan answer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	answered := make(chan answer, 1)
	s.all.Go(func() {
		defer cancel()
		result, err := s.owner.Run(ctx, request)
		answered <- answer{result, err}
	})
	s.all.Go(func() {
		select {
		case <-s.closed:
			cancel()
		case <-ctx.Done():
		}
	})
	return answered
}

// startUntold keeps the result of a call whose client is gone for the next answer.
func (s *Server) startUntold(t *tool, answered <-chan answer) {
	s.all.Go(func() {
		a := <-answered
		line := fmt.Sprintf("An earlier call that was given up: %s: ", t.name)
		if failed := a.failure(); failed != nil {
			line += errorLine(failed)
		} else {
			line += statusLine(a.result)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.untold = append(s.untold, line); len(s.untold) > maxUntold {
			s.untold = s.untold[1:]
		}
	})
}

func (s *Server) takeUntold() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.untold
	s.untold = nil
	return lines
}

func progress(ctx context.Context, req *mcp.CallToolRequest, t *tool, waited time.Duration) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	// A client that cannot be told is not there; the end of ctx will say so.
	_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: waited.Seconds(), Message: t.name + " waits for the browser",
	})
}
