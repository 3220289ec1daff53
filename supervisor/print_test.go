package supervisor

import "testing"

func TestAPrintIsRecordedAndAMadeUpOneIsNot(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/":      `<iframe src="http://b.test/child"></iframe>`,
		"/child": `<script>dispatchEvent(new Event('beforeprint'));window.print();parent.postMessage('done','*')</script>`,
	})
	r.open(t, "http://a.test/")
	r.await(t, func(s *Snapshot) bool { return len(s.Prints) == 1 })
	watch := r.Page().Watch()
	defer watch.Close()
	r.eval(t, "dispatchEvent(new Event('beforeprint')); window.print(); 'printed'")
	s := r.await(t, func(s *Snapshot) bool { return len(s.Prints) == 2 })
	if s.Prints[0].FrameID == s.FrameID || s.Prints[0].URL != "http://b.test/child" || s.Prints[1].URL != "http://a.test/" || s.Prints[1].FrameID != s.FrameID {
		t.Errorf("prints: %+v", s.Prints)
	}
	if h := watch.Take(); len(h.Prints) != 1 {
		t.Errorf("watch: %+v", h.Prints)
	}
	if got := r.eval(t, "typeof globalThis."+printBinding); got != "undefined" {
		t.Errorf("the page sees the binding: %s", got)
	}
}
