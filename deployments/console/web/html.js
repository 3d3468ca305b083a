// Markup in JavaScript: the one place that joins Preact and htm.
import { h, render } from "./vendor/preact-11.2.0.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-hooks-11.2.0.js";
import htm from "./vendor/htm-3.1.1.js";

export const html = htm.bind(h);
export { render, useEffect, useLayoutEffect, useRef, useState };
