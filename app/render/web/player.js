"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const frames = data.frames;
  const last = frames.length - 1;
  const by = (id) => document.getElementById(id);
  const speeds = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16];
  const state = { at: 0, render: 0, speed: 3, playing: false, due: 0 };

  const make = (tag, text, className) => {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  const pair = (list, name, value, className) => {
    if (value === null || value === undefined || value === "") return;
    const row = make("div", null, className);
    row.append(make("dt", name), make("dd", value));
    list.append(row);
  };
  const text = (value) => (Array.isArray(value) ? value.map(text).join(" ") : value === null ? "–" : String(value));
  const sum = (value) => (Array.isArray(value) ? value.reduce((all, one) => all + sum(one), 0) : value);

  function showPicture(frame) {
    const render = data.renders[state.render];
    if (!render) return;
    const picture = render.pictures[render.places[state.at]];
    const place = by("picture");
    if (render.html) {
      place.innerHTML = picture;
      return;
    }
    let image = place.querySelector(":scope > img");
    if (!image) {
      place.replaceChildren((image = make("img")));
    }
    image.alt = `${render.name} at step ${frame.seq}`;
    image.src = picture;
  }

  function showChoices(frame) {
    const place = by("choices");
    place.replaceChildren();
    for (const [path, chances] of Object.entries(frame.probabilities)) {
      if (path) place.append(make("div", path));
      const taken = frame.action[path];
      chances.forEach((chance, choice) => {
        const row = make("div", null, choice === taken ? "choice taken" : "choice");
        const bar = make("span", null, "bar");
        const filled = make("i");
        filled.style.width = `${100 * chance}%`;
        bar.append(filled);
        row.append(make("span", `action ${choice}`), bar, make("span", `${(100 * chance).toFixed(1)} %`));
        place.append(row);
      });
    }
  }

  function showNumbers(frame) {
    const list = by("numbers");
    list.replaceChildren();
    for (const [path, action] of Object.entries(frame.action)) pair(list, path ? `action ${path}` : "action", text(action));
    pair(list, "value", text(frame.value));
    if (frame.reward !== null) {
      const named = data.rewards.length ? data.rewards.map((name, at) => `${name} ${frame.reward[at]}`).join(", ") : text(frame.reward);
      pair(list, "reward", named);
    }
    pair(list, "return so far", data.returns[state.at]);
    pair(list, "log-probability", frame.logProb);
    for (const [path, numbers] of Object.entries(frame.distribution)) pair(list, path ? `distribution ${path}` : "distribution", text(numbers));
    pair(list, "weights", frame.version);
    pair(list, "agent", `${frame.agentMs} ms`);
    pair(list, "model", `${frame.modelMs} ms`);
    pair(list, "error", frame.error, "error");
  }

  function show(at) {
    state.at = Math.max(0, Math.min(last, at));
    const frame = frames[state.at];
    by("timeline").value = state.at;
    by("now").textContent = `step ${frame.seq} · ${state.at + 1}/${frames.length} · ${frame.s.toFixed(2)} s`;
    showPicture(frame);
    showChoices(frame);
    showNumbers(frame);
    by("body").textContent = `${frame.input === null ? "nothing" : frame.input}\n→ ${frame.output === null ? "nothing" : frame.output}`;
    for (const chart of charts) chart.setCursor({ left: chart.valToPos(state.at, "x"), top: chart.cursor.top });
  }

  function play(on) {
    state.playing = on;
    if (on && state.at === last) show(0);
    by("play").textContent = on ? "❚❚ Pause" : "▶ Play";
    by("play").setAttribute("aria-pressed", String(on));
    if (on) {
      state.due = performance.now();
      requestAnimationFrame(go);
    }
  }

  function go(now) {
    if (!state.playing) return;
    const wait = 1000 / (data.fps * speeds[state.speed]);
    const due = Math.floor((now - state.due) / wait);
    if (due > 0) {
      state.due += due * wait;
      show(state.at + due);
      if (state.at === last) {
        play(false);
        return;
      }
    }
    requestAnimationFrame(go);
  }

  function setSpeed(at) {
    state.speed = Math.max(0, Math.min(speeds.length - 1, at));
    by("speed").value = String(state.speed);
    state.due = performance.now();
  }

  function setRender(at) {
    if (at >= data.renders.length) return;
    state.render = at;
    by("picture").replaceChildren();
    [...by("tabs").children].forEach((tab, number) => tab.setAttribute("aria-pressed", String(number === at)));
    show(state.at);
  }

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const charts = [];
  function chart(title, lines) {
    const shown = lines.filter((line) => line.values.some((value) => value !== null));
    if (!shown.length || frames.length < 2) return;
    const place = make("div");
    by("charts").append(place);
    const axis = () => ({ stroke: color("--ink"), grid: { stroke: color("--faint"), width: 0.5 }, ticks: { stroke: color("--faint") } });
    const made = new uPlot(
      {
        title,
        width: Math.max(240, place.clientWidth - 4),
        height: 170,
        scales: { x: { time: false } },
        axes: [axis(), axis()],
        cursor: { sync: { key: "ticks" }, drag: { x: false, y: false } },
        series: [{ label: "frame" }, ...shown.map((line) => ({ label: line.name, stroke: color(line.color), width: 1.5, spanGaps: true }))],
      },
      [frames.map((_, at) => at), ...shown.map((line) => line.values)],
      place,
    );
    made.over.addEventListener("click", () => {
      if (made.cursor.idx !== null) show(made.cursor.idx);
    });
    charts.push(made);
  }

  function drawCharts() {
    for (const made of charts.splice(0)) made.destroy();
    by("charts").replaceChildren();
    const decided = (pick) => frames.map((frame) => (pick(frame) === null ? null : sum(pick(frame))));
    chart("Value and return", [
      { name: "value", color: "--accent", values: decided((frame) => frame.value) },
      { name: "return so far", color: "--good", values: data.returns },
    ]);
    chart("Reward", [{ name: "reward", color: "--good", values: decided((frame) => frame.reward) }]);
    chart("Certainty of the action", [{ name: "probability", color: "--accent", values: frames.map((frame) => certainty(frame)) }]);
    chart("Time, ms", [
      { name: "agent", color: "--ink", values: frames.map((frame) => frame.agentMs) },
      { name: "model", color: "--accent", values: frames.map((frame) => frame.modelMs) },
    ]);
  }

  function certainty(frame) {
    const chances = Object.entries(frame.probabilities).map(([path, all]) => all[frame.action[path]]);
    return chances.length ? chances.reduce((all, one) => all * (one === undefined ? 1 : one), 1) : null;
  }

  function keyed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "SUMMARY"].includes(event.target.tagName)) return;
    const step = event.shiftKey ? 10 : 1;
    const keys = {
      " ": () => play(!state.playing),
      ArrowLeft: () => show(state.at - step),
      ArrowRight: () => show(state.at + step),
      Home: () => show(0),
      End: () => show(last),
      "+": () => setSpeed(state.speed + 1),
      "-": () => setSpeed(state.speed - 1),
    };
    const number = Number(event.key);
    if (keys[event.key]) {
      keys[event.key]();
      event.preventDefault();
    } else if (number >= 1) {
      setRender(number - 1);
    }
  }

  for (const [name, value] of Object.entries(data.about)) pair(by("about"), name, value);
  data.renders.forEach((render, at) => {
    const tab = make("button", render.name);
    tab.addEventListener("click", () => setRender(at));
    by("tabs").append(tab);
  });
  speeds.forEach((speed, at) => {
    const option = make("option", `${speed}×`);
    option.value = String(at);
    by("speed").append(option);
  });
  frames.forEach((frame, at) => {
    if (!frame.error && !(frame.reward !== null && sum(frame.reward) > 0 && frames.length > 1 && rare())) return;
    const mark = make("span", null, frame.error ? null : "good");
    mark.style.left = `${(100 * at) / Math.max(1, last)}%`;
    by("marks").append(mark);
  });
  function rare() {
    if (data.rare === undefined) {
      data.rare = frames.filter((frame) => frame.reward !== null && sum(frame.reward) !== 0).length < frames.length / 4;
    }
    return data.rare;
  }
  by("start").textContent = data.start === null ? "nothing" : data.start;
  by("timeline").max = last;
  by("timeline").addEventListener("input", (event) => show(Number(event.target.value)));
  by("speed").addEventListener("change", (event) => setSpeed(Number(event.target.value)));
  by("play").addEventListener("click", () => play(!state.playing));
  by("first").addEventListener("click", () => show(0));
  by("back").addEventListener("click", () => show(state.at - 1));
  by("forward").addEventListener("click", () => show(state.at + 1));
  by("last").addEventListener("click", () => show(last));
  document.addEventListener("keydown", keyed);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    drawCharts();
    show(state.at);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      drawCharts();
      show(state.at);
    }
  });
  drawCharts();
  setSpeed(state.speed);
  setRender(0);
})();
