/**
 * Returns the card's constructed style sheet, which works under a page policy without inline
 * styles.
 */
export function cardStyle(): CSSStyleSheet {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  return sheet
}

// A token `--pinfold-card-…` is the page's; what it leaves out has the value beside it here. The
// page's text styles would be inherited: they end at the host. Sizes follow the width of the face.
const css = `
:host {
  --background: var(--pinfold-card-background,
    linear-gradient(130deg, #16324f, #1f5673 55%, #2a7f83));
  --ink: var(--pinfold-card-ink, #fff);
  --pattern: var(--pinfold-card-pattern, rgb(255 255 255 / .13));
  --radius: var(--pinfold-card-radius, 4.5cqi);
  --shadow: var(--pinfold-card-shadow,
    0 1px 2px rgb(10 25 40 / .3), 0 12px 28px -10px rgb(10 25 40 / .45));
  --width: var(--pinfold-card-width, 27rem);
  --text: var(--pinfold-card-text, light-dark(#1b2530, #e8edf2));
  --quiet: var(--pinfold-card-quiet-text, light-dark(#52606d, #a9b6c2));
  --line: var(--pinfold-card-line, light-dark(#c6cfd8, #4b5a67));
  --surface: var(--pinfold-card-surface, light-dark(#fff, #1d2731));
  --accent: var(--pinfold-card-accent, light-dark(#0b5f66, #6fd0cf));
  --on-accent: var(--pinfold-card-on-accent, light-dark(#fff, #06282b));
  --danger: var(--pinfold-card-danger, light-dark(#a5231b, #ffaba2));
  --button-radius: var(--pinfold-card-button-radius, .6rem);
  display: block; min-width: 0; max-width: 100%;
  font: 400 1rem/1.4 var(--pinfold-card-font, system-ui, sans-serif);
  text-align: start; text-transform: none; text-indent: 0; text-shadow: none;
  letter-spacing: normal; word-spacing: normal; white-space: normal;
}
:host([hidden]) { display: none }
* { box-sizing: border-box }
[hidden] { display: none !important }
.all {
  container-type: inline-size; contain-intrinsic-inline-size: var(--width);
  max-width: var(--width); margin-inline: auto; color: var(--text);
}
.face {
  position: relative; overflow: hidden; aspect-ratio: 1.586;
  padding: 6cqi 6.5cqi; border-radius: var(--radius); color: var(--ink);
  display: grid; grid-template: auto 1fr auto auto / minmax(0, 1fr); gap: 3cqi;
  background: var(--background); box-shadow: var(--shadow);
  font-size: clamp(.75rem, 3.6cqi, 1rem);
}
@container (min-width: 27rem) { .face { padding: 1.62rem 1.75rem; gap: .8rem } }
.face::before, .face::after {
  content: ''; position: absolute; border-radius: 50%; pointer-events: none;
  border: 1px solid var(--pattern);
}
.face::before { width: 90%; aspect-ratio: 1; inset-inline-end: -42%; top: -62% }
.face::after { width: 62%; aspect-ratio: 1; inset-inline-end: -20%; top: -36% }
.top { display: flex; justify-content: space-between; align-items: baseline; gap: 1em;
  min-height: 1.75em }
.issuer { font-weight: 650; font-size: 1.25em; letter-spacing: .01em }
.scheme { flex: none; max-width: 45%; font-weight: 600; font-size: 1.1em; opacity: .95 }
.issuer, .scheme { min-width: 0; overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
.chip {
  align-self: center; width: 12.5%; aspect-ratio: 1.3; border-radius: 18%;
  background: linear-gradient(135deg, #f3dfa6, #c9a24d);
  box-shadow: inset 0 0 0 1px rgb(90 60 0 / .35);
}
.bottom { display: flex; gap: 6%; align-items: end }
.holder { flex: 1; min-width: 0; overflow-wrap: anywhere; line-height: 1.2;
  text-transform: uppercase; letter-spacing: .04em; text-align: left }
[dir=rtl] .holder { text-align: right }
:lang(ar) .holder { letter-spacing: 0 }
.field { display: grid; gap: .1em }
.label { font-size: max(.75rem, .72em); opacity: .92; white-space: nowrap }
.value { font-variant-numeric: tabular-nums; font-size: 1.12em; white-space: nowrap;
  border-radius: .2em; unicode-bidi: isolate }
[dir=rtl] .value { justify-self: end; text-align: end }
[dir=rtl] .field { justify-items: start }
.pan .label { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%) }
.pan .value { font-size: clamp(1.05rem, 6.1cqi, 1.65rem); letter-spacing: .035em }
.group + .group { margin-inline-start: .5em }
.spoken, .status:empty { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%) }
.value:focus-visible { outline: 2px solid currentColor; outline-offset: 3px }
.below { margin-block-start: .9rem; display: grid; gap: .6rem }
.pin { grid-auto-flow: column; justify-content: start; align-items: baseline; gap: .8rem;
  padding: .5rem .9rem; border: 1px solid var(--line); border-radius: var(--button-radius);
  background: var(--surface) }
.pin .label { color: var(--quiet); font-size: .92rem; opacity: 1 }
.pin .value { font-size: 1.25rem; letter-spacing: .12em }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center }
button {
  font: inherit; font-weight: 600; min-height: 2.75rem; padding: .4rem .7rem; cursor: pointer;
  border-radius: var(--button-radius); border: 1px solid var(--line);
  background: var(--surface); color: var(--text);
}
.actions button, .actions ::slotted(*) { flex: 1 1 auto }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
:is(button, input):focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
button[aria-disabled=true] { opacity: .6; cursor: progress }
form { display: grid; gap: .6rem; padding: .9rem; border: 1px solid var(--line);
  border-radius: var(--button-radius); background: var(--surface) }
label { display: grid; gap: .25rem; font-weight: 550; font-size: .95rem }
input {
  font: inherit; width: 100%; min-height: 2.75rem; padding: .4rem .7rem; letter-spacing: .2em;
  border: 1px solid var(--quiet); border-radius: var(--button-radius);
  background: var(--surface); color: var(--text);
}
.time { display: flex; gap: .8rem; align-items: center; min-height: 1.4em }
.left { color: var(--quiet); font-variant-numeric: tabular-nums; font-size: .92rem }
.bar { flex: 1; height: 4px; border-radius: 2px; background: var(--line); overflow: hidden }
.bar > span { display: block; height: 100%; background: var(--accent);
  transform-origin: left; transform: scaleX(var(--share, 1)) }
[dir=rtl] .bar > span { transform-origin: right }
.status, .rule { margin: 0; color: var(--quiet); font-size: .92rem }
.status.wrong { color: var(--danger); font-weight: 600 }
@media (prefers-reduced-motion: no-preference) {
  .bar > span { transition: transform 1s linear }
  button { transition: background-color .15s, border-color .15s }
}
@media (forced-colors: active) {
  .face, .chip { border: 1px solid }
  .face::before, .face::after { display: none }
  .bar { border: 1px solid; height: 6px }
  .bar > span { background: Highlight; forced-color-adjust: none }
}
@media print { .value { visibility: hidden } }
`
