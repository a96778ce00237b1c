"use strict";
(() => {
  // What belongs to one Func lights up together, wherever a reader points or clicks.
  const all = [...document.querySelectorAll("[data-func]")];
  const edges = [...document.querySelectorAll("path[data-from]")];
  let pinned = "";
  const light = (name) => {
    for (const one of [...all, ...document.querySelectorAll(".code [data-func]")])
      one.classList.toggle("lit", name !== "" && one.dataset.func === name);
    for (const one of edges)
      one.classList.toggle("lit", name !== "" && [one.dataset.from, one.dataset.to].includes(name));
  };
  const pointed = (event) => {
    const found = event.target.closest && event.target.closest("[data-func]");
    return found ? found.dataset.func : "";
  };
  document.addEventListener("mouseover", (event) => light(pointed(event) || pinned));
  document.addEventListener("focusin", (event) => light(pointed(event) || pinned));
  document.addEventListener("click", (event) => {
    const name = pointed(event);
    if (name) pinned = name;
    light(pinned);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") light((pinned = ""));
  });

  // What is wider than its place scrolls by keys, too.
  const reach = () => {
    for (const one of document.querySelectorAll(".scroll, pre:not(.code), .card, .nest"))
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
  };
  addEventListener("resize", reach);
  reach();

  // Code is packed; a reader who opens it gets its lines, each with the Func whose loop it is in.
  const names = new Set(all.map((one) => one.dataset.func));
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  };
  const mentioned = (line) => {
    const words = line.match(/[A-Za-z_]\w*?(?=_buf\b)/g) || [];
    return words.find((word) => names.has(word)) || "";
  };
  const show = async (place) => {
    const text = await unpack(place.dataset.z);
    const made = document.createDocumentFragment();
    let owner = "";
    for (const line of text.split("\n")) {
      const label = line.match(/^"?(?:task\d+\.)?([A-Za-z_]\w*)\.s\d+\.[^:]*"?:/);
      if (label) owner = names.has(label[1]) ? label[1] : "";
      else if (/^(define|\})/.test(line)) owner = "";
      const one = document.createElement("span");
      one.textContent = line;
      const name = owner || mentioned(line);
      if (name) one.dataset.func = name;
      made.append(one);
    }
    place.replaceChildren(made);
    light(pinned);
  };
  for (const place of document.querySelectorAll("pre[data-z]")) {
    const around = place.closest("details");
    around.addEventListener("toggle", () => {
      if (around.open && !place.hasChildNodes()) show(place).catch((error) => {
        place.textContent = `This browser cannot unpack the code: ${error}`;
      });
    });
  }

  // The run at a small size, step by step.
  const style = getComputedStyle(document.documentElement);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const colour = {
    kept: dark ? "#2f5f9e" : "#a9c6ee",
    again: dark ? "#7a4fa3" : "#c9a7e6",
    now: dark ? "#6fcf97" : "#1a7448",
    read: "#e08a1e",
    given: dark ? "#3a424b" : "#dfe3e8",
    line: style.getPropertyValue("--line"),
  };
  const player = (root) => {
    const { grids, events } = JSON.parse(root.dataset.run);
    const controls = root.querySelector(".controls");
    const play = document.createElement("button");
    const slider = document.createElement("input");
    const told = document.createElement("span");
    const legend = document.createElement("span");
    legend.className = "legend";
    for (const [text, key] of [["computed now", "now"], ["read now", "read"], ["kept", "kept"], ["computed again", "again"]]) {
      const part = document.createElement("span");
      part.textContent = text;
      part.style.setProperty("--c", colour[key]);
      legend.append(part, " ");
    }
    Object.assign(slider, { type: "range", min: 0, max: events.length, value: 0 });
    slider.setAttribute("aria-label", "Step of the run");
    play.textContent = "Play";
    controls.append(play, slider, told, legend);
    const side = (grid) => Math.max(4, Math.min(14, Math.floor(300 / (grid.extents[0] || 1))));
    const canvases = grids.map((grid) => {
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      const canvas = document.createElement("canvas");
      const [width, height = 1, ...planes] = grid.extents;
      const count = planes.reduce((a, b) => a * b, 1);
      const size = side(grid);
      const across = count * (width + 1) - 1;
      canvas.width = Math.min(across * size + 1, 4000);
      canvas.height = height * size + 1;
      caption.textContent = `${grid.name} ${grid.extents.join(" × ")}${grid.image ? ", an image" : ""}`;
      figure.dataset.func = grid.name;
      figure.append(caption, canvas);
      root.querySelector(".grids").append(figure);
      canvas.style.maxWidth = "100%";
      return canvas;
    });
    const draw = (step) => {
      const kept = grids.map((grid) => new Uint8Array(grid.size));
      const times = grids.map((grid) => new Uint16Array(grid.size));
      const last = step > 0 ? events[step - 1] : null;
      for (const event of events.slice(0, step)) {
        if (typeof event === "number") { kept[event].fill(0); continue; }
        const [own, written, , lost = []] = event;
        for (const place of lost) kept[own][place] = 0;
        for (const place of written) { kept[own][place] = 1; times[own][place] += 1; }
      }
      const now = new Set(), read = new Set();
      if (Array.isArray(last)) {
        for (const place of last[1]) now.add(`${last[0]}:${place}`);
        for (const [grid, ...places] of last[2]) for (const place of places) read.add(`${grid}:${place}`);
      }
      grids.forEach((grid, number) => {
        const context = canvases[number].getContext("2d");
        const [width, height = 1] = grid.extents;
        const size = side(grid);
        context.clearRect(0, 0, canvases[number].width, canvases[number].height);
        for (let place = 0; place < grid.size; place++) {
          const x = place % width, y = Math.floor(place / width) % height;
          const plane = Math.floor(place / (width * height));
          const left = (plane * (width + 1) + x) * size, top = y * size;
          const key = `${number}:${place}`;
          let fill = "";
          if (grid.image) fill = colour.given;
          if (kept[number][place]) fill = times[number][place] > 1 ? colour.again : colour.kept;
          if (now.has(key)) fill = colour.now;
          if (read.has(key)) fill = colour.read;
          if (fill) { context.fillStyle = fill; context.fillRect(left + 1, top + 1, size - 1, size - 1); }
          context.strokeStyle = colour.line;
          context.strokeRect(left + .5, top + .5, size, size);
        }
      });
      const what = Array.isArray(last) ? `computes ${last[1].length} of ${grids[last[0]].name}`
        : last === null ? "nothing is computed yet" : `storage of ${grids[last].name} begins`;
      const [now_at, last_step] = [step, events.length].map((n) => n.toLocaleString("en-US"));
      told.textContent = `step ${now_at} of ${last_step}: ${what}`;
    };
    let timer = 0;
    const stop = () => { clearInterval(timer); timer = 0; play.textContent = "Play"; };
    play.addEventListener("click", () => {
      if (timer) return stop();
      if (+slider.value >= events.length) slider.value = 0;
      play.textContent = "Pause";
      timer = setInterval(() => {
        slider.value = +slider.value + 1;
        draw(+slider.value);
        if (+slider.value >= events.length) stop();
      }, Math.max(30, Math.min(250, 30000 / events.length)));
    });
    slider.addEventListener("input", () => { stop(); draw(+slider.value); });
    root.hidden = false;
    slider.value = Math.floor(events.length / 2);
    draw(+slider.value);
  };
  document.querySelectorAll(".player").forEach(player);
})();
