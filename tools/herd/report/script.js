"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");
const at = path => path.split(/[.[\]]+/).filter(k => k).reduce((v, k) => v[k], data);

// A tip follows the pointer; it names the row of the data.
function showTip(e, text, path) {
  tip.textContent = text + " ";
  if (path) tip.append(Object.assign(document.createElement("code"), { textContent: path }));
  tip.hidden = false;
  const x = Math.min(e.pageX + 12, scrollX + document.documentElement.clientWidth - tip.offsetWidth - 8);
  const above = e.pageY - tip.offsetHeight - 12;
  tip.style.left = Math.max(scrollX + 4, x) + "px";
  tip.style.top = (above > scrollY ? above : e.pageY + 18) + "px";
}
const hideTip = () => { tip.hidden = true; };
document.addEventListener("pointerover", e => {
  const mark = e.target.closest("[data-tip]");
  if (mark) showTip(e, mark.dataset.tip, mark.dataset.row);
  else if (!e.target.closest(".view")) hideTip();
});
document.addEventListener("scroll", hideTip, true);
document.addEventListener("keydown", e => { if (e.key === "Escape") hideTip(); });

// A path opens the row that it names.
const dialog = document.getElementById("row");
document.addEventListener("click", e => {
  const link = e.target.closest("[data-path]");
  if (!link) return;
  e.preventDefault();
  dialog.querySelector("h3").textContent = link.dataset.path;
  dialog.querySelector("pre").textContent = JSON.stringify(at(link.dataset.path), null, 2);
  dialog.showModal();
});
document.getElementById("save").addEventListener("click", e => {
  e.currentTarget.href = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
});

// Tables are printed too.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach(d => { d.open = true; });
});
addEventListener("afterprint", () => closed.forEach(d => { d.open = false; }));

const doing = {
  accepting: "accepting", serving: "serving", polling: "woken by its timeout", nothing: "woken for nothing",
};
const time = (us, step) => step < 1000 ? (us / 1000).toFixed(step < 10 ? 3 : step < 100 ? 2 : 1) + " ms" : Math.round(us / 1000) + " ms";

// A timeline shows the microseconds from..from+width of its recording.
class Timeline {
  constructor(track) {
    this.path = track.dataset.track;
    this.recording = at(this.path);
    this.view = track.querySelector(".view");
    this.svg = this.view.querySelector("svg");
    this.ruler = this.view.querySelector(".ruler");
    this.all = this.recording.duration_us;
    this.pointers = new Map();
    track.querySelectorAll("[data-zoom]").forEach(b => b.addEventListener("click", () => this.zoom(+b.dataset.zoom)));
    const on = (type, f) => this.view.addEventListener(type, f.bind(this));
    on("wheel", e => {
      // Who only scrolls by is not held up.
      if (!e.deltaY || !e.ctrlKey && document.activeElement !== this.view) return;
      e.preventDefault();
      this.zoom(e.deltaY < 0 ? 1.4 : 1 / 1.4, this.timeAt(e));
    });
    on("dblclick", e => this.zoom(8, this.timeAt(e)));
    on("keydown", this.key);
    on("pointerdown", e => {
      this.pointers.set(e.pointerId, e);
      this.view.setPointerCapture(e.pointerId);
    });
    on("pointermove", this.move);
    ["pointerup", "pointercancel"].forEach(t => on(t, e => this.pointers.delete(e.pointerId)));
    on("pointerleave", hideTip);
    this.show(0, this.all);
  }

  show(from, width) {
    this.width = Math.min(Math.max(width, 50), this.all);
    this.from = Math.min(Math.max(from, 0), this.all - this.width);
    this.svg.setAttribute("viewBox", [this.from, 0, this.width, this.svg.viewBox.baseVal.height].join(" "));
    const room = Math.max(2, Math.floor(this.view.clientWidth / 90));
    const raw = this.width / room, unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(k => k * unit).find(s => s >= raw);
    this.ruler.replaceChildren();
    const end = this.from + this.width * (1 - 50 / this.view.clientWidth); // room for a label
    for (let t = Math.ceil(this.from / step) * step; t < end; t += step) {
      const label = Object.assign(document.createElement("span"), { textContent: time(t, step) });
      label.style.left = 100 * (t - this.from) / this.width + "%";
      this.ruler.append(label);
    }
  }

  // zoom by a factor about a moment; 0 shows all.
  zoom(factor, about = this.from + this.width / 2) {
    if (!factor) return this.show(0, this.all);
    const width = Math.min(Math.max(this.width / factor, 50), this.all);
    this.show(about - (about - this.from) * width / this.width, width);
  }

  timeAt(e) {
    const box = this.svg.getBoundingClientRect();
    return this.from + (e.clientX - box.left) / box.width * this.width;
  }

  key(e) {
    const act = {
      "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(.5), "0": () => this.zoom(0),
      ArrowLeft: () => this.show(this.from - this.width / 5, this.width),
      ArrowRight: () => this.show(this.from + this.width / 5, this.width),
    }[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  }

  // move drags with one pointer, zooms with two, and tells with none.
  move(e) {
    const last = this.pointers.get(e.pointerId);
    if (!last) return this.tell(e);
    const perPixel = this.width / this.svg.getBoundingClientRect().width;
    const other = [...this.pointers.values()].find(p => p.pointerId !== e.pointerId);
    if (other) {
      const was = Math.abs(last.clientX - other.clientX), is = Math.abs(e.clientX - other.clientX);
      if (was > 10 && is > 10) this.zoom(is / was, this.timeAt(other));
    } else {
      this.show(this.from - (e.clientX - last.clientX) * perPixel, this.width);
    }
    this.pointers.set(e.pointerId, e);
  }

  // tell says what the worker under the pointer did.
  tell(e) {
    const box = this.svg.getBoundingClientRect();
    const lane = Math.floor((e.clientY - box.top) / box.height * this.recording.lanes.length);
    const worker = this.recording.lanes[lane];
    if (!worker) return hideTip();
    const t = this.timeAt(e), near = 4 * this.width / box.width;
    const off = s => Math.max(s.from_us - t, t - s.to_us, 0);
    let best = -1;
    worker.spans.forEach((s, i) => {
      if (off(s) <= near && (best < 0 || off(s) < off(worker.spans[best]))) best = i;
    });
    if (best < 0) return showTip(e, `worker ${lane}: asleep at ${time(t, 1)}`);
    const s = worker.spans[best];
    showTip(e, `worker ${lane}: ${doing[s.doing]}, ${s.to_us - s.from_us} µs from ${time(s.from_us, 1)}`,
      `${this.path}.lanes[${lane}].spans[${best}]`);
  }
}
const timelines = [...document.querySelectorAll(".track")].map(t => new Timeline(t));
addEventListener("resize", () => timelines.forEach(t => t.show(t.from, t.width)));
