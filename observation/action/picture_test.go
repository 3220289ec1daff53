package action_test

import (
	"bytes"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"testing"

	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

func (a *agent) picture(args protocol.ScreenshotArgs) image.Image {
	a.t.Helper()
	shot, failed := a.observer.Screenshot(a.ctx, a.page, args)
	if failed != nil {
		a.t.Fatalf("%+v: %v", args, failed)
	}
	picture, _, err := image.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		a.t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != shot.Width || size.Y != shot.Height {
		a.t.Errorf("%dx%d says that it is %dx%d", size.X, size.Y, shot.Width, shot.Height)
	}
	return picture
}

// shows compares a pixel, with the tolerance of a frame's scaling.
func shows(t *testing.T, picture image.Image, x, y int, want color.RGBA) {
	t.Helper()
	r, g, b, _ := picture.At(x, y).RGBA()
	got := color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
	for _, d := range []int{int(got.R) - int(want.R), int(got.G) - int(want.G), int(got.B) - int(want.B)} {
		if d < -8 || d > 8 {
			t.Errorf("pixel %d,%d is %v, want %v", x, y, got, want)
			return
		}
	}
}

var (
	red  = color.RGBA{255, 0, 0, 255}
	blue = color.RGBA{0, 0, 255, 255}
)

const boxes = `<style>button{border:0;padding:0;display:block;color:transparent}</style><body style="margin:0;background:#fff"><div style="height:1700px"></div>
	<div style="margin-left:50px;height:120px;overflow:auto;width:400px"><div style="height:600px"></div><button style="width:80px;height:40px;background:#f00">Red</button></div>
	<button style="width:300px;height:1500px;background:#00f">Blue</button>`

func TestPictureOfAnElement(t *testing.T) {
	t.Parallel()
	a := on(t, boxes)
	a.page.Eval(a.ctx, t, `got=[];new MutationObserver(()=>got.push("changed")).observe(document,{subtree:true,childList:true,attributes:true});0`)
	for name, want := range map[string]struct {
		color color.RGBA
		size  image.Point
	}{"Red": {red, image.Pt(80, 40)}, "Blue": {blue, image.Pt(300, 1500)}} {
		picture := a.picture(protocol.ScreenshotArgs{Target: protocol.Target{ElementRef: a.ref(name)}, Format: "png"})
		if size := picture.Bounds().Size(); size != want.size {
			t.Errorf("%s is %v, want %v", name, size, want.size)
		}
		for _, at := range []image.Point{{1, 1}, {want.size.X - 2, 1}, {1, want.size.Y - 2}, {want.size.X - 2, want.size.Y - 2}} {
			shows(t, picture, at.X, at.Y, want.color)
		}
	}
	a.probe("got.join()", "")
	ref := a.ref("Red")
	for _, tc := range []struct {
		end  string
		code protocol.Code
	}{{`b=document.querySelector("button");b.style.display="none"`, protocol.CodeNotVisible}, {"b.remove()", protocol.CodeStaleRef}} {
		a.page.Eval(a.ctx, t, tc.end+";0")
		_, failed := a.observer.Screenshot(a.ctx, a.page, protocol.ScreenshotArgs{Target: protocol.Target{ElementRef: ref}})
		if failed == nil || failed.Code != tc.code || failed.Dispatched != protocol.DispatchedNo {
			t.Errorf("after %s: %v", tc.end, failed)
		}
	}
}

func TestPictureOfAnElementInAFrame(t *testing.T) {
	t.Parallel()
	page := pagetest.OpenSites(t, map[string]string{
		"/":   `<div style="height:1500px"></div><iframe src="http://alt.test/in" style="border:5px solid;width:500px;height:300px"></iframe><div style="height:900px"></div>`,
		"/in": boxes,
	})
	a := newAgent(t, page).patient()
	page.Navigate(a.ctx, t, "http://main.test/")
	ref := a.refOf("Red")
	picture := a.picture(protocol.ScreenshotArgs{Target: protocol.Target{ElementRef: ref}, Format: "png"})
	if size := picture.Bounds().Size(); size != image.Pt(80, 40) {
		t.Fatalf("it is %v", size)
	}
	shows(t, picture, 2, 2, red)
	shows(t, picture, 77, 37, red)
}

func TestPictureAsWebP(t *testing.T) {
	t.Parallel()
	a := on(t, boxes)
	shot, failed := a.observer.Screenshot(a.ctx, a.page, protocol.ScreenshotArgs{Format: "webp", Quality: 50})
	if failed != nil || shot.MediaType != "image/webp" || !bytes.Equal(shot.Data[8:12], []byte("WEBP")) {
		t.Errorf("%v %.12q", failed, shot.Data)
	}
}

// TestRefsOnAPicture: each box is framed, its ref written at the left top; nothing is on
// the page.
func TestRefsOnAPicture(t *testing.T) {
	t.Parallel()
	a := on(t, `<body style="margin:0"><style>button{position:absolute;border:0;color:transparent;background:#fff}</style>
		<button style="left:100px;top:100px;width:200px;height:60px">One</button><button style="left:100px;top:1900px;width:200px;height:60px">Far</button>`)
	before := a.page.Eval(a.ctx, t, "document.documentElement.outerHTML")
	a.observe()
	white := color.RGBA{255, 255, 255, 255}
	for _, args := range []protocol.ScreenshotArgs{{Format: "png", Refs: true}, {Format: "jpeg", Quality: 100, Refs: true}, {Format: "png", Refs: true, FullPage: true}} {
		picture := a.picture(args)
		tint := color.RGBAModel.Convert(picture.At(298, 159)).(color.RGBA) // on the lower frame
		if tint == white || tint.R > 210 && tint.G > 100 {
			t.Errorf("%+v: no frame: %v", args, tint)
		}
		if args.Format == "png" {
			shows(t, picture, 100, 140, tint)
			shows(t, picture, 101, 101, tint) // the ground of the ref
			shows(t, picture, 200, 130, white)
		}
		if args.FullPage {
			if far := color.RGBAModel.Convert(picture.At(298, 1959)).(color.RGBA); far == white {
				t.Error("what is out of view has no frame on the whole page")
			}
		}
	}
	if after := a.page.Eval(a.ctx, t, "document.documentElement.outerHTML"); after != before {
		t.Errorf("the page is %v, was %v", after, before)
	}
}
