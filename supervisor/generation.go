package supervisor

// SetGeneration says which generation the environment is, for a browser that was
// started before it belonged to anybody. Dialogs from now on carry it in their
// ids.
func (t *tabs) SetGeneration(g uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.config.Generation = g
	t.touchTabs()
}
