// What a page can do to a server that is not its own. Every way ends within a few seconds, whatever comes of it.
"use strict";

const PATIENCE_MS = 5000;

function within(promise) {
  return Promise.race([promise, new Promise((resolve) => setTimeout(() => resolve("no answer"), PATIENCE_MS))]);
}

async function outcome(work) {
  try {
    return (await within(work())) ?? "";
  } catch (error) {
    return `${error.name}`;
  }
}

function element(tag, values) {
  return new Promise((resolve) => {
    const made = Object.assign(document.createElement(tag), values);
    made.onload = () => resolve(made);
    made.onerror = () => resolve(null);
    document.body.append(made);
  });
}

const READING = {
  fetch: async (url) => (await fetch(url, { credentials: "include" })).text(),
  "fetch no-cors": async (url) => (await fetch(url, { mode: "no-cors", credentials: "include" })).text(),
  request: (url) =>
    new Promise((resolve) => {
      const asked = new XMLHttpRequest();
      asked.open("GET", url);
      asked.withCredentials = true;
      asked.onloadend = () => resolve(asked.responseText);
      asked.send();
    }),
  script: async (url) => ((await element("script", { src: url })) ? "included" : ""),
  image: async (url) => ((await element("img", { src: url })) ? "included" : ""),
  style: async (url) => ((await element("link", { rel: "stylesheet", href: url })) ? "included" : ""),
  frame: async (url) => (await element("iframe", { src: url }))?.contentDocument?.body?.innerText,
  events: (url) =>
    new Promise((resolve) => {
      const source = new EventSource(url, { withCredentials: true });
      source.onopen = () => resolve("opened");
      source.onerror = () => (source.close(), resolve(""));
    }),
};

function submit(url, type, name) {
  const frame = document.createElement("iframe");
  frame.name = `frame-${Math.random()}`;
  document.body.append(frame);
  const form = Object.assign(document.createElement("form"), { action: url, method: "POST", enctype: type });
  form.target = frame.name;
  form.append(Object.assign(document.createElement("input"), { name, value: "" }));
  document.body.append(form);
  return new Promise((resolve) => {
    frame.onload = () => resolve("");
    form.submit();
  });
}

const CHANGING = {
  fetch: async (url, method, body) => {
    const headers = { "Content-Type": "application/json" };
    return (await fetch(url, { method, body, headers, credentials: "include" })).text();
  },
  "fetch without a type": async (url, method, body) =>
    (await fetch(url, { method, body: new Blob([body]), credentials: "include" })).text(),
  "fetch no-cors": async (url, method, body) =>
    method === "POST" && (await fetch(url, { method, body, mode: "no-cors", credentials: "include" })).text(),
  beacon: async (url, method, body) => method === "POST" && String(navigator.sendBeacon(url, body)),
  form: async (url, method, body) => method === "POST" && submit(url, "text/plain", body),
  "encoded form": async (url, method, body) =>
    method === "POST" && submit(url, "application/x-www-form-urlencoded", body),
};

function socket(url) {
  return new Promise((resolve) => {
    const made = new WebSocket(url.replace(/^http/, "ws"));
    made.onopen = () => resolve("opened");
    made.onerror = () => resolve("");
  });
}

// Texts that the page could read, by way and path. A browser slows down sockets that fail, so there is one of them.
async function readAll(base, paths) {
  const found = {};
  for (const path of paths) {
    const ways = Object.entries(READING).map(async ([way, read]) => {
      found[`${way} ${path}`] = String(await outcome(() => read(base + path)));
    });
    await Promise.all(ways);
  }
  found.socket = String(await outcome(() => socket(base + paths[0])));
  return found;
}

// Answers that the page could read after it has tried to change something.
async function changeAll(base, acts) {
  const found = {};
  for (const [method, path, body] of acts) {
    for (const [way, change] of Object.entries(CHANGING)) {
      found[`${way} ${method} ${path}`] = String(await outcome(() => change(base + path, method, body)));
    }
  }
  return found;
}
