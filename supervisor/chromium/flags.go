package chromium

import "strings"

// denyProxy is the proxy of the default context. The name never resolves, so a
// page that somehow lands outside of an environment's context loads nothing.
const denyProxy = "http://deny.browserfleet.invalid:9"

// disabledFeatures and why:
//   - WebUIOmnibox*: every window of the full browser creates two hidden
//     renderers for them, 30 MB an environment.
//   - AutofillServerCommunication, OptimizationHints, MediaRouter, Translate,
//     InterestFeedContentSuggestions, CertificateTransparencyComponentUpdater:
//     connections of the browser's own.
//   - BackForwardCache: a page that comes back from it sends almost no events, so
//     the frame tree would have to be guessed.
//   - Prerender2: a second hidden page per tab that may run scripts.
//   - AcceptCHFrame, HttpsUpgrades, HttpsFirstBalancedModeAutoEnable: navigations
//     that restart on another URL than the one that was asked for.
//   - DestroyProfileOnBrowserClose, ImprovedCookieControls, GlobalMediaControls,
//     LensOverlay, PaintHolding: what test drivers switch off for determinism.
var disabledFeatures = []string{
	"WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup",
	"AutofillServerCommunication", "OptimizationHints", "MediaRouter", "DialMediaRouteProvider",
	"Translate", "InterestFeedContentSuggestions", "CertificateTransparencyComponentUpdater",
	"BackForwardCache", "Prerender2",
	"AcceptCHFrame", "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable",
	"DestroyProfileOnBrowserClose", "ImprovedCookieControls", "GlobalMediaControls", "LensOverlay", "PaintHolding",
}

// arguments are the command line of a browser, without the program's name.
func arguments(binary Binary, userData string, o Options) []string {
	args := []string{
		"--remote-debugging-pipe",
		"--user-data-dir=" + userData,
		"--disable-features=" + strings.Join(disabledFeatures, ","),
		// Each site in a process of its own, also on machines where memory is
		// short and Chromium would decide otherwise.
		"--site-per-process",

		// The network. The headless shell obeys only the "force" spelling of the
		// WebRTC policy and the full browser only the other (measured on 156).
		"--proxy-server=" + denyProxy,
		"--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--disable-quic",
		"--disable-background-networking",
		"--disable-component-update",
		"--disable-domain-reliability",
		"--disable-client-side-phishing-detection",
		"--disable-sync",
		"--no-pings",
		"--dns-prefetch-disable",
		"--metrics-recording-only",

		// Determinism: a page in the background behaves like one in front.
		"--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding",
		"--disable-hang-monitor",

		// No first-run pages, stores, prompts, crash reports.
		"--no-first-run",
		"--no-default-browser-check",
		"--no-service-autorun",
		"--disable-default-apps",
		"--disable-extensions",
		"--disable-component-extensions-with-background-pages",
		"--disable-breakpad",
		"--disable-crash-reporter",
		"--disable-search-engine-choice-screen",
		"--password-store=basic",
		"--use-mock-keychain",
		"--mute-audio",
		"--hide-scrollbars",
		"--force-color-profile=srgb",
		"--export-tagged-pdf",

		// No GPU here; without its software stand-in a browser needs 14 MB less.
		"--disable-gpu",
		"--disable-software-rasterizer",
		// A page must not fill the scratch disk through the HTTP cache (bytes).
		"--disk-cache-size=67108864",
		// /dev/shm is often 64 MB in containers.
		"--disable-dev-shm-usage",
	}
	if binary.Kind == Full {
		args = append(args, "--headless=new", "--no-startup-window", "--disable-infobars", "--noerrdialogs")
	}
	if o.AllowNoSandbox {
		args = append(args, "--no-sandbox")
	}
	return append(args, o.ExtraArgs...)
}

// noPrograms is a PATH in which nothing is found. Chromium needs no program by name
// for itself, but the full one would hand an external protocol, such as mailto, to
// the host's xdg-open.
const noPrograms = "/dev/null"

// environment is all that the browser sees of ours.
func environment(home, tmp string) []string {
	return []string{"PATH=" + noPrograms, "HOME=" + home, "TMPDIR=" + tmp, "LANG=C.UTF-8"}
}
