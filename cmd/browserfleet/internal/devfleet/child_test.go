package devfleet

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// A child that is killed on purpose comes back at once each time; one that dies by
// itself again and again is given time.
func TestAChildThatIsKilledOnPurposeIsStartedAgainAtOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string // of the third death
	}{
		"killed": {[]string{"600"}, "started again in 200ms"}, "dies by itself": {[]string{"0"}, "started again in 5s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			said := make(chan string, 64)
			c := &child{
				name: "worker-0", program: "/bin/sleep", args: tc.args, stdin: null, log: null, restart: true,
				say:     func(format string, args ...any) { said <- fmt.Sprintf(format, args...) },
				settled: func() bool { return true }, stop: make(chan struct{}), done: make(chan struct{}),
			}
			go c.runChild()
			var line string
			for range 3 {
				for late := time.After(time.Minute); name == "killed" && !c.kill(); {
					select {
					case <-late:
						t.Fatal("it does not run")
					case <-time.After(time.Millisecond):
					}
				}
				select {
				case line = <-said:
				case <-time.After(time.Minute):
					t.Fatal("it does not die")
				}
			}
			if !strings.Contains(line, tc.want) {
				t.Errorf("it says %q, want %q", line, tc.want)
			}
			close(c.stop)
			c.kill()
			<-c.done
		})
	}
}
