package chromium

import (
	"os"
	"testing"
)

func TestMemoryIsThatOfTheWholeGroup(t *testing.T) {
	t.Parallel()
	p, _ := launch(t, Options{Binary: testBinary(t), Scratch: scratchRoot(t), AllowNoSandbox: true})
	leader, group := ownMemory(p.PID()), p.Memory()
	if leader <= 0 || group < leader || group > 4<<30 {
		t.Errorf("the leader has %d bytes, its group %d", leader, group)
	}
	p.Kill()
	<-p.Done()
	if got := p.Memory(); got != 0 {
		t.Errorf("a dead group has %d bytes", got)
	}
	if ownMemory(os.Getpid()) <= 0 {
		t.Error("this process has no memory")
	}
}
