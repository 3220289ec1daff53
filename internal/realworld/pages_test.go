//go:build realworld

package realworld

import (
	"context"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/browserfleet/browserfleet/supervisor"
)

var git = docs{
	name: "git-doc", folder: "/usr/share/doc/git/html",
	pages: []string{
		"git.html", "git-config.html", "index.html", "user-manual.html", "git-log.html", "gitglossary.html", "git-rebase.html",
		"git-add.html", "git-version.html", "gitk.html", "gitattributes.html", "git-fast-import.html", "git-bisect-lk2009.html",
		"MyFirstContribution.html", "howto-index.html", "howto/maintain-git.html", "technical/reftable.html", "technical/bitmap-format.html",
	},
}

var python = docs{
	name: "python3.11-doc", folder: "/usr/share/doc/python3.11/html",
	pages: []string{
		"index.html", "library/index.html", "library/os.html", "library/stdtypes.html", "library/functions.html", "library/datetime.html",
		"library/argparse.html", "library/codecs.html", "library/string.html", "library/unicodedata.html", "library/typing.html",
		"reference/grammar.html", "reference/datamodel.html", "tutorial/index.html", "tutorial/introduction.html", "c-api/typeobj.html",
		"whatsnew/3.11.html", "howto/unicode.html", "faq/general.html", "using/cmdline.html", "glossary.html", "genindex.html",
		"genindex-P.html", "genindex-all.html", "contents.html", "py-modindex.html", "license.html", "search.html", "download.html", "about.html",
	},
}

func TestGitManual(t *testing.T)  { t.Parallel(); read(t, git) }
func TestPythonDocs(t *testing.T) { t.Parallel(); read(t, python) }

// On a phone Python's pages have another layout: what was beside the text is
// behind a button.
func TestPythonDocsOnAPhone(t *testing.T) {
	t.Parallel()
	phone := python
	phone.viewport = supervisor.Viewport{Width: 400, Height: 800, Scale: 1}
	phone.pages = []string{"index.html", "library/string.html", "genindex.html", "tutorial/index.html", "search.html"}
	read(t, phone)
}

// read goes through the pages one after the other, in one browser.
func read(t *testing.T, d docs) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	t.Cleanup(cancel)
	v := newVisit(ctx, t, d)
	for _, page := range d.chosen(t) {
		t.Run(page, func(t *testing.T) {
			eyes := *v.eyes
			eyes.t = t
			p := &pageVisit{visit: v, t: t, page: page, size: d.size(t, page), eyes: &eyes}
			p.opens(ctx)
			p.isSeen(ctx)
			p.leads(ctx)
			p.scrolls(ctx)
			p.listsLinks(ctx)
			p.givesTables(ctx)
			p.pictures(ctx)
		})
	}
	v.figures.log(t)
}

// pageVisit is one page being judged; truth is what the page says of itself.
type pageVisit struct {
	*visit
	t     *testing.T
	page  string
	size  int64
	eyes  *eyes
	truth *sight
}

func (p *pageVisit) opens(ctx context.Context) {
	out := p.open(ctx, p.t, p.page)
	p.figures.add("open", p.size, total(out.Transition.Timing))
	p.truth = p.eyes.look(ctx)
	if o := out.Observation; o.URL != p.url(p.page) || p.truth.URL != o.URL || o.Title != p.truth.Title {
		p.t.Errorf("opened %s: got %s %q; the page says %s %q", p.url(p.page), o.URL, o.Title, p.truth.URL, p.truth.Title)
	}
	p.t.Logf("%d characters, %d elements, %d links, %d tables", utf8.RuneCountInString(p.truth.Text), p.truth.Acting, len(p.truth.Links), len(p.truth.Tables))
	if denied := out.Transition.Denied; len(denied) > 0 {
		p.t.Logf("refused on the way: %+v", denied)
	}
}
